/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a schedule again, as it was or with copies moved out from under the lock or back under it: a
 * simulation from event to event.
 *
 * What it takes for granted:
 * - A time without the lock keeps its length, whatever else changes, but for what schedule.h says of wakes.
 * - Work with the lock takes as long as recorded. Only copies made without it slow each other down: they
 *   share processors and bandwidth, evenly.
 * - An owner gives way where it was seen to, if somebody waits by then, and wherever else somebody has
 *   waited for a quantum since it got the lock; never in a copy. Where it was seen to keep the lock for
 *   longer than a quantum, it could not do otherwise, and does again.
 * - A copy moved out costs a transition with the lock before it, and one after it; one moved in saves that
 *   much of the time around it.
 * - Who did not wait in the record, and does here, has the median latency of those who did.
 *
 * With nothing changed it gives the recorded times back.
 */
#ifndef GVL_REF_SIMULATE_H
#define GVL_REF_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ref/places.h"
#include "ref/schedule.h"
#include "ref/sharing.h"
#include "util/err.h"

/* Copies this far apart do not belong together: what lies between is not for the sake of them. */
#define SIMULATE_BURST_GAP_NS 500000ULL

struct simulate_options {
	enum ref_lock_design design;
	uint64_t quantum_ns;
	uint64_t latency_ns;	/* of who did not wait in the record; a bad guess if few did: better measured */

	bool is_changed;	/* else all copies stay as recorded, and these three mean nothing */
	size_t threshold;	/* copies of at least that many bytes are made without the lock, others with it */
	bool is_buffer_only;	/* only IO::Buffer's own, by memmove(): the others stay */
	uint64_t transition_ns;

	struct sharing sharing;
};

/* Times of one thread. */
struct simulated_thread {
	const struct thread *thread;
	uint64_t hold_ns, wait_ns;
	uint64_t finish_ns;	/* when it gave the lock up last, since the begin */
};

/*
 * Several episodes follow each other without a break. hold_ns + free_ns == span_ns, and the sums over the
 * threads are the totals.
 */
struct simulated {
	uint64_t span_ns;	/* until all that was recorded is done, times without the lock included */
	uint64_t hold_ns, free_ns;
	uint64_t wait_ns;	/* of all threads */
	uint64_t copy_blame_ns;	/* ... while the owner copied */
	uint64_t makespan_ns;	/* until the last work with the lock is done */
	uint64_t switches, yields;

	uint64_t held_copies, held_copy_ns;
	uint64_t free_copies, free_copy_ns;	/* without the lock */
	uint64_t copying_ns;	/* of IO::Buffer's memmove()s, in all bursts: from the first's begin to the
				 * last's end, hand-offs included */
	uint64_t burst_copies, burst_threads;	/* the copies, and the threads of each burst, in all bursts */
	uint64_t burst_crowd;	/* of each of these threads: the threads of its burst */
	struct placements placements;	/* of the bursts; processors as recorded */
	uint64_t changed_copies;	/* made otherwise than recorded */

	struct simulated_thread *threads;
	uint32_t nr_threads;
};

/* As recorded; to be changed at will. */
struct simulate_options simulate_options(const struct schedule_lock *l);

/* Fills *out, to be released if it returns 0; else -ENOMEM with @e set. */
int simulate(struct simulated *out, const struct schedule_lock *l, const struct simulate_options *o,
	     struct err *e);
void simulated_release(struct simulated *r);

#endif
