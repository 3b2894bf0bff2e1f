// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/sweep.h"

#include <errno.h>
#include <time.h>

#include "ref/copies.h"
#include "ref/crew.h"
#include "render/unit.h"
#include "util/clock.h"
#include "util/scope.h"

#define MIN_BYTES ((size_t)4096)
#define MAX_BYTES ((size_t)8 * 1024 * 1024)
#define NR_SIZES 12
_Static_assert(MIN_BYTES << (NR_SIZES - 1) == MAX_BYTES, "sizes by factors of 2");

#define RUN_NS (25 * NS_PER_MS)		/* at least, and at least one copy */
#define HOLD_NS (50 * NS_PER_US)	/* of who waits for the lock, and its pause */
#define UNIT_STEPS 2000			/* of computing, some microseconds */
#define CALIBRATIONS 5
#define RUNS 15
#define RIVAL_EVERY 3			/* runs: its quantum is long */
#define CHEAP_PERCENT 2		/* of a copy: what releasing may cost who copies alone */

enum situation { ALONE, ONE, FOUR, RIVAL, SITUATIONS };
enum mode { HELD, RELEASED, MODES };

static crew_run waiter_run, rival_run;

static const struct {
	const char *name, *with, *key, *title;
	uint32_t nr_threads;
	crew_run *run;
} situations[SITUATIONS] = {
	[ALONE] = { "alone", "Alone", "pays_from_alone", "pays alone from", 0, NULL },
	[ONE] = { "one waiter", "With one waiter", "pays_from_one", "pays with one waiter from",
		  1, waiter_run },
	[FOUR] = { "four waiters", "With four waiters", "pays_from_k",
		   "pays with four waiters from", 4, waiter_run },
	[RIVAL] = { "cpu-bound rival", "With a rival that computes", "pays_from_rival",
		    "pays with a rival that computes from", 1, rival_run },
};

static const size_t thresholds[] = { [HELD] = REF_COPY_NEVER, [RELEASED] = REF_COPY_ALWAYS };

/* Another thread, that computes with the lock. Both members are atomic. */
struct other {
	const struct sweep *sweep;
	uint64_t units;		/* of computing, done */
};

struct cell {
	struct sample copier_ns[MODES];		/* of a copy, until the lock is there again */
	struct sample work[MODES];		/* useful time in a unit of time */
};

struct sweep {
	const struct bench_options *options;
	uint32_t runs;
	uint64_t seed;
	struct ref_lock *lock;
	struct ref_thread me;
	struct ref_buffer to, from;
	struct other others[CREW_MAX];
	bool is_over;				/* atomic: the others are to end */
	double unit_ns, copy_ns[NR_SIZES];	/* what each takes alone: its worth */
	struct cell cells[SITUATIONS][NR_SIZES];
};

static void compute(struct other *o)
{
	uint64_t state = o->units;

	for (int i = 0; i < UNIT_STEPS; i++)
		random_next(&state);
	__asm__ volatile("" : : "r"(state));
	__atomic_fetch_add(&o->units, 1, __ATOMIC_RELAXED);
}

static bool is_over(const struct other *o)
{
	return __atomic_load_n(&o->sweep->is_over, __ATOMIC_RELAXED);
}

static void waiter_run(void *arg, struct ref_thread *me)
{
	static const struct timespec pause = { .tv_nsec = HOLD_NS };
	struct other *o = arg;

	while (!is_over(o)) {
		for (double ns = 0; ns < HOLD_NS; ns += o->sweep->unit_ns)
			compute(o);
		ref_lock_drop(me->lock, me);
		nanosleep(&pause, NULL);
		ref_lock_acquire(me->lock, me);
	}
}

static void rival_run(void *arg, struct ref_thread *me)
{
	struct other *o = arg;

	while (!is_over(o)) {
		compute(o);
		ref_lock_check(me->lock, me);
	}
}

