// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/sharing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/scope.h"

double sharing_speed(const struct sharing *sh, uint32_t k)
{
	double running = sh->cpus && sh->cpus < k ? sh->cpus : k;

	if (sh->bandwidth_1 > 0 && running * sh->bandwidth_1 > sh->bandwidth_all)
		running = sh->bandwidth_all / sh->bandwidth_1;
	return running / k;
}

/* A recorded copy without the lock begins or ends. */
struct edge {
	uint64_t ns;
	uint32_t act;
	bool is_begin;
};

/* A copy that took no time begins first. */
static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns) : y->is_begin - x->is_begin;
}

/* Those of one thread; returns how many there are now. */
static uint32_t edges_add(struct edge *edges, uint32_t nr, const struct episode *ep, uint32_t segment)
{
	uint64_t gave_ns = 0;

	while (segment != SCHEDULE_NONE) {
		const struct segment *s = &ep->segments[segment];

		for (uint32_t i = s->act; i != SCHEDULE_NONE; i = ep->acts[i].next) {
			const struct act *a = &ep->acts[i];

			if (!act_was_outside(a))
				break;
			edges[nr++] = (struct edge){ gave_ns + a->at_ns, i, true };
			edges[nr++] = (struct edge){ gave_ns + a->at_ns + a->dur_ns, i, false };
		}
		gave_ns += s->off_ns + s->wait_ns + s->work_ns;
		gave_ns += s->flags & SEGMENT_INSIDE ? s->latency_ns : 0;
		segment = s->next;
	}
	return nr;
}

int sharing_alone(double *alone, const struct episode *ep, const struct sharing *sh)
{
	auto_free struct edge *edges = calloc(2 * (size_t)ep->nr_acts + 1, sizeof(*edges));
	uint32_t nr = 0, copying = 0;
	double done = 0;

	if (!edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < ep->nr_threads; i++)
		nr = edges_add(edges, nr, ep, ep->threads[i].first);
	qsort(edges, nr, sizeof(*edges), by_time);
	for (uint32_t i = 0; i < nr; i++) {
		const struct edge *at = &edges[i];

		if (copying)
			done += sharing_speed(sh, copying) * (at->ns - edges[i - 1].ns);
		copying += at->is_begin ? 1 : -1;
		alone[at->act] = at->is_begin ? done : done - alone[at->act];
	}
	return 0;
}
