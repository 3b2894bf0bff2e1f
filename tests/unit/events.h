/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events for tests, and a profile to feed them to. Sequence numbers come by themselves. */
#ifndef TESTS_UNIT_EVENTS_H
#define TESTS_UNIT_EVENTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "event/profile.h"

#define FEED_LOCKS 8
#define WHOLE ((struct lock_window){ 0, UINT64_MAX })

struct feed {
	struct profile p;
	uint32_t seq[FEED_LOCKS];
	uint16_t target;
	uint16_t lock;
};

static inline void feed_init(struct feed *f, struct lock_window w)
{
	memset(f, 0, sizeof(*f));
	profile_init(&f->p, &w);
}

static inline void feed_event(struct feed *f, const struct event *ev)
{
	struct err e;

	if (profile_add(&f->p, ev, &e))
		fail_msg("%s", e.msg);
}

static inline void feed(struct feed *f, uint64_t ts, enum event_kind kind, uint64_t thread,
			uint32_t tid, uint8_t flags)
{
	struct event ev = { .ts_ns = ts, .kind = kind, .thread = thread, .tid = tid, .flags = flags,
			    .target = f->target, .lock = f->lock };

	if (kind == EVENT_OWNER || kind == EVENT_QUEUE)
		ev.seq = ++f->seq[f->lock];
	if (kind == EVENT_STATE)
		ev.seq = f->seq[f->lock];
	feed_event(f, &ev);
}

static inline void feed_text(struct feed *f, enum event_kind kind, uint64_t thread, uint32_t tid,
			     const char *text)
{
	struct event ev = { .kind = kind, .thread = thread, .tid = tid, .target = f->target };

	ev.text_len = snprintf(ev.text, sizeof(ev.text), "%s", text);
	feed_event(f, &ev);
}

/* Shorthands; the owner's event says the truth about the queue only if told to. */
static inline void owner(struct feed *f, uint64_t ts, uint64_t thread, uint8_t flags)
{
	feed(f, ts, EVENT_OWNER, thread, (uint32_t)thread, flags);
}

static inline void queue(struct feed *f, uint64_t ts, uint64_t thread)
{
	feed(f, ts, EVENT_QUEUE, thread, (uint32_t)thread, 0);
}

static inline void state(struct feed *f, uint64_t ts, uint64_t thread)
{
	feed(f, ts, EVENT_STATE, thread, (uint32_t)thread, 0);
}

static inline void end(struct feed *f, uint64_t ts)
{
	feed(f, ts, EVENT_STATE_END, 0, 0, 0);
}

static inline void lose(struct feed *f, uint32_t nr)
{
	f->seq[f->lock] += nr;
}

static inline const struct lock *feed_lock(struct feed *f)
{
	struct err e;

	if (profile_finish(&f->p, &e))
		fail_msg("%s", e.msg);
	assert_true(f->lock < f->p.nr_locks);
	assert_non_null(f->p.locks[f->lock]);
	return f->p.locks[f->lock];
}

static inline void feed_release(struct feed *f)
{
	profile_release(&f->p);
}

static inline void equal_u64(const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("%s: got %ju, want %ju", what, (uintmax_t)got, (uintmax_t)want);
}

#define IS(got, want) equal_u64(#got, got, want)

/* What must hold for every lock, whatever happened on it. */
static inline void identities_hold(const struct lock *l)
{
	const struct lock_totals *t = &l->totals;
	uint64_t holds = 0, hold_ns = 0, waits = 0, wait_ns = 0, blame_ns = 0, off_ns = 0;
	uint64_t handoff_ns = 0;

	for (const struct thread *th = l->threads; th; th = th->next_of_lock) {
		holds += th->holds;
		hold_ns += th->hold_ns;
		waits += th->waits;
		wait_ns += th->wait_ns;
		blame_ns += th->blame_ns;
		off_ns += th->offcpu_hold_ns;
		handoff_ns += th->handoff_ns;
	}
	IS(t->hold.ns.sum + t->free_ns, t->seen_ns);
	IS(t->wait.ns.sum, t->blame_ns + t->unowned_wait_ns);
	IS(holds, t->hold.ns.count);
	IS(hold_ns, t->hold.ns.sum);
	IS(waits, t->wait.ns.count);
	IS(wait_ns, t->wait.ns.sum);
	IS(blame_ns, t->blame_ns);
	IS(off_ns, t->offcpu_hold_ns);
	IS(handoff_ns, t->handoff.ns.sum);
	assert_true(t->contended_ns <= t->hold.ns.sum);
	assert_true(t->offcpu_hold_ns + t->handoff.ns.sum <= t->hold.ns.sum);
}

/* The thread at @addr that is @nth (from 0) of those that were there one after the other. */
static inline const struct thread *thread_at(const struct lock *l, uint64_t addr, int nth)
{
	const struct thread *found[16];
	int n = 0;

	for (const struct thread *t = l->threads; t && n < 16; t = t->next_of_lock)
		if (t->addr == addr)
			found[n++] = t;
	if (nth >= n)
		fail_msg("%d threads at %#jx, want number %d", n, (uintmax_t)addr, nth);
	return found[n - 1 - nth];
}

#endif
