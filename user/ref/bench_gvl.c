// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What releasing the lock and taking it again costs, by one thread and by many: each computes for a
 * microsecond with the lock, then lets it go and wants it again. The time from each release until
 * somebody has the lock counts, less what reading the clock takes.
 */
#include "ref/bench.h"

#include <errno.h>

#include "ref/crew.h"
#include "render/unit.h"
#include "util/clock.h"
#include "util/scope.h"

#define ROUND_NS (20 * NS_PER_MS)
#define WORK_NS NS_PER_US	/* with less, the mutex in the lock is hardly ever free */
#define CLOCK_READS 1000
#define RUNS 25

static const uint32_t thread_counts[] = { 1, 2, 4, 8 };

enum { NR_COUNTS = ARRAY_LEN(thread_counts), NR_CELLS = REF_LOCK_DESIGNS * NR_COUNTS };

struct cell {
	enum ref_lock_design design;
	uint32_t nr_threads;
	struct sample ns;	/* from a release until somebody has the lock: the mean of a round */
	struct sample handed;	/* share of those in which that was another thread */
	struct sample handoff_ns;	/* the mean of these */
};

struct gvl_bench {
	struct cell cells[NR_CELLS];
};

/* Members are used only with the lock held. */
struct round {
	const struct ref_thread *last;	/* who has released it */
	uint64_t begin_ns, released_ns, taken_ns;
	uint64_t nr, ns;
	uint64_t nr_handed, handed_ns;
};

static bool is_over(const struct round *r)
{
	return r->taken_ns > r->begin_ns + ROUND_NS;
}

static void lock_goes(struct round *r, const struct ref_thread *me)
{
	r->last = me;
	r->released_ns = clock_now_ns();
}

static void lock_taken(struct round *r, const struct ref_thread *me)
{
	r->taken_ns = clock_now_ns();
	r->nr++;
	r->ns += r->taken_ns - r->released_ns;
	if (me == r->last)
		return;
	r->nr_handed++;
	r->handed_ns += r->taken_ns - r->released_ns;
}

/* Behind each blocking call Ruby looks for interrupts (thread.c, rb_nogvl()), and may yield. */
static void member_run(void *arg, struct ref_thread *me)
{
	struct round *r = arg;

	while (!is_over(r)) {
		while (clock_now_ns() < r->taken_ns + WORK_NS)
			;
		lock_goes(r, me);
		ref_lock_drop(me->lock, me);
		ref_lock_acquire(me->lock, me);
		lock_taken(r, me);
		lock_goes(r, me);
		if (ref_lock_check(me->lock, me))
			lock_taken(r, me);
	}
}

static int round_run(const struct cell *c, struct round *r, struct err *e)
{
	struct ref_thread me;
	struct ref_lock l;
	struct crew crew;
	int err = ref_lock_init(&l, c->design, REF_QUANTUM_NS);

	if (err)
		return err_sys(e, -err, "cannot start a thread");
	ref_thread_init(&me, &l);
	ref_lock_acquire(&l, &me);
	err = crew_start(&crew, &l, c->nr_threads, member_run, r, 0, e);
	r->begin_ns = clock_now_ns();
	ref_lock_drop(&l, &me);
	crew_join(&crew);
	ref_thread_destroy(&me);
	ref_lock_destroy(&l);
	return err;
}

static double clock_cost_ns(void)
{
	uint64_t begin_ns = clock_now_ns(), ns = begin_ns;

	for (int i = 0; i < CLOCK_READS; i++)
		ns = clock_now_ns();
	return (double)(ns - begin_ns) / CLOCK_READS;
}

static int cell_measure(struct cell *c, struct err *e)
{
	double clock_ns = clock_cost_ns();
	struct round r = { 0 };
	int err = round_run(c, &r, e);

	if (err)
		return err;
	if (sample_add(&c->ns, (double)r.ns / r.nr - clock_ns) ||
	    sample_add(&c->handed, (double)r.nr_handed / r.nr))
		return err_nomem(e);
	if (r.nr_handed && sample_add(&c->handoff_ns, (double)r.handed_ns / r.nr_handed - clock_ns))
		return err_nomem(e);
	return 0;
}