static uint64_t units_done(const struct sweep *s)
{
	uint64_t units = 0;

	for (int i = 0; i < CREW_MAX; i++)
		units += __atomic_load_n(&s->others[i].units, __ATOMIC_RELAXED);
	return units;
}

/* What the copier sees in one run. */
struct run {
	uint64_t copies, copies_ns, units, wall_ns;
};

/* The caller owns the lock, and the others wait for it. */
static void run_copies(struct sweep *s, size_t bytes, enum mode mode, struct run *out)
{
	uint64_t units = units_done(s), begin_ns = clock_now_ns(), end_ns;

	*out = (struct run){ 0 };
	do {
		uint64_t copy_ns;

		ref_lock_drop(s->lock, &s->me);
		ref_lock_acquire(s->lock, &s->me);
		copy_ns = clock_now_ns();
		ref_copy(s->lock, &s->me, &s->to, &s->from, bytes, thresholds[mode]);
		end_ns = clock_now_ns();
		out->copies_ns += end_ns - copy_ns;
		out->copies++;
	} while (end_ns - begin_ns < RUN_NS);
	out->wall_ns = end_ns - begin_ns;
	out->units = units_done(s) - units;
}

static int run_beside(struct sweep *s, enum situation situation, size_t bytes, enum mode mode,
		      struct run *out, struct err *e)
{
	struct crew crew;
	int err;

	s->is_over = false;
	ref_lock_acquire(s->lock, &s->me);
	err = crew_start(&crew, s->lock, situations[situation].nr_threads,
			 situations[situation].run, s->others, sizeof(*s->others), e);
	if (!err)
		run_copies(s, bytes, mode, out);
	__atomic_store_n(&s->is_over, true, __ATOMIC_RELAXED);
	ref_lock_drop(s->lock, &s->me);
	crew_join(&crew);
	return err;
}

static int cell_measure(struct sweep *s, enum situation situation, size_t size, enum mode mode,
			struct err *e)
{
	struct cell *cell = &s->cells[situation][size];
	struct run run;
	double useful_ns;
	int err = run_beside(s, situation, MIN_BYTES << size, mode, &run, e);

	if (err)
		return err;
	useful_ns = run.copies * s->copy_ns[size] + run.units * s->unit_ns;
	err = sample_add(&cell->copier_ns[mode], (double)run.copies_ns / run.copies);
	if (!err)
		err = sample_add(&cell->work[mode], useful_ns / run.wall_ns);
	return err ? err_nomem(e) : 0;
}

/* One mode after the other, in random order. */
static int pair_measure(struct sweep *s, enum situation situation, size_t size, struct err *e)
{
	enum mode first = random_next(&s->seed) & 1;
	int err;

	if (*s->options->is_interrupted)
		return -EINTR;
	err = cell_measure(s, situation, size, first, e);
	return err ? err : cell_measure(s, situation, size, !first, e);
}

static int measure(struct sweep *s, struct err *e)
{
	for (uint32_t run = 0; run < s->runs; run++)
		for (int situation = 0; situation < SITUATIONS; situation++) {
			if (situation == RIVAL && run % RIVAL_EVERY)
				continue;
			for (size_t size = 0; size < NR_SIZES; size++) {
				int err = pair_measure(s, situation, size, e);

				if (err)
					return err;
			}
		}
	return 0;
}

static double unit_measure(struct other *o)
{
	uint64_t before = o->units, begin_ns = clock_now_ns(), ns;

	do {
		compute(o);
		ns = clock_now_ns() - begin_ns;
	} while (ns < RUN_NS);
	return (double)ns / (o->units - before);
}

static double copy_measure(struct sweep *s, size_t bytes)
{
	struct run run;

	ref_lock_acquire(s->lock, &s->me);
	run_copies(s, bytes, HELD, &run);
	ref_lock_drop(s->lock, &s->me);
	return (double)run.copies_ns / run.copies;
}

