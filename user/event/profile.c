// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void profile_init(struct profile *p, const struct lock_window *w)
{
	memset(p, 0, sizeof(*p));
	p->window = *w;
	closes_init(&p->closes, w);
	blocks_init(&p->blocks, w);
	copies_init(&p->copies, w);
	p->first_ns = UINT64_MAX;
}

void profile_release(struct profile *p)
{
	for (size_t i = 0; i < p->nr_targets; i++) {
		if (!p->targets[i])
			continue;
		threads_release(&p->targets[i]->threads);
		waiters_release(&p->targets[i]->waiters);
	}
	for (size_t i = 0; i < p->functions.nr_slots; i++)
		if (p->functions.slots[i].key)
			free((void *)p->functions.slots[i].value);
	map_release(&p->functions);
	closes_release(&p->closes);
	blocks_release(&p->blocks);
	copies_release(&p->copies);
	for (size_t i = 0; i < p->nr_locks; i++)
		if (p->locks[i])
			lock_release(p->locks[i]);
	for (size_t i = 0; i < p->nr_targets; i++)
		free(p->targets[i]);
	for (size_t i = 0; i < p->nr_locks; i++)
		free(p->locks[i]);
	free(p->targets);
	free(p->locks);
	profile_init(p, &p->window);
}

/* Makes room in a table of pointers, new ones NULL, for index @i. 0 or -ENOMEM. */
static int table_reach(void ***table, size_t *nr, size_t i)
{
	size_t more = *nr ? *nr : 16;
	void **bigger;

	if (i < *nr)
		return 0;
	while (more <= i)
		more *= 2;
	bigger = realloc(*table, more * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	memset(bigger + *nr, 0, (more - *nr) * sizeof(*bigger));
	*table = bigger;
	*nr = more;
	return 0;
}

static struct profile_target *target_get(struct profile *p, uint16_t target)
{
	if (table_reach((void ***)&p->targets, &p->nr_targets, target))
		return NULL;
	if (!p->targets[target])
		p->targets[target] = calloc(1, sizeof(*p->targets[target]));
	return p->targets[target];
}

/* A lock stays with the target that it was first seen in. */
static struct lock *lock_get(struct profile *p, const struct event *ev)
{
	struct profile_target *target;
	struct lock *l;

	if (ev->lock < p->nr_locks && p->locks[ev->lock])
		return p->locks[ev->lock];
	target = target_get(p, ev->target);
	if (!target || table_reach((void ***)&p->locks, &p->nr_locks, ev->lock))
		return NULL;
	l = malloc(sizeof(*l));
	if (!l)
		return NULL;
	lock_init(l, ev->lock, ev->target, &p->window);
	l->next_of_target = target->locks;
	target->locks = l;
	p->locks[ev->lock] = l;
	return l;
}

/*
 * Until 3.2 a thread that takes a free lock writes its word itself: its task is known, where no
 * EVENT_NAME says better.
 */
static int learn_owner(struct threads *ts, const struct lock *l, const struct event *ev,
		       struct thread *owner)
{
	bool is_said = ev->kind == EVENT_STATE;

	if (!owner || owner->tid || (!is_said && (l->phase != LOCK_SEEN || l->hold.owner)))
		return 0;
	return threads_learn_tid(ts, owner, ev->tid);
}

static void forget_regions(struct lock *l)
{
	for (struct thread *t = l->threads; t; t = t->next_of_lock)
		t->region = (struct thread_region){ 0 };
}

/* What the last owner @last goes on to do, and what the new one @t has done. */
static int add_regions(struct profile *p, struct lock *l, const struct event *ev, struct thread *last,
		       struct thread *t, uint64_t queued_ns)
{
	struct waiters *w = &p->targets[l->target]->waiters;

	if (last && last != t) {
		if (ev->flags & EVENT_RELEASED)
			blocks_begin(last, l->mark_ns);
		if (waiters_set(w, last->addr, ev->flags & EVENT_ON_LIST))
			return -ENOMEM;
	}
	if (!t || t == last)
		return 0;
	t->next_function = 0;
	if (blocks_end(&p->blocks, t, l->mark_ns) || waiters_set(w, t->addr, false))
		return -ENOMEM;
	blocks_waited(&p->blocks, t, queued_ns, l->mark_ns);
	return 0;
}

/* An event that carries a number: one that comes too late is not taken, one that comes after others lost. */
static int add_change(struct profile *p, struct lock *l, const struct event *ev, struct thread *t)
{
	struct thread *last = l->phase == LOCK_SEEN ? l->hold.owner : NULL;
	uint64_t stale = l->totals.stale_events, gaps = l->totals.gaps;
	uint64_t queued_ns = t && t->is_queued ? t->queued_ns : UINT64_MAX;
	int err = ev->kind == EVENT_OWNER ? lock_owner(l, ev, t) : lock_queue(l, ev, t);

	if (err || l->totals.stale_events != stale)
		return err;
	if (l->totals.gaps != gaps) {
		waiters_forget(&p->targets[l->target]->waiters);
		forget_regions(l);
		return 0;
	}
	if (l->phase != LOCK_SEEN)
		return 0;
	if (ev->kind == EVENT_QUEUE)
		return blocks_end(&p->blocks, t, l->mark_ns);
	return add_regions(p, l, ev, last, t, queued_ns);
}

static int add_to_lock(struct profile *p, struct lock *l, const struct event *ev)
{
	struct threads *ts = &p->targets[l->target]->threads;
	struct thread *t = NULL;

	if (ev->thread) {
		t = threads_get(ts, l->id, ev->thread, &l->threads);
		if (!t)
			return -ENOMEM;
	}
	switch (ev->kind) {
	case EVENT_OWNER:
		if (learn_owner(ts, l, ev, t))
			return -ENOMEM;
		return add_change(p, l, ev, t);
	case EVENT_STATE:
		if (learn_owner(ts, l, ev, t))
			return -ENOMEM;
		forget_regions(l);
		return lock_state(l, ev, t);
	case EVENT_QUEUE:
		return t ? add_change(p, l, ev, t) : 0;
	case EVENT_CALL:
		if (t && t->region.start_ns)
			blocks_call(t, ev);
		return 0;
	case EVENT_STATE_QUEUED:
		if (t)
			lock_state_queued(l, t);
		return 0;
	}
	return 0;
}

static int add_lock_event(struct profile *p, const struct event *ev)
{
	struct lock *l = lock_get(p, ev);

	if (!l)
		return -ENOMEM;
	if (ev->ts_ns < p->first_ns)
		p->first_ns = ev->ts_ns;
	if (ev->ts_ns > p->last_ns)
		p->last_ns = ev->ts_ns;
	switch (ev->kind) {
	case EVENT_ON_CPU:
	case EVENT_OFF_CPU:
		lock_cpu(l, ev);
		return 0;
	case EVENT_STATE_END:
		if (l->ractor <= 1)	/* the window ends; else perhaps only a Ractor does */
			waiters_forget(&p->targets[l->target]->waiters);
		return lock_state_end(l, ev);
	}
	return add_to_lock(p, l, ev);
}

static int add_waiter(struct profile *p, const struct event *ev)
{
	struct profile_target *target = target_get(p, ev->target);

	return target ? waiters_add(&target->waiters, ev) : -ENOMEM;
}

/* The thread that scans holds its lock. */
static int add_scan(struct profile *p, const struct event *ev)
{
	struct profile_target *target = target_get(p, ev->target);
	const struct lock *l = ev->lock < p->nr_locks ? p->locks[ev->lock] : NULL;

	if (!target)
		return -ENOMEM;
	return closes_scan(&p->closes, ev, l, waiters_scan(&target->waiters, ev));
}

/* Addresses of user space have 47 bits, or 56 where asked for, which nobody's libraries do. */
static uint64_t function_key(uint16_t target, uint64_t addr)
{
	return addr ? addr ^ (uint64_t)target << 48 : 0;
}

static int add_symbol(struct profile *p, const struct event *ev)
{
	uint64_t key = function_key(ev->target, ev->thread);
	char *name;

	if (!ev->thread || map_get(&p->functions, key))
		return 0;
	name = strdup(ev->text);
	if (!name || map_put(&p->functions, key, (uint64_t)name)) {
		free(name);
		return -ENOMEM;
	}
	return 0;
}

const char *profile_function(const struct profile *p, uint64_t key)
{
	uint64_t *at = key ? map_get(&p->functions, key) : NULL;

	return at ? (const char *)*at : NULL;
}

static int add_copy(struct profile *p, const struct event *ev)
{
	const struct lock *l = ev->lock < p->nr_locks ? p->locks[ev->lock] : NULL;
	uint64_t function = function_key(ev->target, ev->thread);

	return ev->kind == EVENT_COPY ? copies_add(&p->copies, ev, function, l) :
					copies_tally(&p->copies, ev, function);
}

/* The thread that is about to release its lock. */
static void add_function(struct profile *p, const struct event *ev)
{
	const struct lock *l = ev->lock < p->nr_locks ? p->locks[ev->lock] : NULL;

	if (l && l->phase == LOCK_SEEN && l->hold.owner)
		l->hold.owner->next_function = function_key(ev->target, ev->thread);
}

static int add_lock(struct profile *p, const struct event *ev)
{
	struct lock *l = lock_get(p, ev);

	if (!l)
		return -ENOMEM;
	l->addr = ev->thread;
	l->ractor = ev->seq;
	return 0;
}

static int add_name(struct profile *p, const struct event *ev)
{
	struct profile_target *target = target_get(p, ev->target);

	if (!target)
		return -ENOMEM;
	return threads_name(&target->threads, ev->thread, ev->tid, ev->text);
}

static int add_exit(struct profile *p, const struct event *ev)
{
	struct profile_target *target = target_get(p, ev->target);
	struct thread *t;

	closes_exit(&p->closes, ev->target, ev->tid);
	if (!target || threads_exit(&target->threads, ev->tid, ev->text, &t))
		return -ENOMEM;
	for (; t; t = t->next_known) {
		if (!t->is_ended || t->tid != ev->tid || t->lock == THREAD_NO_LOCK)
			continue;
		if (lock_thread_exit(p->locks[t->lock], ev, t))
			return -ENOMEM;
	}
	return 0;
}

static int add_life(struct profile *p, const struct event *ev)
{
	struct profile_target *target = target_get(p, ev->target);

	if (!target)
		return -ENOMEM;
	if (p->nr_life < PROFILE_LIFE_MAX)
		p->life[p->nr_life] = (struct profile_life){
			.ts_ns = ev->ts_ns, .target = ev->target, .kind = ev->kind,
			.child = ev->kind == EVENT_FORK ? ev->thread : 0,
		};
	p->nr_life++;
	if (ev->kind == EVENT_FORK)
		return 0;
	for (struct lock *l = target->locks; l; l = l->next_of_target)
		if (lock_end(l, ev->ts_ns))
			return -ENOMEM;
	return 0;
}

static int add(struct profile *p, const struct event *ev)
{
	p->closes.switches += ev->kind == EVENT_OWNER || ev->kind == EVENT_QUEUE;
	switch (ev->kind) {
	case EVENT_LOCK:
		return add_lock(p, ev);
	case EVENT_NAME:
		return add_name(p, ev);
	case EVENT_EXIT:
		return add_exit(p, ev);
	case EVENT_FORK:
	case EVENT_EXEC:
	case EVENT_GONE:
		return add_life(p, ev);
	case EVENT_OWNER:
	case EVENT_QUEUE:
	case EVENT_ON_CPU:
	case EVENT_OFF_CPU:
	case EVENT_STATE:
	case EVENT_STATE_QUEUED:
	case EVENT_STATE_END:
	case EVENT_CALL:
		return add_lock_event(p, ev);
	case EVENT_LISTED:
	case EVENT_MATCHED:
		return add_waiter(p, ev);
	case EVENT_SCAN:
		return add_scan(p, ev);
	case EVENT_CLOSE:
		return closes_call(&p->closes, ev);
	case EVENT_CLOSER:
	case EVENT_FOREIGN:
		return closes_place(&p->closes, ev);
	case EVENT_SYMBOL:
		return add_symbol(p, ev);
	case EVENT_FUNCTION:
		add_function(p, ev);
		return 0;
	case EVENT_COPY:
	case EVENT_TALLY:
		return add_copy(p, ev);
	}
	return 0;
}

int profile_add(struct profile *p, const struct event *ev, struct err *e)
{
	return add(p, ev) ? err_nomem(e) : 0;
}

int profile_finish(struct profile *p, struct err *e)
{
	for (size_t i = 0; i < p->nr_locks; i++)
		if (p->locks[i] && lock_cut(p->locks[i]))
			return err_nomem(e);
	closes_finish(&p->closes);
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_blame(const void *a, const void *b)
{
	const struct thread *x = *(struct thread *const *)a, *y = *(struct thread *const *)b;
	int order = compare(y->blame_ns, x->blame_ns);

	if (!order)
		order = compare(y->hold_ns, x->hold_ns);
	if (!order)
		order = compare(y->wait_ns, x->wait_ns);
	if (!order)
		order = compare(x->tid, y->tid);
	return order ? order : compare(x->addr, y->addr);
}

const struct thread **profile_threads(const struct lock *l, size_t *nr)
{
	const struct thread **out;
	size_t n = 0;

	for (const struct thread *t = l->threads; t; t = t->next_of_lock)
		n += t->holds || t->waits;
	out = malloc((n + !n) * sizeof(*out));
	if (!out)
		return NULL;
	*nr = n;
	n = 0;
	for (const struct thread *t = l->threads; t; t = t->next_of_lock)
		if (t->holds || t->waits)
			out[n++] = t;
	qsort(out, *nr, sizeof(*out), by_blame);
	return out;
}
