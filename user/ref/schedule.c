// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/scope.h"

void schedule_init(struct schedule *s)
{
	*s = (struct schedule){ 0 };
	profile_init(&s->profile, &(struct lock_window){ 0, UINT64_MAX });
}

void schedule_release(struct schedule *s)
{
	for (size_t i = 0; i < s->nr_locks; i++) {
		struct schedule_lock *l = s->locks[i];

		if (!l)
			continue;
		for (struct episode *ep = l->episodes, *next; ep; ep = next) {
			next = ep->next;
			episode_free(ep);
		}
		map_release(&l->who);
		free(l);
	}
	free(s->locks);
	profile_release(&s->profile);
	schedule_init(s);
}

static int who_is(struct schedule_lock *l, const struct thread *t, uint32_t *out)
{
	const uint64_t *known = map_get(&l->who, (uint64_t)t);

	*out = known ? *known : l->nr_threads;
	if (known)
		return 0;
	if (map_put(&l->who, (uint64_t)t, l->nr_threads))
		return -ENOMEM;
	l->nr_threads++;
	return 0;
}

static int thread_of(struct schedule_lock *l, struct thread *t, uint32_t *out)
{
	bool is_new;

	if (episode_thread(l->last, t, out, &is_new))
		return -ENOMEM;
	return is_new ? who_is(l, t, &l->last->threads[*out].who) : 0;
}

static struct episode_thread *owner_of(const struct schedule_lock *l)
{
	return l->owner == SCHEDULE_NONE ? NULL : &l->last->threads[l->owner];
}

/* Task @tid runs the owner. A thread that has no name yet is not known by its task elsewhere. */
static int learn_tid(struct schedule_lock *l, uint32_t tid)
{
	return l->owner == SCHEDULE_NONE ? 0 : episode_learn_tid(l->last, l->owner, tid);
}

static uint32_t saturate(uint64_t ns)
{
	return ns < UINT32_MAX ? ns : UINT32_MAX;
}

/* The owner has the lock no longer at @now. */
static int hold_end(struct schedule_lock *l, uint64_t now, bool is_yield)
{
	struct episode_thread *t = &l->last->threads[l->owner];
	uint64_t held_ns = now - t->got_ns;
	struct segment s = {
		.off_ns = (int64_t)(t->want_ns - t->gave_ns),
		.wait_ns = t->got_ns - t->want_ns,
		.work_ns = held_ns,
		.latency_ns = l->is_coming ? saturate(held_ns) : t->latency_ns,
		.contended_ns = saturate(l->contended_ns),
		.order = t->order,
		.passed = t->flags & SEGMENT_JUMPED ? t->passed : 0,
		.flags = t->flags | (is_yield ? SEGMENT_YIELD : 0),
	};

	if (s.flags & SEGMENT_INSIDE)
		s.work_ns -= s.latency_ns;
	l->owner = SCHEDULE_NONE;
	l->is_coming = false;
	return episode_segment(l->last, t, &s, now);
}

/*
 * How long it took until the thread, whose turn it was, ran with the lock (3.3), or took it (3.1). There
 * others may have had it meanwhile, who came while it was free.
 */
static void latency_begin(struct schedule_lock *l, struct episode_thread *t, bool was_free)
{
	const struct lock_hold *h = &l->lock->hold;

	if (was_free) {
		bool is_first = t->thread == l->first_queued;
		uint64_t turn_ns = is_first && l->is_turn ? l->turn_ns : l->free_ns;

		t->latency_ns = saturate(t->got_ns - (turn_ns > t->want_ns ? turn_ns : t->want_ns));
		t->passed = l->nr_freed - t->passed - 1;
		if (is_first)
			l->is_turn = false;
		else if (t->passed < UINT16_MAX)
			t->flags |= SEGMENT_JUMPED;
		l->nr_taken++;
		return;
	}
	t->flags |= SEGMENT_INSIDE;
	l->is_coming = h->is_handoff && h->handoff_end_ns == UINT64_MAX;
	l->nr_handed++;
}

