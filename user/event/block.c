// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event/block.h"

#include <errno.h>
#include <stdlib.h>

void blocks_init(struct blocks *b, const struct lock_window *w)
{
	*b = (struct blocks){ .window = *w };
}

void blocks_release(struct blocks *b)
{
	for (size_t i = 0; i < b->nr_groups; i++)
		dist_release(&b->groups[i].ns);
	free(b->groups);
	blocks_init(b, &b->window);
}

static struct block_group *group(struct blocks *b, const struct thread_region *r)
{
	struct block_group *groups;

	for (size_t i = 0; i < b->nr_groups; i++)
		if (b->groups[i].call == r->call && b->groups[i].file == r->file &&
		    b->groups[i].function == r->function)
			return &b->groups[i];
	groups = realloc(b->groups, (b->nr_groups + 1) * sizeof(*groups));
	if (!groups)
		return NULL;
	b->groups = groups;
	groups[b->nr_groups] = (struct block_group){
		.call = r->call, .file = r->file, .function = r->function,
	};
	return &groups[b->nr_groups++];
}

void blocks_begin(struct thread *t, uint64_t ts_ns)
{
	t->region = (struct thread_region){
		.start_ns = ts_ns, .call = BLOCK_NO_CALL, .function = t->next_function,
	};
	t->next_function = 0;
}

void blocks_call(struct thread *t, const struct event *ev)
{
	t->region.call = ev->nr;
	t->region.file = ev->count < FILE_KIND_END ? ev->count : FILE_NONE;
}

int blocks_end(struct blocks *b, struct thread *t, uint64_t ts_ns)
{
	const struct thread_region *r = &t->region;
	uint64_t start = r->start_ns;
	struct block_group *g;

	if (!start)
		return 0;
	t->region.start_ns = 0;
	t->region.is_over = true;
	if (ts_ns < b->window.from_ns || ts_ns >= b->window.to_ns)
		return 0;
	if (start < b->window.from_ns)
		start = b->window.from_ns;
	g = group(b, r);
	if (!g || dist_add(&g->ns, ts_ns - start))
		return -ENOMEM;
	g->is_short += ts_ns - start < BLOCK_SHORT_NS;
	return 0;
}

void blocks_waited(struct blocks *b, struct thread *t, uint64_t queued_ns, uint64_t ts_ns)
{
	uint64_t from = queued_ns > b->window.from_ns ? queued_ns : b->window.from_ns;
	uint64_t to = ts_ns < b->window.to_ns ? ts_ns : b->window.to_ns;

	if (t->region.is_over && from < to)
		b->wait_ns += to - from;
	t->region.is_over = false;
}

int blocks_sum(const struct blocks *b, struct dist *ns, uint64_t *nr_short)
{
	dist_init(ns);
	*nr_short = 0;
	for (size_t i = 0; i < b->nr_groups; i++) {
		*nr_short += b->groups[i].is_short;
		if (dist_merge(ns, &b->groups[i].ns))
			return -ENOMEM;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct block_group *x = *(const struct block_group *const *)a;
	const struct block_group *y = *(const struct block_group *const *)b;

	return (x->ns.sum < y->ns.sum) - (x->ns.sum > y->ns.sum);
}

const struct block_group **blocks_sorted(const struct blocks *b)
{
	const struct block_group **out = malloc((b->nr_groups + !b->nr_groups) * sizeof(*out));

	for (size_t i = 0; out && i < b->nr_groups; i++)
		out[i] = &b->groups[i];
	if (out)
		qsort(out, b->nr_groups, sizeof(*out), by_time);
	return out;
}
