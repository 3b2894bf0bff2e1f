// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The lock's state machine against a slow model of it: random schedules, with lost events, windows
 * of sight and clocks that disagree, are marked nanosecond by nanosecond in plain arrays, and every
 * figure is counted from these.
 */
#include "tests/unit/events.h"

#include <stdlib.h>

#include "util/scope.h"

enum {
	THREADS = 7,		/* numbers 1 to 6; 0 is nobody */
	TICKS = 6000,
	EVENTS_MAX = 4000,
	SPANS_MAX = 4000,
};

/* What may happen in a schedule. */
struct mix {
	bool is_handoff;	/* the owner names the next one */
	int loss;		/* 1 in so many events is lost; 0: none */
	int unseen;		/* 1 in so many steps changes the queue without an event; 0: none */
	int window;		/* 1 in so many steps ends what is seen; 0: none */
	int jitter;		/* clocks differ by up to so much */
};

struct stream {
	struct event ev[EVENTS_MAX];
	int nr;
	uint8_t true_owner[TICKS];
	uint8_t true_queue[TICKS];
};

/* The schedule itself, of which events are made. */
struct maker {
	const struct mix *mix;
	struct stream *out;
	uint64_t random;
	uint64_t now;
	uint32_t seq;
	int owner;
	bool is_on;
	bool is_seen;
	int queue[THREADS];
	int nr_queued;
};

static uint32_t roll(struct maker *m, uint32_t n)
{
	m->random = m->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (m->random >> 33) % n;
}

static bool one_in(struct maker *m, int n)
{
	return n && roll(m, n) == 0;
}

static void emit(struct maker *m, enum event_kind kind, int thread, uint32_t tid, uint8_t flags)
{
	struct stream *out = m->out;
	bool is_counted = kind == EVENT_OWNER || kind == EVENT_QUEUE;

	m->seq += is_counted;
	if ((is_counted || kind == EVENT_ON_CPU || kind == EVENT_OFF_CPU) &&
	    (!m->is_seen || one_in(m, m->mix->loss)))
		return;
	assert_true(out->nr < EVENTS_MAX);
	out->ev[out->nr++] = (struct event){
		.kind = kind, .thread = thread, .tid = tid, .flags = flags,
		.seq = is_counted || kind == EVENT_STATE || kind == EVENT_STATE_END ? m->seq : 0,
		.ts_ns = m->now - (m->mix->jitter ? roll(m, m->mix->jitter) : 0),
	};
}

static void pass(struct maker *m)
{
	for (uint32_t n = roll(m, 4) ? roll(m, 12) : roll(m, 60); n && m->now < TICKS; n--) {
		m->out->true_owner[m->now] = m->owner;
		m->out->true_queue[m->now++] = m->nr_queued;
	}
}

static bool is_queued(const struct maker *m, int t)
{
	for (int i = 0; i < m->nr_queued; i++)
		if (m->queue[i] == t)
			return true;
	return false;
}

static void enqueue(struct maker *m, int t)
{
	m->queue[m->nr_queued++] = t;
	if (!one_in(m, m->mix->unseen))
		emit(m, EVENT_QUEUE, t, t, 0);
}

static int dequeue(struct maker *m, int at)
{
	int t = m->queue[at];

	memmove(m->queue + at, m->queue + at + 1, (--m->nr_queued - at) * sizeof(*m->queue));
	return t;
}

static void own(struct maker *m, int t, int writer)
{
	m->is_on = t == writer || roll(m, 4) == 0;
	m->owner = t;
	emit(m, EVENT_OWNER, t, writer, (m->nr_queued ? 0 : EVENT_QUEUE_EMPTY) |
	     (t && !m->is_on ? EVENT_OWNER_OFF_CPU : 0));
}

static void step_free(struct maker *m)
{
	int t = 1 + roll(m, THREADS - 1);

	if (m->nr_queued && roll(m, 3))
		t = dequeue(m, roll(m, 5) ? 0 : roll(m, m->nr_queued));
	else if (is_queued(m, t))
		return;
	own(m, t, t);
}

static void step_owned(struct maker *m)
{
	int was = m->owner, t = 1 + roll(m, THREADS - 1);

	if (m->nr_queued && one_in(m, m->mix->unseen))
		dequeue(m, roll(m, m->nr_queued));
	switch (roll(m, 5)) {
	case 0:
	case 1:
		if (t != was && !is_queued(m, t))
			enqueue(m, t);
		return;
	case 2:
		m->is_on = !m->is_on;
		emit(m, m->is_on ? EVENT_ON_CPU : EVENT_OFF_CPU, 0, was, 0);
		return;
	}
	if (!m->mix->is_handoff || !m->nr_queued) {
		own(m, 0, was);
		return;
	}
	own(m, dequeue(m, 0), was);
	if (roll(m, 2))
		enqueue(m, was);	/* it only yielded */
}

