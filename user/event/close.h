/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * IO#close, put together from its parts: the scan for waiters, the wait until those that it interrupts
 * have left, close(2). Parts of one close follow each other in one task. A close that has no close(2)
 * when its task begins another, or ends, was left by an exception: an orphan.
 */
#ifndef GVL_EVENT_CLOSE_H
#define GVL_EVENT_CLOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/lock.h"
#include "stat/dist.h"
#include "util/map.h"

enum { CLOSES_WORST = 8, CLOSES_PLACES = 64 };

struct close_one {
	uint64_t start_ns;		/* of the scan */
	uint64_t scan_ns, wait_ns, call_ns, total_ns;
	uint64_t visited;		/* WAITERS_UNKNOWN: not known */
	uint64_t thread;		/* rb_thread_t, 0: not known */
	uint64_t switches;		/* changes of locks and queues from scan to close(2): traps */
	uint64_t nr_queued;		/* for the lock, when the scan ended */
	uint64_t nr_blocked;		/* threads that had released it; only where closes.each is set */
	uint32_t matched;
	uint32_t tid;
	int32_t fd;
	uint16_t target;
	uint8_t flags;			/* enum scan_flag */
	uint8_t call_flags;		/* enum close_flag */
};

/* Threads that were interrupted although they waited in another IO object than the one closed. */
struct close_place {
	char *closer, *waiter;		/* "file:line", raw bytes from outside */
	uint64_t count;
};

struct closes {
	struct lock_window window;
	void (*each)(void *arg, const struct close_one *one);	/* NULL, or told of each that is over */
	void *arg;
	uint64_t switches;		/* counted by who owns this: see struct close_one */
	struct map open;		/* by target and tid: struct close_one, heap */
	uint64_t count;			/* scans */
	uint64_t per_io;		/* ... of an IO's own list (4.0) */
	uint64_t foreign;
	uint64_t orphans;		/* left by an exception */
	uint64_t unfinished;		/* not over when tracing ended */
	uint64_t visited_unknown;
	uint64_t held_ns;		/* close(2) with the lock held */
	uint64_t other_ns;		/* of total: neither scan, nor wait, nor close(2) */
	struct dist visited, matched, scan, wait, call, total;
	struct close_one worst[CLOSES_WORST];	/* the longest, in order */
	size_t nr_worst;
	struct close_place places[CLOSES_PLACES];	/* in order of appearance */
	size_t nr_places;		/* more than CLOSES_PLACES: the others were not kept apart */
	char *closer;			/* of the last EVENT_CLOSER */
};

void closes_init(struct closes *c, const struct lock_window *w);
void closes_release(struct closes *c);

/*
 * EVENT_SCAN of the owner of @l (NULL: not known) that visited so many waiters, EVENT_CLOSE, EVENT_CLOSER,
 * EVENT_FOREIGN. 0 or -ENOMEM.
 */
int closes_scan(struct closes *c, const struct event *ev, const struct lock *l, uint64_t visited);
int closes_call(struct closes *c, const struct event *ev);
int closes_place(struct closes *c, const struct event *ev);

/* Task @tid has ended: what it had begun was left. */
void closes_exit(struct closes *c, uint16_t target, uint32_t tid);

/* Nothing comes any more. */
void closes_finish(struct closes *c);

#endif
