/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a live Ruby did, and what it would be with the other design on this machine: closes with a list of
 * waiters for each IO instead of one of all, copies without the lock instead of with it; or the other way
 * round, if the traced Ruby has the newer design already.
 *
 * Three steps, for closes and for copies: the reference does the recorded work again in the design that was
 * traced (the error says how well it stands for Ruby), then in the other one; then it is said what follows.
 * What the probes took of the traced times is taken off first.
 */
#ifndef GVL_REF_COMPARE_H
#define GVL_REF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/close.h"
#include "ref/schedule.h"
#include "stat/findings.h"
#include "util/err.h"

#define COMPARE_ERROR_MAX 0.25	/* of what was traced: above it a prediction is not to be trusted */

/* What the sentence about one ends with. */
#define COMPARE_UNTRUSTED " But this is not to be trusted: see below."

/* What is compared. */
struct comparison {
	struct schedule schedule;
	struct close_one *closes;	/* those that went on to close(2) */
	size_t nr_closes, closes_room;
	bool is_cut;			/* the trace has no end */
	double trap_ns;			/* what a hit of a probe cost the traced process ... */
	double change_ns;		/* ... of one on a writer of the lock or its queue, in the mean */
	double walk_ns;			/* ... and all walks over lists of waiters */
	bool has_free_copies;		/* the traced Ruby copies large IO::Buffers without the lock */
	bool is_broken;			/* out of memory while closes were collected */
};

struct compare_options {
	const volatile bool *is_interrupted;
	bool is_sweep;			/* copies: at several thresholds */
	size_t threshold;		/* of the newer design, bytes */
};

/* Then feed c->schedule all events, schedule_finish() too, and set the rest. Release it in any case. */
void comparison_init(struct comparison *c);
void comparison_release(struct comparison *c);

/* All waiting for locks that was traced, ns. */
uint64_t comparison_waited_ns(const struct comparison *c);

/*
 * Fills @f. 0; -ENODATA with @e set when nothing was recorded that either design would change; -EINTR when
 * *is_interrupted became true; or -errno with @e set.
 */
int compare(struct findings *f, const struct comparison *c, const struct compare_options *o,
	    struct err *e);

/* The parts of it: 1 when there was nothing to compare. */
int compare_closes(struct findings *f, const struct comparison *c, const struct compare_options *o,
		   struct err *e);
int compare_copies(struct findings *f, const struct comparison *c, const struct compare_options *o,
		   struct err *e);

/* "1.6x faster", "1.2x slower", or "as fast" where it cannot be told apart; of before / after. */
struct compare_words {
	char text[48];
};
struct compare_words compare_words(const struct figure *speedup);

#endif