static void see(struct maker *m)
{
	m->is_seen = true;
	emit(m, EVENT_STATE, m->owner, m->owner, m->owner && !m->is_on ? EVENT_OWNER_OFF_CPU : 0);
	for (int i = 0; i < m->nr_queued; i++)
		emit(m, EVENT_STATE_QUEUED, m->queue[i], 0, 0);
}

static void make(struct stream *out, const struct mix *mix, uint64_t seed)
{
	struct maker m = { .mix = mix, .out = out, .random = seed, .now = 100, .seq = -20 };

	memset(out, 0, sizeof(*out));
	for (int i = 1; i < THREADS; i++)
		out->ev[out->nr++] = (struct event){ .kind = EVENT_NAME, .thread = i, .tid = i,
						     .text = "x", .text_len = 1 };
	see(&m);
	while (m.now < TICKS - 100) {
		pass(&m);
		if (one_in(&m, mix->window)) {
			if (!m.is_seen || roll(&m, 4) == 0) {
				see(&m);
			} else {
				emit(&m, EVENT_STATE_END, 0, 0, 0);
				m.is_seen = roll(&m, 8) == 0;	/* some still come after it */
			}
		}
		if (m.owner)
			step_owned(&m);
		else
			step_free(&m);
	}
	if (m.is_seen && roll(&m, 4))
		emit(&m, EVENT_STATE_END, 0, 0, 0);
}

/* Something that lasted, with all of it that was seen. */
struct span {
	int thread;
	uint64_t start, end;
	bool is_cut;
};

struct spans {
	struct span s[SPANS_MAX];
	int nr;
};

struct model {
	bool is_seen[TICKS];
	bool is_off[TICKS];
	uint8_t owner[TICKS];
	uint8_t queue[TICKS];
	struct spans holds, waits, handoffs;
	uint64_t switch_at[EVENTS_MAX];
	int nr_switches;
	uint64_t gaps, gap_events, stale, mismatch, unknown;

	enum { BLIND, SEEN, ENDED } phase;
	bool has_seq;
	bool is_queue_known;
	uint32_t seq;
	uint64_t mark, now;
	struct span hold;
	int last_owner;
	bool is_handoff;
	bool starts_off;
	struct { uint64_t ts; bool is_on; } cpu[EVENTS_MAX];	/* of this hold */
	int nr_cpu;
	struct span queued[THREADS];	/* thread 0: not queued */
};

static int model_nr_queued(const struct model *m)
{
	int n = 0;

	for (int i = 1; i < THREADS; i++)
		n += m->queued[i].thread != 0;
	return n;
}

static bool model_on_at(const struct model *m, uint64_t t)
{
	bool is_on = !m->starts_off;

	for (int i = 0; i < m->nr_cpu && m->cpu[i].ts <= t; i++)
		is_on = m->cpu[i].is_on;
	return is_on;
}

static bool model_in_handoff(const struct model *m, uint64_t t)
{
	return m->is_handoff && m->starts_off && (!m->nr_cpu || t < m->cpu[0].ts);
}

static void model_mark(struct model *m, uint64_t to)
{
	for (; m->mark < to; m->mark++) {
		m->is_seen[m->mark] = true;
		m->owner[m->mark] = m->hold.thread;
		m->queue[m->mark] = model_nr_queued(m);
		m->is_off[m->mark] = m->hold.thread && !model_on_at(m, m->mark) &&
				     !model_in_handoff(m, m->mark);
	}
	m->now = to;
}

static void spans_add(struct spans *s, struct span it, uint64_t end, bool is_cut)
{
	it.end = end;
	it.is_cut |= is_cut;
	s->s[s->nr++] = it;
}

static void model_release(struct model *m, bool is_cut)
{
	struct span handoff = m->hold;
	bool is_over = m->nr_cpu && m->cpu[0].ts <= m->mark;

	if (!m->hold.thread)
		return;
	spans_add(&m->holds, m->hold, m->mark, is_cut);
	if (m->is_handoff)
		spans_add(&m->handoffs, handoff, is_over ? m->cpu[0].ts : m->mark,
			  is_cut && !is_over);
	m->hold.thread = 0;
}

