// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event/close.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event/waiters.h"

void closes_init(struct closes *c, const struct lock_window *w)
{
	*c = (struct closes){ .window = *w };
}

void closes_release(struct closes *c)
{
	for (size_t i = 0; i < c->open.nr_slots; i++)
		if (c->open.slots[i].key)
			free((void *)c->open.slots[i].value);
	map_release(&c->open);
	dist_release(&c->visited);
	dist_release(&c->matched);
	dist_release(&c->scan);
	dist_release(&c->wait);
	dist_release(&c->call);
	dist_release(&c->total);
	for (size_t i = 0; i < c->nr_places && i < CLOSES_PLACES; i++) {
		free(c->places[i].closer);
		free(c->places[i].waiter);
	}
	free(c->closer);
	closes_init(c, &c->window);
}

static bool is_inside(const struct closes *c, uint64_t ts_ns)
{
	return ts_ns >= c->window.from_ns && ts_ns < c->window.to_ns;
}

static uint64_t key_of(uint16_t target, uint32_t tid)
{
	return (uint64_t)target << 32 | tid | 1ULL << 63;
}

static struct close_one *open_of(const struct closes *c, uint16_t target, uint32_t tid)
{
	uint64_t *at = map_get(&c->open, key_of(target, tid));

	return at ? (struct close_one *)*at : NULL;
}

static void forget(struct closes *c, struct close_one *one)
{
	map_remove(&c->open, key_of(one->target, one->tid));
	free(one);
}

/* The standard streams' descriptors stay open (io.c, fptr_finalize_flush). */
static bool needs_call(const struct close_one *one)
{
	return one->fd > 2 && !(one->flags & SCAN_ALONE);
}

/* A close that is over without close(2). */
static void leave(struct closes *c, struct close_one *one)
{
	c->orphans += needs_call(one) && is_inside(c, one->start_ns);
	forget(c, one);
}

/* The longest closes in order, without those that were left: how long they took is not known. */
static void rank(struct closes *c, const struct close_one *one)
{
	size_t i = c->nr_worst < CLOSES_WORST ? c->nr_worst++ : CLOSES_WORST;

	while (i > 0 && c->worst[i - 1].total_ns < one->total_ns) {
		if (i < CLOSES_WORST)
			c->worst[i] = c->worst[i - 1];
		i--;
	}
	if (i < CLOSES_WORST)
		c->worst[i] = *one;
}

static int count_scan(struct closes *c, const struct close_one *one)
{
	c->count++;
	c->per_io += !!(one->flags & SCAN_PER_IO);
	c->visited_unknown += one->visited == WAITERS_UNKNOWN;
	if (one->visited != WAITERS_UNKNOWN && dist_add(&c->visited, one->visited))
		return -ENOMEM;
	if (!(one->flags & SCAN_UNTIMED) && dist_add(&c->scan, one->scan_ns))
		return -ENOMEM;
	return dist_add(&c->matched, one->matched);
}

/* Threads in a region that they released the lock for. */
static uint64_t nr_blocked(const struct lock *l)
{
	uint64_t nr = 0;

	for (const struct thread *t = l->threads; t; t = t->next_of_lock)
		nr += !t->is_ended && !t->is_queued && t->region.start_ns && !t->region.is_over;
	return nr;
}

int closes_scan(struct closes *c, const struct event *ev, const struct lock *l, uint64_t visited)
{
	const struct thread *owner = l && l->phase == LOCK_SEEN ? l->hold.owner : NULL;
	struct close_one *one = open_of(c, ev->target, ev->tid);

	if (one)
		leave(c, one);
	one = malloc(sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct close_one){
		.start_ns = ev->ts_ns - ev->dur_ns, .scan_ns = ev->dur_ns, .total_ns = ev->dur_ns,
		.visited = visited, .thread = owner ? owner->addr : 0, .matched = ev->nr, .tid = ev->tid,
		.fd = ev->fd, .target = ev->target, .flags = ev->flags, .switches = c->switches,
		.nr_queued = owner ? l->nr_queued : 0,
		.nr_blocked = owner && c->each ? nr_blocked(l) : 0,
	};
	if (map_put(&c->open, key_of(ev->target, ev->tid), (uint64_t)one)) {
		free(one);
		return -ENOMEM;
	}
	if (!is_inside(c, one->start_ns))
		return 0;
	if (!needs_call(one))
		rank(c, one);
	return count_scan(c, one);
}

/*
 * Between the scan and close(2) lies the wait for those that were interrupted, if there are any, or else
 * what Ruby does besides. (Unwritten output is written before the wait: it counts as part of it.)
 */
int closes_call(struct closes *c, const struct event *ev)
{
	struct close_one *one = open_of(c, ev->target, ev->tid);
	uint64_t start = ev->ts_ns - ev->dur_ns, scan_end, between;
	int err = 0;

	if (!one || one->fd != ev->fd)
		return 0;
	scan_end = one->start_ns + one->scan_ns;
	between = start > scan_end ? start - scan_end : 0;
	one->wait_ns = one->matched ? between : 0;
	one->call_ns = ev->dur_ns;
	one->call_flags = ev->flags;
	one->switches = c->switches - one->switches;
	one->total_ns = ev->ts_ns > one->start_ns ? ev->ts_ns - one->start_ns : 0;
	if (is_inside(c, one->start_ns)) {
		c->other_ns += one->matched ? 0 : between;
		c->held_ns += ev->flags & CLOSE_HELD ? ev->dur_ns : 0;
		rank(c, one);
		if (c->each)
			c->each(c->arg, one);
		if (dist_add(&c->wait, one->wait_ns) || dist_add(&c->call, one->call_ns) ||
		    dist_add(&c->total, one->total_ns))
			err = -ENOMEM;
	}
	forget(c, one);
	return err;
}

static int place(struct closes *c, const char *waiter)
{
	const char *closer = c->closer ? c->closer : "?";
	struct close_place *p;

	for (size_t i = 0; i < c->nr_places && i < CLOSES_PLACES; i++) {
		p = &c->places[i];
		if (strcmp(p->closer, closer) == 0 && strcmp(p->waiter, waiter) == 0) {
			p->count++;
			return 0;
		}
	}
	if (c->nr_places++ >= CLOSES_PLACES)
		return 0;
	p = &c->places[c->nr_places - 1];
	*p = (struct close_place){ strdup(closer), strdup(waiter), 1 };
	if (p->closer && p->waiter)
		return 0;
	free(p->closer);
	free(p->waiter);
	c->nr_places--;
	return -ENOMEM;
}

int closes_place(struct closes *c, const struct event *ev)
{
	if (ev->kind == EVENT_CLOSER) {
		free(c->closer);
		c->closer = strdup(ev->text);
		return c->closer ? 0 : -ENOMEM;
	}
	if (!is_inside(c, ev->ts_ns))
		return 0;
	c->foreign++;
	return place(c, ev->text);
}

void closes_exit(struct closes *c, uint16_t target, uint32_t tid)
{
	struct close_one *one = open_of(c, target, tid);

	if (one)
		leave(c, one);
}

void closes_finish(struct closes *c)
{
	c->unfinished = 0;
	for (size_t i = 0; i < c->open.nr_slots; i++) {
		struct map_slot *slot = &c->open.slots[i];
		struct close_one *one = (struct close_one *)slot->value;

		if (slot->key && needs_call(one) && is_inside(c, one->start_ns))
			c->unfinished++;
	}
}
