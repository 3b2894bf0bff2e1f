// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/machine.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ref/copies.h"
#include "ref/crew.h"
#include "util/clock.h"
#include "util/scope.h"

#define MIB ((size_t)1024 * 1024)
#define COLD_BYTES (32 * MIB)		/* all that is read, and as much that is written: more than caches have */
#define TRANSITIONS 10000
#define MEMORIES 3			/* how fast pages are depends on where they lie */

/* A lock of one's own, owned, and a thread of it. */
struct owner {
	struct ref_lock lock;
	struct ref_thread me;
};

static int owner_init(struct owner *o, struct err *e)
{
	int err = ref_lock_init(&o->lock, REF_LOCK_33, REF_QUANTUM_NS);

	if (err)
		return err_sys(e, -err, "cannot make a lock");
	ref_thread_init(&o->me, &o->lock);
	ref_lock_acquire(&o->lock, &o->me);
	return 0;
}

/* It owns the lock still. */
static void owner_release(struct owner *o)
{
	ref_lock_drop(&o->lock, &o->me);
	ref_thread_destroy(&o->me);
	ref_lock_destroy(&o->lock);
}

struct pair {
	struct ref_buffer to, from;
	size_t bytes, at;		/* of a copy; where the next one is */
	uint32_t copies;
	size_t threshold;
	uint64_t begin_ns, end_ns;
};

static void pair_release(struct pair *p)
{
	ref_buffer_free(&p->to);
	ref_buffer_free(&p->from);
}

static int pair_init(struct pair *p, size_t size, struct err *e)
{
	int err;

	*p = (struct pair){ 0 };
	err = ref_buffer_init(&p->to, size, true);
	if (!err)
		err = ref_buffer_init(&p->from, size, true);
	if (!err)
		return 0;
	pair_release(p);
	return err_sys(e, -err, "memory to copy");
}

static void copy_all(void *arg, struct ref_thread *me)
{
	struct pair *p = arg;

	p->begin_ns = clock_now_ns();
	for (uint32_t i = 0; i < p->copies; i++) {
		struct ref_buffer to = { .base = p->to.base + p->at, .size = p->bytes };
		struct ref_buffer from = { .base = p->from.base + p->at, .size = p->bytes };

		ref_copy(me->lock, me, &to, &from, p->bytes, p->threshold);
		p->at = p->at + 2 * p->bytes > p->to.size ? 0 : p->at + p->bytes;
	}
	p->end_ns = clock_now_ns();
}

/* How long all of @pairs were at it: together, or one after the other without what lies between them. */
static uint64_t copying_ns(const struct pair *pairs, uint32_t nr)
{
	uint64_t end_ns = 0, sum_ns = 0;

	for (uint32_t i = 0; i < nr; i++) {
		sum_ns += pairs[i].end_ns - pairs[i].begin_ns;
		if (pairs[i].end_ns > end_ns)
			end_ns = pairs[i].end_ns;
	}
	return pairs[0].threshold == REF_COPY_NEVER ? sum_ns : end_ns - pairs[0].begin_ns;
}

/* Adds to @latency_ns how long the first of them took to begin. */
static int bandwidth_measure(struct sample *s, struct sample *latency_ns, struct owner *o,
			     struct pair *pairs, uint32_t nr, const struct places *places,
			     size_t threshold, struct err *e)
{
	uint64_t begin_ns;
	struct crew crew;
	int err;

	for (uint32_t i = 0; i < nr; i++)
		pairs[i].threshold = threshold;
	err = crew_start_at(&crew, places, &o->lock, nr, copy_all, pairs, sizeof(*pairs), e);
	begin_ns = clock_now_ns();
	ref_lock_drop(&o->lock, &o->me);
	crew_join(&crew);
	ref_lock_acquire(&o->lock, &o->me);
	if (err)
		return err;
	if (sample_add(s, (double)nr * pairs[0].copies * pairs[0].bytes * NS_PER_SEC / copying_ns(pairs, nr)) ||
	    sample_add(latency_ns, pairs[0].begin_ns - begin_ns))
		return err_nomem(e);
	return 0;
}