/* What a unit of computing and a copy of each size take alone: where least disturbed. */
static void calibrate(struct sweep *s)
{
	for (int i = 0; i < CALIBRATIONS && !*s->options->is_interrupted; i++) {
		double ns = unit_measure(&s->others[0]);

		if (!i || ns < s->unit_ns)
			s->unit_ns = ns;
		for (int size = 0; size < NR_SIZES; size++) {
			ns = copy_measure(s, MIN_BYTES << size);
			if (!i || ns < s->copy_ns[size])
				s->copy_ns[size] = ns;
		}
	}
}

static const struct findings_column columns[] = {
	{ "situation", "beside the copier", FINDING_LABEL },
	{ "bytes", "size", FINDING_BYTES },
	{ "held_ns", "copy, lock held", FINDING_NS },
	{ "released_ns", "copy, released", FINDING_NS },
	{ "work_ratio", "useful work, released / held", FINDING_RATIO },
};

static struct figure work_ratio(struct findings *f, const struct cell *cell)
{
	struct figure v = { 0 };

	if (sample_ratio(&cell->work[HELD], &cell->work[RELEASED], &v))
		f->is_broken = true;
	return v;
}

static void report_table(struct findings *f, const struct sweep *s)
{
	findings_table(f, "sweep", "Copies by size, and what else wants the lock", columns,
		       ARRAY_LEN(columns));
	for (int situation = 0; situation < SITUATIONS; situation++)
		for (int size = 0; size < NR_SIZES; size++) {
			const struct cell *cell = &s->cells[situation][size];
			struct figure held = { 0 }, released = { 0 }, ratio = work_ratio(f, cell);

			if (sample_figure(&cell->copier_ns[HELD], &held) ||
			    sample_figure(&cell->copier_ns[RELEASED], &released))
				f->is_broken = true;
			findings_label(f, situations[situation].name);
			findings_number(f, MIN_BYTES << size);
			findings_figure(f, &held);
			findings_figure(f, &released);
			findings_figure(f, &ratio);
		}
}

static bool pays(const struct figure *ratio)
{
	return ratio->nr && ratio->low > 1;
}

static bool is_no_loss(const struct figure *ratio)
{
	return ratio->nr && ratio->high >= 1;
}

/* The first size from which on @is_good holds of the work's ratio; NR_SIZES: there is none. */
static int good_from(struct findings *f, const struct sweep *s, enum situation situation,
		     bool (*is_good)(const struct figure *ratio))
{
	int from = NR_SIZES;

	while (from > 0) {
		struct figure ratio = work_ratio(f, &s->cells[situation][from - 1]);

		if (!is_good(&ratio))
			break;
		from--;
	}
	return from;
}

/*
 * The first size from which on releasing is cheap alone: by what it adds to the smallest copy,
 * where it shows best. NR_SIZES: there is none.
 */
static int cheap_from(const struct sweep *s)
{
	const struct cell *cells = s->cells[ALONE];
	double cost_ns = sample_median(&cells[0].copier_ns[RELEASED]) -
			 sample_median(&cells[0].copier_ns[HELD]);
	int from = NR_SIZES;

	while (from > 0 && cost_ns <= CHEAP_PERCENT / 100.0 * sample_median(&cells[from - 1].copier_ns[HELD]))
		from--;
	return from;
}

static void fact_bytes(struct findings *f, const char *key, const char *title, int size)
{
	double bytes = MIN_BYTES << size;

	findings_fact(f, key, title, FINDING_BYTES,
		      &(struct figure){ bytes, bytes, bytes, bytes, bytes, 1 });
}

static struct unit size_text(int size)
{
	return unit_bytes(MIN_BYTES << size);
}

