/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A recorded lock timeline as work to be done again: for each thread, in its order, how long it was
 * without the lock, how long it worked with it, and what it copied meanwhile. simulate.h runs it.
 *
 * What is seen of a lock without a break is an episode. Nothing is known of what lies between two, so each
 * is run by itself; time is counted from its begin. Threads that own the lock or are queued when an episode
 * begins or ends have a first or last segment that is cut: it counts as it was seen.
 *
 * How threads depend on each other is known in one case only: from Ruby 3.3 on the owner itself queues a
 * thread that it wakes (join, Queue, Mutex). Then the wake is a step in the owner's work, and the time
 * without the lock is whatever passes until it. Every other time without the lock keeps its length. A
 * thread that did not have to wait for another, which was done already, does not wait for it here either:
 * a main thread may end before threads that it joins.
 */
#ifndef GVL_REF_SCHEDULE_H
#define GVL_REF_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/profile.h"
#include "ref/episode.h"
#include "ref/lock.h"
#include "util/err.h"
#include "util/map.h"

struct schedule_lock {
	const struct lock *lock;	/* the profile's: all that was recorded */
	struct episode *episodes, *last;
	enum ref_lock_design design;	/* that the recorded hand-offs show */
	uint64_t latency_ns;		/* median of those of segments that were queued */
	uint64_t copies_left_out;	/* it is not known in what segment they were, or how long they took */
	uint32_t nr_threads;		/* over all episodes */

	/* what was so at the last event; private */
	struct map who;
	uint64_t stale, gaps, mark_ns, nr_queued;
	uint64_t contended_ns, free_ns, turn_ns;
	uint64_t nr_handed, nr_taken, nr_freed;
	const struct thread *first_queued;
	uint32_t owner, order, nr_wanting;
	bool is_open, is_coming, is_turn, has_released;
};

struct schedule {
	struct profile profile;		/* of the same events */
	struct schedule_lock **locks;	/* by id; NULL where there is none */
	size_t nr_locks;
};

/* To be released in any case. */
void schedule_init(struct schedule *s);
void schedule_release(struct schedule *s);

/* Takes the next event. 0, or -ENOMEM with @e set. */
int schedule_add(struct schedule *s, const struct event *ev, struct err *e);

/* After the last event. 0, or -ENOMEM with @e set. */
int schedule_finish(struct schedule *s, struct err *e);

#endif
