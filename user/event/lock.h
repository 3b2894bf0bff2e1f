/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What happens on one lock: its owner, its ready queue, and the figures that follow from them.
 *
 * Time on a lock never goes back: an event that seems older than the one before is taken to happen
 * at the same moment. Between the end of what is seen and the next state nothing is known and
 * nothing is counted. Where events were lost, what is seen ends at the last event before: after it,
 * somebody else may have owned the lock. So for every lock, exactly:
 *
 *	hold_ns.sum + free_ns == seen_ns
 *	wait_ns.sum == blame_ns + unowned_wait_ns
 *	each total == its sum over the threads
 */
#ifndef GVL_EVENT_LOCK_H
#define GVL_EVENT_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "event/thread.h"
#include "stat/dist.h"

/* What is counted: [from_ns, to_ns). What is only partly inside counts as cut. */
struct lock_window {
	uint64_t from_ns;
	uint64_t to_ns;		/* UINT64_MAX: no end */
};

struct lock_dist {
	struct dist ns;
	uint64_t cut;		/* how many of them were seen in part only */
};

struct lock_totals {
	uint64_t seen_ns;
	uint64_t switches;
	struct lock_dist hold;
	struct lock_dist wait;
	struct lock_dist handoff;	/* of holds whose owner was off its CPU when it became that */
	uint64_t free_ns;
	uint64_t contended_ns;
	uint64_t blame_ns;
	uint64_t unowned_wait_ns;	/* queue length over the time nobody owned it */
	uint64_t offcpu_hold_ns;	/* without hand-offs */

	uint64_t gaps;			/* times that events were missing */
	uint64_t gap_events;		/* how many, by their sequence numbers */
	uint64_t stale_events;		/* came after a state that already contained them */
	uint64_t queue_mismatch;	/* threads that entered or left the queue unseen */
	uint64_t queue_unknown;		/* times that the queue had to be taken as empty */
};

enum lock_phase {
	LOCK_BLIND,	/* not seen until the next owner is */
	LOCK_SEEN,
	LOCK_ENDED,	/* not seen until the next state is */
};

enum lock_cpu {
	LOCK_CPU_ON,
	LOCK_CPU_HANDOFF,	/* not on a CPU since it became the owner */
	LOCK_CPU_OFF,
};

struct lock_hold {
	struct thread *owner;	/* NULL: nobody */
	uint64_t start_ns;
	uint64_t handoff_end_ns;
	uint64_t blame_ns;
	uint64_t contended_ns;
	uint64_t offcpu_ns;
	bool is_cut;		/* it began before it was seen */
	bool is_handoff;
};

/* An event about the next owner's task that overtook the event that makes it the owner. */
struct lock_early {
	uint64_t ts_ns;		/* 0: none */
	uint32_t tid;
	bool is_on;
};

struct lock {
	struct lock_window window;
	uint64_t addr;		/* of the lock word; 0: not known */
	uint32_t id;
	uint32_t ractor;	/* 0: not known */
	uint16_t target;

	enum lock_phase phase;
	bool has_seq;
	bool is_queue_known;
	uint32_t seq;		/* of the last OWNER or QUEUE event */
	uint64_t mark_ns;	/* counted up to here: the last event that carries a seq */
	uint64_t now_ns;	/* the last event of any kind */
	uint64_t cpu_mark_ns;	/* the owner's CPU state is counted up to here ... */
	uint64_t offcpu_ns;	/* ... in this, from mark_ns on */
	enum lock_cpu cpu;
	struct lock_hold hold;
	struct lock_early early;
	const struct thread *last_owner;	/* NULL: not known */
	struct thread *first_queued;
	struct thread *last_queued;
	uint64_t nr_queued;
	uint64_t exited_queued;	/* tasks that ended while queued, unless their target ended too */

	struct lock_totals totals;
	struct thread *threads;	/* linked by next_of_lock */
	struct lock *next_of_target;
};

void lock_init(struct lock *l, uint32_t id, uint16_t target, const struct lock_window *w);
void lock_release(struct lock *l);	/* frees its threads too */

/*
 * Each takes the event of its kind, and the thread that it names (NULL where that is 0), one of this
 * lock. 0 or -ENOMEM.
 */
int lock_state(struct lock *l, const struct event *ev, struct thread *owner);
void lock_state_queued(struct lock *l, struct thread *t);
int lock_owner(struct lock *l, const struct event *ev, struct thread *owner);
int lock_queue(struct lock *l, const struct event *ev, struct thread *t);
void lock_cpu(struct lock *l, const struct event *ev);	/* EVENT_ON_CPU, EVENT_OFF_CPU */
int lock_thread_exit(struct lock *l, const struct event *ev, struct thread *t);

/*
 * What is seen of it ends: at its time, or, if its seq tells that events before it are missing, with the
 * last one that is there. 0 or -ENOMEM.
 */
int lock_state_end(struct lock *l, const struct event *ev);

/* What is seen of it ends at @ts_ns: EVENT_EXEC, EVENT_GONE. 0 or -ENOMEM. */
int lock_end(struct lock *l, uint64_t ts_ns);

/* The stream ended without a word: what is seen ends at the last event. 0 or -ENOMEM. */
int lock_cut(struct lock *l);

#endif