/* @thread has the lock from @now on. */
static int hold_begin(struct schedule_lock *l, struct thread *thread, uint64_t now, bool was_free)
{
	struct episode_thread *t;

	if (thread_of(l, thread, &l->owner))
		return -ENOMEM;
	t = &l->last->threads[l->owner];
	t->got_ns = now;
	t->want_ns = t->wants ? t->next_want_ns : now;
	t->order = t->wants ? t->next_order : l->order++;
	t->flags = t->wants ? t->next_flags : 0;
	t->latency_ns = 0;
	l->contended_ns = 0;
	if (!t->wants)
		return 0;
	t->wants = false;
	l->nr_wanting--;
	latency_begin(l, t, was_free);
	return 0;
}

/* @thread is queued from @now on; task @tid did that, or 0. */
static int want(struct schedule_lock *l, struct thread *thread, uint64_t now, uint32_t tid)
{
	struct episode_thread *t, *owner;
	uint32_t i;

	if (thread_of(l, thread, &i))
		return -ENOMEM;
	t = &l->last->threads[i];
	owner = owner_of(l);
	if (t->wants)
		return 0;
	t->wants = true;
	l->nr_wanting++;
	t->next_want_ns = now;
	t->next_order = l->order++;
	t->passed = l->nr_freed;
	t->next_flags = SEGMENT_QUEUED;
	if (!tid || !owner || owner == t || owner->tid != tid)
		return 0;
	t->next_flags |= SEGMENT_WOKEN;
	return episode_act(l->last, owner, &(struct act){ .at_ns = now - owner->got_ns, .bytes = i,
						      .flags = ACT_WAKE });
}

static int episode_begin(struct schedule_lock *l)
{
	struct episode *ep = calloc(1, sizeof(*ep));
	const struct lock *from = l->lock;

	if (!ep)
		return -ENOMEM;
	ep->begin_ns = l->free_ns = from->mark_ns;
	*(l->last ? &l->last->next : &l->episodes) = ep;
	l->last = ep;
	l->is_open = true;
	l->owner = SCHEDULE_NONE;
	l->is_turn = false;
	l->order = l->nr_wanting = 0;
	if (from->hold.owner && hold_begin(l, from->hold.owner, ep->begin_ns, false))
		return -ENOMEM;
	ep->owner = l->owner;
	for (struct thread *q = from->first_queued; q; q = q->next_queued)
		if (want(l, q, ep->begin_ns, 0))
			return -ENOMEM;
	return 0;
}

/* @t has waited until @now, or was without the lock until then. */
static int segment_cut(struct schedule_lock *l, struct episode_thread *t, uint64_t now)
{
	bool is_turn = t->wants && l->is_turn && t->thread == l->first_queued;
	uint64_t off_end = t->wants ? t->next_want_ns : now;
	struct segment s = {
		.off_ns = (int64_t)(off_end - t->gave_ns),
		.wait_ns = now - off_end,
		.latency_ns = is_turn ? saturate(now - l->turn_ns) : 0,
		.order = t->next_order,
		.flags = t->wants ? t->next_flags | SEGMENT_UNMET : SEGMENT_TAIL,
	};

	t->wants = false;
	return episode_segment(l->last, t, &s, now);
}

