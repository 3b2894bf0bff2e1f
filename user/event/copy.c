// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event/copy.h"

#include <errno.h>
#include <stdlib.h>

void copies_init(struct copies *c, const struct lock_window *w)
{
	*c = (struct copies){ .window = *w };
}

void copies_release(struct copies *c)
{
	for (size_t i = 0; i < c->nr_sites; i++)
		dist_release(&c->sites[i].ns);
	free(c->sites);
	free(c->sampled);
	copies_init(c, &c->window);
}

static bool is_inside(const struct copies *c, uint64_t ts_ns)
{
	return ts_ns >= c->window.from_ns && ts_ns < c->window.to_ns;
}

static struct copy_site *site(struct copies *c, uint64_t function, uint8_t flags)
{
	struct copy_site *sites;

	for (size_t i = 0; i < c->nr_sites; i++)
		if (c->sites[i].function == function && c->sites[i].flags == flags)
			return &c->sites[i];
	sites = realloc(c->sites, (c->nr_sites + 1) * sizeof(*sites));
	if (!sites)
		return NULL;
	c->sites = sites;
	sites[c->nr_sites] = (struct copy_site){ .function = function, .flags = flags };
	return &sites[c->nr_sites++];
}

/* Nobody leaves the queue of a lock while its owner copies. */
static uint64_t waited_meanwhile(const struct lock *l, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t sum = 0;

	if (!l || l->phase != LOCK_SEEN)
		return 0;
	for (const struct thread *t = l->first_queued; t; t = t->next_queued) {
		uint64_t from = t->queued_ns > start_ns ? t->queued_ns : start_ns;

		sum += from < end_ns ? end_ns - from : 0;
	}
	return sum;
}

static unsigned int slot_of(uint64_t bytes)
{
	return bytes ? 64 - __builtin_clzll(bytes) : 0;
}

int copies_add(struct copies *c, const struct event *ev, uint64_t function, const struct lock *l)
{
	uint64_t bytes = (uint64_t)ev->nr << 32 | ev->count;
	struct copy_site *s;

	if (!is_inside(c, ev->ts_ns - ev->dur_ns))
		return 0;
	s = site(c, function, ev->flags & ~COPY_UNTIMED);
	if (!s)
		return -ENOMEM;
	s->count++;
	s->bytes += bytes;
	s->sizes[slot_of(bytes)]++;
	if (ev->flags & COPY_UNTIMED) {
		c->tallied++;
		return 0;
	}
	s->timed_bytes += bytes;
	if (dist_add(&s->ns, ev->dur_ns))
		return -ENOMEM;
	if (ev->flags & COPY_HELD)
		s->blame_ns += waited_meanwhile(l, ev->ts_ns - ev->dur_ns, ev->ts_ns);
	return 0;
}

static int add_ticks(struct copies *c, uint64_t function, uint32_t count)
{
	struct copy_ticks *all;

	c->copy_ticks += count;
	for (size_t i = 0; i < c->nr_sampled; i++) {
		if (c->sampled[i].function != function)
			continue;
		c->sampled[i].count += count;
		return 0;
	}
	all = realloc(c->sampled, (c->nr_sampled + 1) * sizeof(*all));
	if (!all)
		return -ENOMEM;
	c->sampled = all;
	all[c->nr_sampled++] = (struct copy_ticks){ function, count };
	return 0;
}

int copies_tally(struct copies *c, const struct event *ev, uint64_t function)
{
	struct copy_site *s;

	if (!is_inside(c, ev->ts_ns))
		return 0;
	switch (ev->fd) {
	case TALLY_TICK:
		c->ticks += ev->count;
		return 0;
	case TALLY_TICK_COPY:
		return add_ticks(c, function, ev->count);
	case TALLY_COPY:
		s = site(c, function, ev->flags);
		if (!s)
			return -ENOMEM;
		s->count += ev->count;
		s->bytes += ev->dur_ns;
		s->sizes[ev->nr < COPY_SLOTS ? ev->nr : COPY_SLOTS - 1] += ev->count;
		c->tallied += ev->count;
		return 0;
	}
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct copy_site *x = *(const struct copy_site *const *)a;
	const struct copy_site *y = *(const struct copy_site *const *)b;

	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

const struct copy_site **copies_sorted(const struct copies *c)
{
	const struct copy_site **out = malloc((c->nr_sites + !c->nr_sites) * sizeof(*out));

	for (size_t i = 0; out && i < c->nr_sites; i++)
		out[i] = &c->sites[i];
	if (out)
		qsort(out, c->nr_sites, sizeof(*out), by_bytes);
	return out;
}
