/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events for a schedule of one lock. Threads are small numbers; a thread's task has the same number. */
#ifndef TESTS_UNIT_SCHEDULES_H
#define TESTS_UNIT_SCHEDULES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ref/simulate.h"

#define MS 1000000ULL
#define GIVEN EVENT_RELEASED

struct told {
	struct schedule s;
	uint32_t seq;
};

static inline void told_init(struct told *t)
{
	*t = (struct told){ 0 };
	schedule_init(&t->s);
}

static inline void tell_event(struct told *t, const struct event *ev)
{
	struct err e;

	if (schedule_add(&t->s, ev, &e))
		fail_msg("%s", e.msg);
}

static inline void tell(struct told *t, uint64_t ts, enum event_kind kind, uint64_t thread, uint32_t tid,
			uint8_t flags)
{
	struct event ev = { .ts_ns = ts, .kind = kind, .thread = thread, .tid = tid, .flags = flags };

	if (kind == EVENT_OWNER || kind == EVENT_QUEUE)
		ev.seq = ++t->seq;
	if (kind == EVENT_STATE)
		ev.seq = t->seq;
	tell_event(t, &ev);
}

/* @thread, or nobody, is made the owner by @by, which goes on without the lock if it had it. */
static inline void owner(struct told *t, uint64_t ts, uint64_t thread, uint32_t by)
{
	tell(t, ts, EVENT_OWNER, thread, by, GIVEN);
}

static inline void yield_to(struct told *t, uint64_t ts, uint64_t thread, uint32_t by)
{
	tell(t, ts, EVENT_OWNER, thread, by, 0);
}

static inline void queue(struct told *t, uint64_t ts, uint64_t thread)
{
	tell(t, ts, EVENT_QUEUE, thread, (uint32_t)thread, 0);
}

static inline void state(struct told *t, uint64_t ts, uint64_t thread)
{
	tell(t, ts, EVENT_STATE, thread, (uint32_t)thread, 0);
}

static inline void end(struct told *t, uint64_t ts)
{
	tell(t, ts, EVENT_STATE_END, 0, 0, 0);
}

/* Task @tid has copied from @from until @to; a MiB, by IO::Buffer. Each is on a processor of its own. */
static inline void copied(struct told *t, uint64_t from, uint64_t to, uint32_t tid, bool is_held)
{
	tell_event(t, &(struct event){
		.ts_ns = to, .dur_ns = to - from, .kind = EVENT_COPY, .tid = tid, .fd = tid + 1,
		.count = 1 << 20,
		.flags = COPY_BUFFER | (is_held ? COPY_HELD : 0) });
}

static inline const struct schedule_lock *told_lock(struct told *t)
{
	struct err e;

	if (schedule_finish(&t->s, &e))
		fail_msg("%s", e.msg);
	assert_true(t->s.nr_locks > 0);
	assert_non_null(t->s.locks[0]);
	return t->s.locks[0];
}

static inline void told_release(struct told *t)
{
	schedule_release(&t->s);
}

static inline void equal_u64(const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		fail_msg("%s: got %ju, want %ju", what, (uintmax_t)got, (uintmax_t)want);
}

#define IS(got, want) equal_u64(#got, got, want)

/* Nothing is lost between the totals. */
static inline void run(const struct schedule_lock *l, const struct simulate_options *o, struct simulated *r)
{
	uint64_t hold_ns = 0, wait_ns = 0;
	struct err e;

	if (simulate(r, l, o, &e))
		fail_msg("%s", e.msg);
	for (uint32_t i = 0; i < r->nr_threads; i++) {
		hold_ns += r->threads[i].hold_ns;
		wait_ns += r->threads[i].wait_ns;
	}
	IS(r->hold_ns + r->free_ns, r->span_ns);
	IS(hold_ns, r->hold_ns);
	IS(wait_ns, r->wait_ns);
}

static inline void run_unchanged(const struct schedule_lock *l, struct simulated *r)
{
	const struct simulate_options o = simulate_options(l);
	const struct lock_totals *t = &l->lock->totals;

	run(l, &o, r);
	IS(r->wait_ns, t->wait.ns.sum);
	IS(r->hold_ns, t->hold.ns.sum);
	IS(r->free_ns, t->free_ns);
	IS(r->span_ns, t->seen_ns);
	IS(r->switches, t->switches);
	IS(r->changed_copies, 0);
}

static inline struct simulate_options moved(const struct schedule_lock *l, size_t threshold)
{
	struct simulate_options o = simulate_options(l);

	o.is_changed = true;
	o.threshold = threshold;
	o.latency_ns = 0;
	return o;
}

#define TEST(name) static void name(void **unused)

#endif