static void model_take(struct model *m, int t, bool is_cut, bool is_off, bool is_handoff)
{
	m->hold = (struct span){ .thread = t, .start = m->mark, .is_cut = is_cut };
	m->nr_cpu = 0;
	m->starts_off = is_off;
	m->is_handoff = is_handoff && is_off && t;
	if (t)
		m->last_owner = t;
}

static void model_leave(struct model *m, int t, bool is_cut)
{
	if (m->queued[t].thread)
		spans_add(&m->waits, m->queued[t], m->mark, is_cut);
	m->queued[t].thread = 0;
}

static void model_close(struct model *m, int phase)
{
	if (m->phase == SEEN) {
		model_release(m, true);
		for (int i = 1; i < THREADS; i++)
			model_leave(m, i, true);
	}
	memset(m->queued, 0, sizeof(m->queued));
	m->last_owner = 0;
	m->phase = phase;
}

static void model_begin(struct model *m, uint64_t ts)
{
	m->now = m->mark = ts > m->now ? ts : m->now;
	m->phase = SEEN;
	for (int i = 1; i < THREADS; i++) {
		m->queued[i].start = m->mark;
		m->queued[i].is_cut = true;
	}
}

static void model_enqueue(struct model *m, int t, bool is_cut)
{
	if (!m->queued[t].thread)
		m->queued[t] = (struct span){ .thread = t, .start = m->mark, .is_cut = is_cut };
}

static void model_owner(struct model *m, const struct event *ev)
{
	bool is_empty = ev->flags & EVENT_QUEUE_EMPTY, is_off = ev->flags & EVENT_OWNER_OFF_CPU;
	int t = ev->thread, last = m->last_owner;

	if (m->phase == BLIND) {
		m->unknown += !is_empty;
		m->is_queue_known = is_empty;
		if (is_empty)
			memset(m->queued, 0, sizeof(m->queued));
		m->queued[t].thread = 0;
		model_begin(m, ev->ts_ns);
		model_take(m, t, false, is_off, true);
		return;
	}
	model_mark(m, ev->ts_ns > m->now ? ev->ts_ns : m->now);
	model_leave(m, t, false);
	model_release(m, false);
	model_take(m, t, false, is_off, true);
	if (t && last && t != last)
		m->switch_at[m->nr_switches++] = m->mark;
	if (is_empty) {
		m->mismatch += model_nr_queued(m);
		for (int i = 1; i < THREADS; i++)
			model_leave(m, i, true);
		m->is_queue_known = true;
	} else if (!model_nr_queued(m) && m->is_queue_known) {
		m->mismatch++;
		m->is_queue_known = false;
	}
}

static void model_counted(struct model *m, const struct event *ev)
{
	uint32_t step = m->has_seq ? ev->seq - m->seq : 1;

	if (step == 0 || step > INT32_MAX) {
		m->stale++;
		return;
	}
	m->seq = ev->seq;
	m->has_seq = true;
	if (m->phase == ENDED)
		return;
	if (step > 1) {
		m->gaps++;
		m->gap_events += step - 1;
		model_close(m, BLIND);
	}
	if (ev->kind == EVENT_OWNER) {
		model_owner(m, ev);
		return;
	}
	if (m->phase == SEEN)
		model_mark(m, ev->ts_ns > m->now ? ev->ts_ns : m->now);
	model_enqueue(m, ev->thread, false);
}

/* True if events are missing before one that is not counted itself. */
static bool model_gap(struct model *m, const struct event *ev)
{
	bool is_later = m->has_seq && ev->seq - m->seq != 0 && ev->seq - m->seq <= INT32_MAX;

	m->gaps += is_later;
	m->gap_events += is_later ? ev->seq - m->seq : 0;
	return is_later;
}

static void model_state(struct model *m, const struct event *ev)
{
	if (m->phase != ENDED)
		model_gap(m, ev);
	model_close(m, ENDED);
	m->seq = ev->seq;
	m->has_seq = m->is_queue_known = true;
	model_begin(m, ev->ts_ns);
	model_take(m, ev->thread, true, ev->flags & EVENT_OWNER_OFF_CPU, false);
}

