/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is seen of a lock without a break, as the segments of its threads: see schedule.h. */
#ifndef GVL_REF_EPISODE_H
#define GVL_REF_EPISODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/thread.h"
#include "util/map.h"

#define SCHEDULE_NONE UINT32_MAX

enum segment_flag {
	SEGMENT_QUEUED = 1 << 0,	/* it found the lock taken */
	SEGMENT_INSIDE = 1 << 1,	/* its latency passed with the lock (3.3 on), else before it */
	SEGMENT_YIELD = 1 << 2,		/* it gave way, with more to do */
	SEGMENT_WOKEN = 1 << 3,		/* an owner's ACT_WAKE ended its time without the lock */
	SEGMENT_UNMET = 1 << 4,		/* it waited, but until an ACT_END or the end of the episode */
	SEGMENT_TAIL = 1 << 5,		/* last: it was without the lock until the end */
	SEGMENT_JUMPED = 1 << 6,	/* it took the free lock before others that were first in line (3.1) */
};

/* A thread without the lock, then waiting for it, then with it. */
struct segment {
	int64_t off_ns;		/* from giving the lock up, or from the begin, to wanting it again; negative:
				 * it queued first, then gave it up */
	uint64_t wait_ns;
	uint64_t work_ns;	/* with the lock, without its latency */
	uint32_t latency_ns;	/* from its turn to its work, or to having the lock; 0 if not QUEUED */
	uint32_t contended_ns;	/* of its time with the lock, somebody waited; UINT32_MAX: or longer */
	uint32_t next;		/* of its thread, or SCHEDULE_NONE */
	uint32_t act;		/* its first, or SCHEDULE_NONE */
	uint32_t order;		/* of wanting the lock: decides what comes first at one moment */
	uint16_t passed;	/* JUMPED: so many times the lock was free, and it did not take it */
	uint8_t flags;
};
_Static_assert(sizeof(struct segment) <= 48, "a segment for each change of owner");

enum act_flag {			/* next to enum copy_flag */
	ACT_WAKE = 1 << 7,
	ACT_END = 1 << 6,	/* of a wait: it leaves the queue without having had the lock */
};

/* Something a thread does in a segment. What it does without the lock comes first. */
struct act {
	uint64_t at_ns;		/* since the lock was given up, or in its work */
	uint64_t dur_ns;
	uint64_t bytes;		/* WAKE, END: whom, an index of its episode's threads */
	uint32_t next;		/* or SCHEDULE_NONE */
	uint16_t cpu;		/* of a copy, plus 1; 0: not known */
	uint8_t flags;
};

/* A copy that was made without the lock? */
static inline bool act_was_outside(const struct act *a)
{
	return !(a->flags & (COPY_HELD | ACT_WAKE | ACT_END));
}

struct episode_thread {
	struct thread *thread;	/* the profile's */
	uint32_t who;		/* its index among all threads of the lock */
	uint32_t tid;		/* of the task that runs it, the last; 0: not known */
	uint32_t first, last;	/* segments, or SCHEDULE_NONE */

	/* private: of the segment that is going on, and when it wanted the lock that it does not have yet */
	uint64_t gave_ns, want_ns, got_ns;
	uint64_t next_want_ns;
	uint32_t act, last_act;
	uint32_t order, next_order;
	uint32_t latency_ns;
	uint64_t passed;
	uint8_t flags, next_flags;
	bool wants;
};

struct episode {
	struct episode *next;
	uint64_t begin_ns, span_ns;
	struct segment *segments;
	struct act *acts;
	struct episode_thread *threads;
	uint32_t nr_segments, nr_acts, nr_threads;
	uint32_t owner;		/* at the begin: a thread, or SCHEDULE_NONE */
	struct map by_thread, by_tid;	/* private */
};

void episode_free(struct episode *ep);

/*
 * The index of @thread, and in *is_new whether it was not known yet: then it was without the lock since the
 * begin; its who is for the caller to set. 0 or -ENOMEM.
 */
int episode_thread(struct episode *ep, struct thread *thread, uint32_t *out, bool *is_new);

/* Task @tid runs thread @i. 0 or -ENOMEM. */
int episode_learn_tid(struct episode *ep, uint32_t i, uint32_t tid);
struct episode_thread *episode_task(const struct episode *ep, uint32_t tid);	/* or NULL */

/* @t does something in its segment that is going on. 0 or -ENOMEM. */
int episode_act(struct episode *ep, struct episode_thread *t, const struct act *act);

/* That segment of @t is over: it gave the lock up, or the episode ended, at @now. 0 or -ENOMEM. */
int episode_segment(struct episode *ep, struct episode_thread *t, struct segment *s, uint64_t now);

/*
 * Takes out what probes added to holds with copies, each of which costs @trap_ns, its event in the middle: two a
 * copy, and the one that told who got the lock next. Nothing gets shorter than 0.
 */
void episode_untrace(struct episode *ep, uint64_t trap_ns);

#endif
