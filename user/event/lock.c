// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event/lock.h"

#include <errno.h>

/* A scheduler event overtakes the owner event by what lies between two BPF helpers. */
#define EARLY_MAX_NS 100000

void lock_init(struct lock *l, uint32_t id, uint16_t target, const struct lock_window *w)
{
	*l = (struct lock){ .id = id, .target = target, .window = *w };
}

void lock_release(struct lock *l)
{
	dist_release(&l->totals.hold.ns);
	dist_release(&l->totals.wait.ns);
	dist_release(&l->totals.handoff.ns);
	threads_free(l->threads);
	l->threads = NULL;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t clip(const struct lock *l, uint64_t t)
{
	if (t < l->window.from_ns)
		return l->window.from_ns;
	return t > l->window.to_ns ? l->window.to_ns : t;
}

/* The part of a time that lies in the window. */
static uint64_t span(const struct lock *l, uint64_t start, uint64_t end)
{
	return clip(l, end) - clip(l, start);
}

/* Counts one thing that lasted from @start to @end, if any of it, or its only moment, is inside. */
static int dist_count(const struct lock *l, struct lock_dist *d, uint64_t start, uint64_t end,
		      bool is_cut)
{
	if (start >= l->window.to_ns || (start < l->window.from_ns && end <= l->window.from_ns))
		return 0;
	if (dist_add(&d->ns, span(l, start, end)))
		return -1;
	d->cut += is_cut || start < l->window.from_ns || end > l->window.to_ns;
	return 1;
}

static void cpu_pass(struct lock *l, uint64_t t)
{
	if (l->cpu == LOCK_CPU_OFF)
		l->offcpu_ns += span(l, l->cpu_mark_ns, t);
	l->cpu_mark_ns = t;
	l->now_ns = t;
}

/* Counts the time up to @t, over which neither owner nor queue changed. */
static void pass(struct lock *l, uint64_t t)
{
	uint64_t dt = span(l, l->mark_ns, t);

	cpu_pass(l, t);
	l->totals.seen_ns += dt;
	if (l->hold.owner) {
		l->hold.blame_ns += l->nr_queued * dt;
		l->hold.contended_ns += l->nr_queued ? dt : 0;
		l->hold.offcpu_ns += l->offcpu_ns;
	} else {
		l->totals.unowned_wait_ns += l->nr_queued * dt;
		l->totals.free_ns += dt;
	}
	l->offcpu_ns = 0;
	l->mark_ns = t;
}

static void queue_add(struct lock *l, struct thread *t, uint64_t now, bool is_cut)
{
	if (t->is_queued)
		return;
	t->is_queued = true;
	t->is_wait_cut = is_cut;
	t->queued_ns = now;
	t->next_queued = NULL;
	t->prev_queued = l->last_queued;
	if (l->last_queued)
		l->last_queued->next_queued = t;
	else
		l->first_queued = t;
	l->last_queued = t;
	l->nr_queued++;
}

static void queue_unlink(struct lock *l, struct thread *t)
{
	if (t->prev_queued)
		t->prev_queued->next_queued = t->next_queued;
	else
		l->first_queued = t->next_queued;
	if (t->next_queued)
		t->next_queued->prev_queued = t->prev_queued;
	else
		l->last_queued = t->prev_queued;
	t->is_queued = false;
	l->nr_queued--;
}

/* Its wait ends at l->mark_ns. */
static int queue_leave(struct lock *l, struct thread *t, bool is_cut)
{
	int counted = dist_count(l, &l->totals.wait, t->queued_ns, l->mark_ns,
				 is_cut || t->is_wait_cut);

	queue_unlink(l, t);
	if (counted < 0)
		return -ENOMEM;
	t->waits += counted;
	t->wait_ns += span(l, t->queued_ns, l->mark_ns);
	return 0;
}

/* Everybody leaves; their waits are cut. */
static int queue_clear(struct lock *l)
{
	while (l->first_queued)
		if (queue_leave(l, l->first_queued, true))
			return -ENOMEM;
	return 0;
}

/* Nothing was counted since they came. */
static void queue_forget(struct lock *l)
{
	while (l->first_queued)
		queue_unlink(l, l->first_queued);
}

static enum lock_cpu cpu_at_start(const struct lock *l, uint8_t flags)
{
	const struct lock_early *early = &l->early;
	const struct thread *owner = l->hold.owner;
	bool is_off = flags & EVENT_OWNER_OFF_CPU;

	if (early->ts_ns && l->now_ns <= early->ts_ns + EARLY_MAX_NS &&
	    (!owner->tid || owner->tid == early->tid))
		return early->is_on ? LOCK_CPU_ON : is_off ? LOCK_CPU_HANDOFF : LOCK_CPU_OFF;
	return is_off ? LOCK_CPU_HANDOFF : LOCK_CPU_ON;
}

/* @owner, or nobody, has the lock from l->mark_ns on. */
static void hold_begin(struct lock *l, struct thread *owner, uint8_t flags)
{
	l->hold = (struct lock_hold){ .owner = owner, .start_ns = l->mark_ns };
	l->cpu = LOCK_CPU_ON;
	if (owner) {
		owner->is_owner = true;
		l->cpu = cpu_at_start(l, flags);
		l->hold.is_handoff = flags & EVENT_OWNER_OFF_CPU;
		l->hold.handoff_end_ns = l->cpu == LOCK_CPU_HANDOFF ? UINT64_MAX : l->mark_ns;
		l->last_owner = owner;
	}
	l->early.ts_ns = 0;
}

static int handoff_count(struct lock *l, bool is_cut)
{
	struct lock_hold *h = &l->hold;
	bool is_over = h->handoff_end_ns <= l->mark_ns;
	uint64_t end = is_over ? h->handoff_end_ns : l->mark_ns;

	if (!h->is_handoff)
		return 0;
	if (dist_count(l, &l->totals.handoff, h->start_ns, end, is_cut && !is_over) < 0)
		return -ENOMEM;
	h->owner->handoff_ns += span(l, h->start_ns, end);
	return 0;
}

/* The owner has the lock no longer, or (@is_cut) is no longer seen to have it, at l->mark_ns. */
static int hold_end(struct lock *l, bool is_cut)
{
	struct lock_hold *h = &l->hold;
	struct thread *owner = h->owner;
	int counted;

	if (!owner)
		return 0;
	counted = dist_count(l, &l->totals.hold, h->start_ns, l->mark_ns, is_cut || h->is_cut);
	if (counted < 0 || handoff_count(l, is_cut))
		return -ENOMEM;
	owner->is_owner = false;
	owner->holds += counted;
	owner->hold_ns += span(l, h->start_ns, l->mark_ns);
	owner->blame_ns += h->blame_ns;
	owner->offcpu_hold_ns += h->offcpu_ns;
	l->totals.blame_ns += h->blame_ns;
	l->totals.contended_ns += h->contended_ns;
	l->totals.offcpu_hold_ns += h->offcpu_ns;
	h->owner = NULL;
	return 0;
}

/* What is seen ends at l->mark_ns. */
static int close_seen(struct lock *l, enum lock_phase next)
{
	if (l->phase == LOCK_SEEN && (hold_end(l, true) || queue_clear(l)))
		return -ENOMEM;
	queue_forget(l);
	l->phase = next;
	l->offcpu_ns = 0;
	l->last_owner = NULL;
	l->early.ts_ns = 0;
	l->exited_queued = 0;
	return 0;
}

/* What is seen begins at @t, with nothing counted yet. Threads found queued wait from here on. */
static void begin_seen(struct lock *l, uint64_t t)
{
	l->phase = LOCK_SEEN;
	l->now_ns = l->mark_ns = l->cpu_mark_ns = t;
	for (struct thread *q = l->first_queued; q; q = q->next_queued) {
		q->queued_ns = t;
		q->is_wait_cut = true;
	}
}

/*
 * True if the event is to be looked at. What is seen ends where events are missing before it. The
 * difference of two sequence numbers is right across their wrap.
 */
static bool seq_accept(struct lock *l, uint32_t seq, int *err)
{
	int32_t step = l->has_seq ? (int32_t)(seq - l->seq) : 1;

	*err = 0;
	if (step <= 0) {
		l->totals.stale_events++;
		return false;
	}
	l->seq = seq;
	l->has_seq = true;
	if (l->phase == LOCK_ENDED)
		return false;
	if (step > 1) {
		l->totals.gaps++;
		l->totals.gap_events += step - 1;
		*err = close_seen(l, LOCK_BLIND);
	}
	l->totals.queue_mismatch += l->exited_queued;
	l->exited_queued = 0;
	return !*err;
}

/* How the queue that the event saw fits the one that is known. */
static int queue_check(struct lock *l, uint8_t flags)
{
	if (flags & EVENT_QUEUE_EMPTY) {
		l->totals.queue_mismatch += l->nr_queued;
		l->is_queue_known = true;
		return queue_clear(l);
	}
	if (!l->nr_queued && l->is_queue_known) {
		l->totals.queue_mismatch++;
		l->is_queue_known = false;
	}
	return 0;
}

static void begin_at_owner(struct lock *l, const struct event *ev, struct thread *owner)
{
	if (ev->flags & EVENT_QUEUE_EMPTY)
		queue_forget(l);
	else
		l->totals.queue_unknown++;
	if (owner && owner->is_queued)
		queue_unlink(l, owner);
	l->is_queue_known = ev->flags & EVENT_QUEUE_EMPTY;
	begin_seen(l, later(ev->ts_ns, l->now_ns));
	hold_begin(l, owner, ev->flags);
}

int lock_owner(struct lock *l, const struct event *ev, struct thread *owner)
{
	const struct thread *last = l->last_owner;
	int err;

	if (!seq_accept(l, ev->seq, &err))
		return err;
	if (l->phase == LOCK_BLIND) {
		begin_at_owner(l, ev, owner);
		return 0;
	}
	pass(l, later(ev->ts_ns, l->now_ns));
	if (owner && owner->is_queued && queue_leave(l, owner, false))
		return -ENOMEM;
	if (owner != l->hold.owner) {
		if (hold_end(l, false))
			return -ENOMEM;
		hold_begin(l, owner, ev->flags);
	}
	if (owner && last && owner != last && l->mark_ns >= l->window.from_ns &&
	    l->mark_ns < l->window.to_ns)
		l->totals.switches++;
	return queue_check(l, ev->flags);
}

int lock_queue(struct lock *l, const struct event *ev, struct thread *t)
{
	int err;

	if (!seq_accept(l, ev->seq, &err))
		return err;
	if (l->phase == LOCK_SEEN)
		pass(l, later(ev->ts_ns, l->now_ns));
	queue_add(l, t, l->mark_ns, false);
	return 0;
}

int lock_state(struct lock *l, const struct event *ev, struct thread *owner)
{
	int32_t step = l->has_seq ? (int32_t)(ev->seq - l->seq) : 0;

	if (step > 0 && l->phase != LOCK_ENDED) {
		l->totals.gaps++;
		l->totals.gap_events += step;
	}
	if (close_seen(l, LOCK_ENDED))
		return -ENOMEM;
	l->seq = ev->seq;
	l->has_seq = true;
	l->is_queue_known = true;
	begin_seen(l, later(ev->ts_ns, l->now_ns));
	hold_begin(l, owner, 0);
	l->hold.is_cut = true;
	if (ev->flags & EVENT_OWNER_OFF_CPU)
		l->cpu = LOCK_CPU_OFF;
	return 0;
}

void lock_state_queued(struct lock *l, struct thread *t)
{
	if (l->phase == LOCK_SEEN)
		queue_add(l, t, l->mark_ns, true);
}

/* False: it is about the next owner, or too late about the last one. */
static bool is_of_owner(const struct lock *l, const struct event *ev)
{
	const struct thread *owner = l->hold.owner;

	if (!owner)
		return false;
	if (ev->kind == EVENT_ON_CPU)
		return l->cpu != LOCK_CPU_ON;
	return l->cpu != LOCK_CPU_OFF && (!owner->tid || !ev->tid || owner->tid == ev->tid);
}

void lock_cpu(struct lock *l, const struct event *ev)
{
	bool is_on = ev->kind == EVENT_ON_CPU;

	if (l->phase != LOCK_SEEN)
		return;
	if (!is_of_owner(l, ev)) {
		l->early = (struct lock_early){ later(ev->ts_ns, l->now_ns), ev->tid, is_on };
		return;
	}
	cpu_pass(l, later(ev->ts_ns, l->now_ns));
	if (l->cpu == LOCK_CPU_HANDOFF)
		l->hold.handoff_end_ns = l->now_ns;
	l->cpu = is_on ? LOCK_CPU_ON : LOCK_CPU_OFF;
}

int lock_thread_exit(struct lock *l, const struct event *ev, struct thread *t)
{
	if (!t->is_queued)
		return 0;
	if (l->phase != LOCK_SEEN) {
		queue_unlink(l, t);
		return 0;
	}
	pass(l, later(ev->ts_ns, l->now_ns));
	l->exited_queued++;
	return queue_leave(l, t, true);
}

int lock_end(struct lock *l, uint64_t ts_ns)
{
	if (l->phase == LOCK_SEEN)
		pass(l, later(ts_ns, l->now_ns));
	return close_seen(l, LOCK_ENDED);
}

int lock_state_end(struct lock *l, const struct event *ev)
{
	int32_t step = l->has_seq ? (int32_t)(ev->seq - l->seq) : 0;

	if (ev->seq == 0 || step <= 0)
		return lock_end(l, ev->ts_ns);
	l->totals.gaps++;
	l->totals.gap_events += step;
	return close_seen(l, LOCK_ENDED);
}

int lock_cut(struct lock *l)
{
	return close_seen(l, LOCK_ENDED);
}