/* Every cell once, in random order. */
static int run_measure(struct gvl_bench *b, const struct bench_options *o, uint64_t *seed,
		       struct err *e)
{
	uint32_t order[NR_CELLS] = { 0 };

	for (uint32_t i = 0; i < NR_CELLS; i++) {
		uint32_t k = random_next(seed) % (i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (uint32_t i = 0; i < NR_CELLS; i++) {
		int err = *o->is_interrupted ? -EINTR : cell_measure(&b->cells[order[i]], e);

		if (err)
			return err;
	}
	return 0;
}

static int number(struct findings *f, const struct sample *s)
{
	struct figure v;

	if (sample_figure(s, &v))
		return -ENOMEM;
	findings_figure(f, v.nr ? &v : NULL);
	return 0;
}

static int table_tell(const struct gvl_bench *b, struct findings *f)
{
	static const struct findings_column columns[] = {
		{ "design", "lock of", FINDING_LABEL },
		{ "case", "case", FINDING_LABEL },
		{ "threads", "threads", FINDING_COUNT },
		{ "ns", "release and acquire", FINDING_NS },
		{ "handed", "another takes it", FINDING_SHARE },
		{ "handoff_ns", "until it has it", FINDING_NS },
	};

	findings_table(f, "transition", "Releasing the lock and taking it again", columns,
		       ARRAY_LEN(columns));
	for (uint32_t i = 0; i < NR_CELLS; i++) {
		const struct cell *c = &b->cells[i];

		findings_label(f, ref_lock_name(c->design));
		findings_label(f, c->nr_threads > 1 ? "contended" : "alone");
		findings_number(f, c->nr_threads);
		if (number(f, &c->ns) || number(f, &c->handed) || number(f, &c->handoff_ns))
			return -ENOMEM;
	}
	return 0;
}

static int ratio_tell(const struct gvl_bench *b, struct findings *f)
{
	const struct cell *old = &b->cells[REF_LOCK_31 * NR_COUNTS];
	const struct cell *new = &b->cells[REF_LOCK_33 * NR_COUNTS];
	const struct cell *old_most = &old[NR_COUNTS - 1], *new_most = &new[NR_COUNTS - 1];
	struct figure ratio;

	if (sample_ratio(&old_most->ns, &new_most->ns, &ratio))
		return -ENOMEM;
	if (!ratio.nr)
		return 0;
	findings_say(f, "One thread alone releases the lock and has it again after %s with the lock "
		     "of Ruby 3.1, after %s with that of 3.3.",
		     unit_ns_real(sample_median(&old->ns)).text,
		     unit_ns_real(sample_median(&new->ns)).text);
	findings_say(f, "Where %u threads want it, it takes %s as long from a release until "
		     "somebody has the lock with that of 3.3: another thread in %s of the cases "
		     "(3.1: %s).",
		     new_most->nr_threads, unit_ratio(ratio.value).text,
		     unit_share(sample_median(&new_most->handed)).text,
		     unit_share(sample_median(&old_most->handed)).text);
	findings_fact(f, "contended_ratio", "Most contended, lock of 3.3 to that of 3.1",
		      FINDING_RATIO, &ratio);
	return 0;
}

static void scope_bench(struct gvl_bench *b)
{
	for (uint32_t i = 0; i < NR_CELLS; i++) {
		sample_release(&b->cells[i].ns);
		sample_release(&b->cells[i].handed);
		sample_release(&b->cells[i].handoff_ns);
	}
}

int bench_gvl(struct findings *f, const struct bench_options *o, struct err *e)
{
	auto_release(scope_bench) struct gvl_bench b = { 0 };
	uint32_t runs = o->runs ? o->runs : RUNS;
	uint64_t seed = clock_now_ns();
	int err = 0;

	for (uint32_t i = 0; i < NR_CELLS; i++) {
		b.cells[i].design = i / NR_COUNTS;
		b.cells[i].nr_threads = thread_counts[i % NR_COUNTS];
	}
	for (uint32_t i = 0; i < runs && !err; i++)
		err = run_measure(&b, o, &seed, e);
	if (err && err != -EINTR)
		return err;
	if (ratio_tell(&b, f) || table_tell(&b, f))
		return err_nomem(e);
	return err;
}
