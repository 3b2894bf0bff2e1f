/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events of closes, waiters, calls and copies, for tests. */
#ifndef TESTS_UNIT_CLOSES_H
#define TESTS_UNIT_CLOSES_H

#include "tests/unit/events.h"

/* Task @tid has scanned for @fd from @ts on, for @dur, and interrupted @nr. */
struct scan {
	uint64_t ts, dur;
	uint32_t tid;
	int32_t fd;
	uint32_t nr;
	uint8_t flags;
	uint32_t count;		/* of a walk ... */
	uint64_t sum;		/* ... of these addresses */
};

static inline void scan(struct feed *f, const struct scan *s)
{
	struct event ev = { .kind = EVENT_SCAN, .ts_ns = s->ts + s->dur, .dur_ns = s->dur,
			    .tid = s->tid, .fd = s->fd, .nr = s->nr, .flags = s->flags,
			    .count = s->count, .thread = s->sum, .target = f->target,
			    .lock = f->lock };

	feed_event(f, &ev);
}

#define SCAN(f, ...) scan(f, &(struct scan){ __VA_ARGS__ })

/* Task @tid's close(2) of @fd from @ts on, for @dur. */
static inline void call_close(struct feed *f, uint64_t ts, uint64_t dur, uint32_t tid, int32_t fd,
			      uint8_t flags)
{
	struct event ev = { .kind = EVENT_CLOSE, .ts_ns = ts + dur, .dur_ns = dur, .tid = tid,
			    .fd = fd, .flags = flags, .target = f->target };

	feed_event(f, &ev);
}

static inline void listed(struct feed *f, uint32_t nr, uint64_t thread)
{
	struct event ev = { .kind = EVENT_LISTED, .nr = nr, .thread = thread, .target = f->target };

	feed_event(f, &ev);
}

static inline void matched(struct feed *f, uint64_t thread)
{
	struct event ev = { .kind = EVENT_MATCHED, .thread = thread, .target = f->target };

	feed_event(f, &ev);
}

/* A thread that waits in another IO, seen by a close. */
static inline void foreign(struct feed *f, uint64_t ts, const char *closer, const char *waiter)
{
	struct event ev = { .ts_ns = ts, .target = f->target };

	ev.kind = EVENT_CLOSER;
	ev.text_len = snprintf(ev.text, sizeof(ev.text), "%s", closer);
	feed_event(f, &ev);
	ev.kind = EVENT_FOREIGN;
	ev.text_len = snprintf(ev.text, sizeof(ev.text), "%s", waiter);
	feed_event(f, &ev);
}

/* @thread, which released its lock, makes system call @nr. */
static inline void call(struct feed *f, uint64_t thread, uint32_t nr, enum file_kind file)
{
	struct event ev = { .kind = EVENT_CALL, .thread = thread, .nr = nr, .count = file,
			    .target = f->target, .lock = f->lock };

	feed_event(f, &ev);
}

/* The owner of the lock is about to run the C function at @addr, called @name, without it. */
static inline void runs(struct feed *f, uint64_t addr, const char *name)
{
	struct event ev = { .kind = EVENT_FUNCTION, .thread = addr, .target = f->target,
			    .lock = f->lock };

	feed_text(f, EVENT_SYMBOL, addr, 0, name);
	feed_event(f, &ev);
}

/* From @ts on, a copy of @bytes for @dur by the function at @function (0: not known). */
static inline void copied(struct feed *f, uint64_t ts, uint64_t dur, uint64_t bytes, uint8_t flags,
			  uint64_t function)
{
	struct event ev = { .kind = EVENT_COPY, .ts_ns = ts + dur, .dur_ns = dur, .count = bytes,
			    .nr = bytes >> 32, .flags = flags, .thread = function,
			    .target = f->target, .lock = f->lock };

	feed_event(f, &ev);
}

/* @count copies of the size class @slot, @bytes in all, too small to be told. */
static inline void tallied(struct feed *f, uint64_t ts, uint32_t count, uint64_t bytes, uint32_t slot,
			   uint8_t flags, uint64_t function)
{
	struct event ev = { .kind = EVENT_TALLY, .ts_ns = ts, .fd = TALLY_COPY, .count = count,
			    .dur_ns = bytes, .nr = slot, .flags = flags, .thread = function,
			    .target = f->target };

	feed_event(f, &ev);
}

/* @all clock ticks that found an owner, @copying of them in a copy for @function. */
static inline void ticked(struct feed *f, uint64_t ts, uint32_t all, uint32_t copying,
			  uint64_t function)
{
	struct event ev = { .kind = EVENT_TALLY, .ts_ns = ts, .fd = TALLY_TICK, .count = all,
			    .target = f->target };

	feed_event(f, &ev);
	ev.fd = TALLY_TICK_COPY;
	ev.count = copying;
	ev.thread = function;
	if (copying)
		feed_event(f, &ev);
}

#endif