static void model_cpu(struct model *m, const struct event *ev)
{
	bool is_on = ev->kind == EVENT_ON_CPU;

	if (m->phase != SEEN || !m->hold.thread || model_on_at(m, UINT64_MAX) == is_on) {
		/* off its CPU during the hand-off: then it has been on it */
		if (is_on || m->phase != SEEN || !m->hold.thread || !m->is_handoff || m->nr_cpu)
			return;
	}
	if (!is_on && m->hold.thread != (int)ev->tid)
		return;
	m->now = ev->ts_ns > m->now ? ev->ts_ns : m->now;
	m->cpu[m->nr_cpu].ts = m->now;
	m->cpu[m->nr_cpu++].is_on = is_on;
}

static void model_run(struct model *m, const struct stream *in)
{
	memset(m, 0, sizeof(*m));
	for (int i = 0; i < in->nr; i++) {
		const struct event *ev = &in->ev[i];

		if (ev->kind == EVENT_OWNER || ev->kind == EVENT_QUEUE)
			model_counted(m, ev);
		if (ev->kind == EVENT_STATE)
			model_state(m, ev);
		if (ev->kind == EVENT_STATE_QUEUED && m->phase == SEEN)
			model_enqueue(m, ev->thread, true);
		if (ev->kind == EVENT_ON_CPU || ev->kind == EVENT_OFF_CPU)
			model_cpu(m, ev);
		if (ev->kind == EVENT_STATE_END) {
			if ((!ev->seq || !model_gap(m, ev)) && m->phase == SEEN)
				model_mark(m, ev->ts_ns > m->now ? ev->ts_ns : m->now);
			model_close(m, ENDED);
		}
	}
	model_close(m, ENDED);
}

struct tally {
	uint64_t count, sum, cut, min, max;
};

/* Of thread @thread, or of all of them (0). */
static struct tally spans_tally(const struct spans *s, int thread, struct lock_window w)
{
	struct tally t = { .min = UINT64_MAX };

	for (int i = 0; i < s->nr; i++) {
		const struct span *it = &s->s[i];
		uint64_t ns = 0;
		bool is_in = it->start == it->end && it->start >= w.from_ns && it->start < w.to_ns;

		if (thread && it->thread != thread)
			continue;
		for (uint64_t at = it->start; at < it->end; at++)
			ns += at >= w.from_ns && at < w.to_ns;
		if (!ns && !is_in)
			continue;
		t.count++;
		t.sum += ns;
		t.cut += it->is_cut || it->start < w.from_ns || it->end > w.to_ns;
		t.min = ns < t.min ? ns : t.min;
		t.max = ns > t.max ? ns : t.max;
	}
	if (!t.count)
		t.min = 0;
	return t;
}

static void same_dist(const char *what, const struct lock_dist *got, struct tally want)
{
	if (got->ns.count != want.count || got->ns.sum != want.sum || got->cut != want.cut ||
	    got->ns.min != want.min || got->ns.max != want.max)
		fail_msg("%s: got %ju, sum %ju, cut %ju, %ju to %ju; "
			 "want %ju, sum %ju, cut %ju, %ju to %ju", what, (uintmax_t)got->ns.count,
			 (uintmax_t)got->ns.sum, (uintmax_t)got->cut, (uintmax_t)got->ns.min,
			 (uintmax_t)got->ns.max, (uintmax_t)want.count, (uintmax_t)want.sum,
			 (uintmax_t)want.cut, (uintmax_t)want.min, (uintmax_t)want.max);
}

static void same_totals(const struct lock_totals *got, const struct model *m, struct lock_window w)
{
	uint64_t seen = 0, idle = 0, contended = 0, blame = 0, unowned = 0, off = 0, switches = 0;

	for (uint64_t t = w.from_ns; t < w.to_ns && t < TICKS; t++) {
		seen += m->is_seen[t];
		idle += m->is_seen[t] && !m->owner[t];
		contended += m->owner[t] && m->queue[t];
		blame += m->owner[t] ? m->queue[t] : 0;
		unowned += m->owner[t] ? 0 : m->queue[t];
		off += m->is_off[t];
	}
	for (int i = 0; i < m->nr_switches; i++)
		switches += m->switch_at[i] >= w.from_ns && m->switch_at[i] < w.to_ns;
	IS(got->seen_ns, seen);
	IS(got->free_ns, idle);
	IS(got->contended_ns, contended);
	IS(got->blame_ns, blame);
	IS(got->unowned_wait_ns, unowned);
	IS(got->offcpu_hold_ns, off);
	IS(got->switches, switches);
	IS(got->gaps, m->gaps);
	IS(got->gap_events, m->gap_events);
	IS(got->stale_events, m->stale);
	IS(got->queue_mismatch, m->mismatch);
	IS(got->queue_unknown, m->unknown);
	same_dist("hold_ns", &got->hold, spans_tally(&m->holds, 0, w));
	same_dist("wait_ns", &got->wait, spans_tally(&m->waits, 0, w));
	same_dist("handoff_ns", &got->handoff, spans_tally(&m->handoffs, 0, w));
}