static int episode_end(struct schedule_lock *l, uint64_t now)
{
	struct episode *ep = l->last;

	l->is_open = false;
	ep->span_ns = now - ep->begin_ns;
	if (l->owner != SCHEDULE_NONE && hold_end(l, now, false))
		return -ENOMEM;
	for (uint32_t i = 0; i < ep->nr_threads; i++) {
		struct episode_thread *t = &ep->threads[i];

		if ((t->wants || !t->thread->is_ended) && segment_cut(l, t, now))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Threads that left the queue without having had the lock: in most cases the process ends. That is a step
 * of the owner's. Without one, they did something else in that time.
 */
static int forget_gone(struct schedule_lock *l)
{
	struct episode_thread *owner = owner_of(l);
	uint64_t now = l->lock->mark_ns;

	l->nr_wanting = 0;
	for (uint32_t i = 0; i < l->last->nr_threads; i++) {
		struct episode_thread *t = &l->last->threads[i];
		const struct act end = { .at_ns = owner ? now - owner->got_ns : 0, .bytes = i,
					 .flags = ACT_END };

		if (t->wants && !t->thread->is_queued && owner && t != owner &&
		    (segment_cut(l, t, now) || episode_act(l->last, owner, &end)))
			return -ENOMEM;
		t->wants = t->wants && t->thread->is_queued;
		l->nr_wanting += t->wants;
	}
	return 0;
}

static void lock_freed(struct schedule_lock *l, uint64_t now)
{
	l->free_ns = now;
	l->nr_freed++;
	if (l->is_turn || !l->nr_wanting)
		return;
	l->is_turn = true;
	l->turn_ns = now;
}

static int owner_follow(struct schedule_lock *l, const struct event *ev)
{
	struct thread *owner = l->lock->hold.owner;
	struct episode_thread *last = owner_of(l);
	uint64_t now = l->lock->mark_ns;
	bool is_released = ev->flags & EVENT_RELEASED;

	if (owner == (last ? last->thread : NULL))
		return 0;
	l->has_released |= is_released;
	if (learn_tid(l, ev->tid))
		return -ENOMEM;
	if (last && hold_end(l, now, last->wants || (l->nr_queued && l->has_released && !is_released)))
		return -ENOMEM;
	if (last && !owner)
		lock_freed(l, now);
	return owner ? hold_begin(l, owner, now, !last) : 0;
}

static int cpu_follow(struct schedule_lock *l, const struct event *ev)
{
	const struct lock_hold *h = &l->lock->hold;

	if (!l->is_coming || h->handoff_end_ns == UINT64_MAX)
		return 0;
	owner_of(l)->latency_ns = saturate(h->handoff_end_ns - h->start_ns);
	l->is_coming = false;
	return learn_tid(l, ev->tid);
}

static int follow_open(struct schedule_lock *l, const struct event *ev)
{
	struct thread *queued = l->lock->last_queued;
	uint64_t now = l->lock->mark_ns;

	switch (ev->kind) {
	case EVENT_OWNER:
		return owner_follow(l, ev);
	case EVENT_QUEUE:
	case EVENT_STATE_QUEUED:
		if (!queued || queued->addr != ev->thread)
			return 0;
		return want(l, queued, now, ev->kind == EVENT_QUEUE ? ev->tid : 0);
	case EVENT_ON_CPU:
		return cpu_follow(l, ev);
	}
	return 0;
}

/* Sees what became of the lock by an event. */
static int follow(struct schedule_lock *l, const struct event *ev)
{
	const struct lock *from = l->lock;
	bool is_stale = from->totals.stale_events != l->stale;
	bool is_break = from->totals.gaps != l->gaps || ev->kind == EVENT_STATE;
	bool is_seen = from->phase == LOCK_SEEN;
	uint64_t ahead = from->mark_ns - l->mark_ns;
	int err = 0;

	if (l->is_open && (is_break || !is_seen))
		err = episode_end(l, is_seen ? l->mark_ns : from->mark_ns);
	else if (l->is_open && l->owner != SCHEDULE_NONE && l->nr_queued)
		l->contended_ns += ahead;
	if (!err && is_seen && !l->is_open)
		err = episode_begin(l);
	else if (!err && l->is_open && !is_stale)
		err = follow_open(l, ev);
	if (!err && l->is_open && from->nr_queued != l->nr_wanting)
		err = forget_gone(l);
	l->stale = from->totals.stale_events;
	l->gaps = from->totals.gaps;
	l->mark_ns = from->mark_ns;
	l->nr_queued = from->nr_queued;
	l->first_queued = from->first_queued;
	return err;
}

static int copy_add(struct schedule_lock *l, const struct event *ev)
{
	struct act act = { .dur_ns = ev->dur_ns, .bytes = (uint64_t)ev->nr << 32 | ev->count,
			   .cpu = ev->fd, .flags = ev->flags & ~(ACT_WAKE | ACT_END) };
	bool is_held = ev->flags & COPY_HELD;
	uint64_t start = ev->ts_ns - ev->dur_ns, from;
	struct episode_thread *t;

	if ((ev->flags & COPY_OP) >> COPY_OP_SHIFT == COPY_COMPARE || !l->is_open)
		return 0;
	t = episode_task(l->last, ev->tid);
	if (is_held && !t && l->owner != SCHEDULE_NONE && !l->last->threads[l->owner].tid)
		t = &l->last->threads[l->owner];
	if (ev->flags & COPY_UNTIMED || !t || is_held != (t == owner_of(l))) {
		l->copies_left_out++;
		return 0;
	}
	from = is_held ? t->got_ns : t->gave_ns;
	act.at_ns = start > from ? start - from : 0;
	return episode_act(l->last, t, &act);
}

static struct schedule_lock *lock_get(struct schedule *s, uint32_t id)
{
	const struct profile *p = &s->profile;
	struct schedule_lock **locks;

	if (s->nr_locks < p->nr_locks) {
		locks = realloc(s->locks, p->nr_locks * sizeof(*locks));
		if (!locks)
			return NULL;
		memset(locks + s->nr_locks, 0, (p->nr_locks - s->nr_locks) * sizeof(*locks));
		s->locks = locks;
		s->nr_locks = p->nr_locks;
	}
	if (!s->locks[id])
		s->locks[id] = calloc(1, sizeof(*s->locks[id]));
	if (s->locks[id])
		s->locks[id]->lock = p->locks[id];
	return s->locks[id];
}

static int follow_all(struct schedule *s, const struct event *ev)
{
	for (size_t i = 0; i < s->nr_locks; i++)
		if (s->locks[i] && follow(s->locks[i], ev))
			return -ENOMEM;
	return 0;
}

static int add(struct schedule *s, const struct event *ev)
{
	struct schedule_lock *l;

	switch (ev->kind) {
	case EVENT_EXIT:
	case EVENT_EXEC:
	case EVENT_GONE:
		return follow_all(s, ev);
	case EVENT_OWNER:
	case EVENT_QUEUE:
	case EVENT_ON_CPU:
	case EVENT_OFF_CPU:
	case EVENT_STATE:
	case EVENT_STATE_QUEUED:
	case EVENT_STATE_END:
	case EVENT_COPY:
		if (ev->lock >= s->profile.nr_locks || !s->profile.locks[ev->lock])
			return 0;
		l = lock_get(s, ev->lock);
		if (!l)
			return -ENOMEM;
		return ev->kind == EVENT_COPY ? copy_add(l, ev) : follow(l, ev);
	}
	return 0;
}

int schedule_add(struct schedule *s, const struct event *ev, struct err *e)
{
	int err = profile_add(&s->profile, ev, e);

	if (err)
		return err;
	return add(s, ev) ? err_nomem(e) : 0;
}

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int find_latency(struct schedule_lock *l)
{
	auto_free uint32_t *all = NULL;
	size_t room = 0, nr = 0;

	for (const struct episode *ep = l->episodes; ep; ep = ep->next)
		room += ep->nr_segments;
	all = calloc(room + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (const struct episode *ep = l->episodes; ep; ep = ep->next)
		for (uint32_t i = 0; i < ep->nr_segments; i++)
			if ((ep->segments[i].flags & (SEGMENT_QUEUED | SEGMENT_UNMET)) == SEGMENT_QUEUED)
				all[nr++] = ep->segments[i].latency_ns;
	qsort(all, nr, sizeof(*all), by_size);
	l->latency_ns = nr ? all[nr / 2] : 0;
	return 0;
}

int schedule_finish(struct schedule *s, struct err *e)
{
	int err = profile_finish(&s->profile, e);

	if (err)
		return err;
	if (follow_all(s, &(struct event){ 0 }))
		return err_nomem(e);
	for (size_t i = 0; i < s->nr_locks; i++) {
		struct schedule_lock *l = s->locks[i];

		if (!l)
			continue;
		l->design = l->nr_taken > l->nr_handed ? REF_LOCK_31 : REF_LOCK_33;
		if (find_latency(l))
			return err_nomem(e);
	}
	return 0;
}