static int transition_measure(struct sample *s, struct owner *o, struct err *e)
{
	uint64_t begin_ns = clock_now_ns();

	for (int i = 0; i < TRANSITIONS; i++) {
		ref_lock_drop(&o->lock, &o->me);
		ref_lock_acquire(&o->lock, &o->me);
	}
	if (sample_add(s, (double)(clock_now_ns() - begin_ns) / TRANSITIONS))
		return err_nomem(e);
	return 0;
}

static uint32_t nr_cores(void)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	return nr < 1 ? 1 : nr < CREW_MAX ? nr : CREW_MAX;
}

static int measure_once(struct machine *m, struct owner *o, struct pair *pairs, uint32_t nr,
			const struct places *places, struct err *e)
{
	int err = bandwidth_measure(&m->bandwidth_1, &m->latency_ns, o, pairs, nr, places,
				    REF_COPY_NEVER, e);

	if (!err)
		err = bandwidth_measure(&m->bandwidth_all, &m->latency_ns, o, pairs, nr, places,
					REF_COPY_ALWAYS, e);
	return err ? err : transition_measure(&m->transition_ns, o, e);
}

void machine_release(struct machine *m)
{
	sample_release(&m->bandwidth_1);
	sample_release(&m->bandwidth_all);
	sample_release(&m->transition_ns);
	sample_release(&m->latency_ns);
}

/* Those of the @run-th of @runs: all that are known have their turn. */
static const struct places *places_of(const struct machine_load *load, uint32_t run, uint32_t runs)
{
	static const struct places anywhere;
	const struct placements *all = load->placements;

	return all && all->nr ? &all->at[(uint64_t)run * all->nr / runs] : &anywhere;
}

/* Those of @runs from @run until @end: they share their memory. */
static int measure(struct machine *m, struct owner *o, const struct machine_load *load, uint32_t nr,
		   uint32_t run, uint32_t end, uint32_t runs, struct err *e)
{
	struct pair pairs[CREW_MAX] = { 0 };
	size_t room = load->bytes > COLD_BYTES / nr ? load->bytes : COLD_BYTES / nr;
	auto_release(machine_release) struct machine first = { 0 };	/* is slower, and does not count */
	int err = 0;

	for (uint32_t i = 0; i < nr && !err; i++) {
		err = pair_init(&pairs[i], room, e);
		pairs[i].bytes = load->bytes;
		pairs[i].copies = load->copies;
	}
	if (!err)
		err = measure_once(&first, o, pairs, nr, places_of(load, run, runs), e);
	for (uint32_t i = run; i < end && !err; i++)
		err = *load->is_interrupted ? -EINTR :
		      measure_once(m, o, pairs, nr, places_of(load, i, runs), e);
	for (uint32_t i = 0; i < nr; i++)
		pair_release(&pairs[i]);
	return err;
}

int machine_measure(struct machine *m, const struct machine_load *load, uint32_t runs, struct err *e)
{
	struct owner o;
	int err = owner_init(&o, e);

	if (err)
		return err;
	m->cores = nr_cores();
	for (uint32_t i = 0; i < MEMORIES && !err; i++)
		err = measure(m, &o, load, load->threads ? load->threads : m->cores,
			      i * runs / MEMORIES, (i + 1) * runs / MEMORIES, runs, e);
	owner_release(&o);
	return err;
}

int machine_copies(const size_t *sizes, size_t nr, bool is_cold, double *ns, struct err *e)
{
	auto_release(pair_release) struct pair p = { 0 };
	size_t room = is_cold ? COLD_BYTES : 0, at = 0;
	int err;

	for (size_t i = 0; i < nr; i++)
		if (sizes[i] > room)
			room = sizes[i];
	err = pair_init(&p, room, e);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++) {
		uint64_t begin_ns;

		if (!is_cold)
			memmove(p.to.base, p.from.base, sizes[i]);
		if (at + sizes[i] > room)
			at = 0;
		begin_ns = clock_now_ns();
		memmove(p.to.base + at, p.from.base + at, sizes[i]);
		ns[i] = clock_now_ns() - begin_ns;
		at += is_cold ? sizes[i] : 0;
	}
	return 0;
}