static void same_thread(const struct thread *got, const struct model *m, struct lock_window w)
{
	int i = got->addr;
	struct tally hold = spans_tally(&m->holds, i, w), wait = spans_tally(&m->waits, i, w);
	uint64_t blame = 0, off = 0;

	for (uint64_t t = w.from_ns; t < w.to_ns && t < TICKS; t++) {
		blame += m->owner[t] == i ? m->queue[t] : 0;
		off += m->owner[t] == i && m->is_off[t];
	}
	IS(got->holds, hold.count);
	IS(got->hold_ns, hold.sum);
	IS(got->waits, wait.count);
	IS(got->wait_ns, wait.sum);
	IS(got->blame_ns, blame);
	IS(got->offcpu_hold_ns, off);
	IS(got->handoff_ns, spans_tally(&m->handoffs, i, w).sum);
}

/* With nothing lost and clocks that agree, the model itself must be the schedule. */
static void same_truth(const struct model *m, const struct stream *in)
{
	for (uint64_t t = 100; t < m->mark; t++) {
		assert_true(m->is_seen[t]);
		assert_int_equal(m->owner[t], in->true_owner[t]);
		assert_int_equal(m->queue[t], in->true_queue[t]);
	}
}

static void check_window(const struct stream *in, const struct model *m, struct lock_window w)
{
	struct feed f;
	const struct lock *l;

	feed_init(&f, w);
	for (int i = 0; i < in->nr; i++)
		feed_event(&f, &in->ev[i]);
	l = feed_lock(&f);
	identities_hold(l);
	same_totals(&l->totals, m, w);
	for (const struct thread *t = l->threads; t; t = t->next_of_lock)
		same_thread(t, m, w);
	feed_release(&f);
}

static void check_mix(const struct mix *mix, int nr_seeds)
{
	auto_free struct stream *in = malloc(sizeof(*in));
	auto_free struct model *m = malloc(sizeof(*m));

	assert_non_null(in);
	assert_non_null(m);
	for (int seed = 1; seed <= nr_seeds; seed++) {
		struct maker dice = { .random = seed };

		make(in, mix, seed);
		model_run(m, in);
		if (!mix->loss && !mix->unseen && !mix->window && !mix->jitter)
			same_truth(m, in);
		check_window(in, m, WHOLE);
		for (int i = 0; i < 4; i++) {
			uint64_t from = roll(&dice, TICKS);

			check_window(in, m, (struct lock_window){
				from, i ? from + 1 + roll(&dice, 500) : UINT64_MAX });
		}
	}
}

static void a_whole_schedule_is_told_exactly(void **s)
{
	(void)s;
	check_mix(&(struct mix){ .is_handoff = false }, 40);
	check_mix(&(struct mix){ .is_handoff = true }, 40);
}

static void lost_events_end_what_is_seen(void **s)
{
	(void)s;
	check_mix(&(struct mix){ .is_handoff = true, .loss = 20 }, 60);
	check_mix(&(struct mix){ .is_handoff = false, .loss = 4 }, 60);
}

static void unseen_writers_of_the_queue_are_found(void **s)
{
	(void)s;
	check_mix(&(struct mix){ .is_handoff = true, .unseen = 10 }, 40);
}

static void windows_of_sight_are_kept_apart(void **s)
{
	(void)s;
	check_mix(&(struct mix){ .is_handoff = true, .window = 15 }, 60);
}

static void clocks_that_disagree_do_no_harm(void **s)
{
	(void)s;
	check_mix(&(struct mix){ .is_handoff = true, .jitter = 8 }, 60);
}

static void everything_may_happen_at_once(void **s)
{
	(void)s;
	for (int i = 0; i < 2; i++)
		check_mix(&(struct mix){ .is_handoff = i, .loss = 12, .unseen = 20, .window = 25,
					 .jitter = 6 }, 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_schedule_is_told_exactly),
		cmocka_unit_test(lost_events_end_what_is_seen),
		cmocka_unit_test(unseen_writers_of_the_queue_are_found),
		cmocka_unit_test(windows_of_sight_are_kept_apart),
		cmocka_unit_test(clocks_that_disagree_do_no_harm),
		cmocka_unit_test(everything_may_happen_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
