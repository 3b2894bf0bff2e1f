/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Closes that a live Ruby made, done again with the reference's waiter lists: with as many threads blocked
 * as each close found on its list.
 *
 * Of many closes REPLAY_SAMPLE are taken, evenly over what they visited; they are done from the longest list
 * to the shortest, so that readers only have to leave in between. A close that interrupted several waiters is
 * done again with one.
 */
#ifndef GVL_REF_REPLAY_H
#define GVL_REF_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/close.h"
#include "ref/waiters.h"
#include "stat/sample.h"
#include "util/err.h"

enum {
	REPLAY_SAMPLE = 256,
	REPLAY_READERS = 10000,		/* at most: what a longer list takes follows from this one */
	REPLAY_ROUNDS = 3,
	REPLAY_HANDS = 8,
};

/* How a close of the workload is to be done again. */
struct replay_close {
	uint64_t listed;	/* waiters in all, when it came */
	bool is_matched;	/* one of them waits on this IO */
};

/* In which design, and in which order the waiters came to the list: see readers.h. */
struct replay_way {
	enum ref_waiters_design design;
	bool is_shuffled;
};

/*
 * What one close took, ns. Each round is dealt out to REPLAY_HANDS hands in turn, each of which gives one mean:
 * what disturbed a single close spoils one of them, and not their median.
 */
struct replayed {
	struct sample scan, wait, call;
};

void replayed_release(struct replayed *r);

/*
 * Does @closes, which it sorts, again in REPLAY_ROUNDS rounds, in each of the @ways in turn: @out has what
 * they took. 0; -EINTR when *@is_interrupted became true; or -errno with @e set: no threads, too few
 * descriptors.
 */
int replay_closes(struct replay_close *closes, size_t nr, const struct replay_way *ways, size_t nr_ways,
		  const volatile bool *is_interrupted, struct replayed *out, struct err *e);

#endif