static void report_situation(struct findings *f, const struct sweep *s, enum situation situation)
{
	int from = good_from(f, s, situation, pays);
	struct figure ratio = work_ratio(f, &s->cells[situation][NR_SIZES - 1]);

	if (from == NR_SIZES) {
		findings_say(f, "%s there is no size up to %s from which on releasing surely pays: "
			     "it is %.3f times the useful work there (%.3f to %.3f).",
			     situations[situation].with, size_text(NR_SIZES - 1).text,
			     ratio.value, ratio.low, ratio.high);
		return;
	}
	fact_bytes(f, situations[situation].key, situations[situation].title, from);
	findings_say(f, "%s releasing pays from %s on; it is %.3f times the useful work at %s "
		     "(%.3f to %.3f).", situations[situation].with, size_text(from).text,
		     ratio.value, size_text(NR_SIZES - 1).text, ratio.low, ratio.high);
}

/* What the copier has of it. */
static void report_delay(struct findings *f, const struct sweep *s, enum situation situation,
			 int size)
{
	const struct cell *cell = &s->cells[situation][size];

	findings_say(f, "%s a copy of %s takes its thread %s released, until it has the lock "
		     "again, and %s held.", situations[situation].with, size_text(size).text,
		     unit_ns(sample_median(&cell->copier_ns[RELEASED])).text,
		     unit_ns(sample_median(&cell->copier_ns[HELD])).text);
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

static void report_threshold(struct findings *f, const struct sweep *s)
{
	static const char reason[] = "releasing pays with one waiter, shows no sure loss with "
				     "four, and adds at most 2 % to a copy alone";
	int size = larger(cheap_from(s), larger(good_from(f, s, ONE, pays),
						good_from(f, s, FOUR, is_no_loss)));

	_Static_assert(CHEAP_PERCENT == 2, "as the sentence says");
	if (size == NR_SIZES) {
		findings_say(f, "These figures recommend no threshold: there is no size from which "
			     "on %s.", reason);
		return;
	}
	fact_bytes(f, "recommended_threshold", "recommended threshold", size);
	findings_say(f, "A threshold of %s is recommended (Ruby 3.4 to 4.0 has %s): from there on "
		     "%s.", size_text(size).text, unit_bytes(REF_COPY_THRESHOLD).text, reason);
	report_delay(f, s, FOUR, size);
	report_delay(f, s, RIVAL, size);
}

static void report_sentences(struct findings *f, const struct sweep *s)
{
	findings_say(f, "Releasing the lock pays where more useful work is done in the same time: "
		     "copies and the other threads' computing, each counted as the time that it "
		     "takes alone. The 95 %% interval of released / held must lie above 1, there "
		     "and at all larger sizes.");
	for (int situation = 0; situation < SITUATIONS; situation++)
		report_situation(f, s, situation);
	report_threshold(f, s);
}

static void sweep_release(struct sweep *s)
{
	struct cell *cells = &s->cells[0][0];

	ref_buffer_free(&s->to);
	ref_buffer_free(&s->from);
	for (int i = 0; i < SITUATIONS * NR_SIZES; i++)
		for (int mode = 0; mode < MODES; mode++) {
			sample_release(&cells[i].copier_ns[mode]);
			sample_release(&cells[i].work[mode]);
		}
}

int bench_copy_sweep(struct findings *f, const struct bench_options *o, struct ref_lock *l,
		     struct err *e)
{
	auto_release(sweep_release) struct sweep s = {
		.options = o,
		.runs = o->runs ? o->runs : RUNS,
		.seed = 20902,
		.lock = l,
	};
	int err = ref_buffer_init(&s.to, MAX_BYTES, true);

	if (!err)
		err = ref_buffer_init(&s.from, MAX_BYTES, true);
	if (err)
		return err_sys(e, -err, "cannot map the buffers");
	for (int i = 0; i < CREW_MAX; i++)
		s.others[i].sweep = &s;
	ref_thread_init(&s.me, l);
	calibrate(&s);
	err = measure(&s, e);
	ref_thread_destroy(&s.me);
	if (err && err != -EINTR)
		return err;
	report_table(f, &s);
	if (!err)
		report_sentences(f, &s);
	return err;
}
