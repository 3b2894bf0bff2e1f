// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of Ruby's feature 20902. Each of T threads copies between buffers of its own, so many
 * times that a round lasts some milliseconds; what a round of one copy each takes is told. Few
 * threads use as many pairs of buffers, by turns, as the most (1.3 GB), so that they have no more
 * of the processor's caches.
 */
#include "ref/bench.h"

#include <errno.h>

#include "ref/copies.h"
#include "ref/crew.h"
#include "ref/machine.h"
#include "ref/sweep.h"
#include "render/unit.h"
#include "util/clock.h"
#include "util/scope.h"

#define MIB ((size_t)1024 * 1024)
#define ROUND_BYTES (192 * MIB)		/* copied by all threads in a round, at least */
#define RUNS 9

static const uint32_t thread_counts[] = { 1, 2, 4, 8, 16, 32 };
static const size_t sizes[] = { 1 * MIB, 5 * MIB, 10 * MIB, 20 * MIB };

enum { NR_COUNTS = ARRAY_LEN(thread_counts), NR_SIZES = ARRAY_LEN(sizes) };
enum mode { HELD, RELEASED, MODES };

static const char *const mode_names[] = { [HELD] = "held", [RELEASED] = "released" };
static const size_t thresholds[] = { [HELD] = REF_COPY_NEVER, [RELEASED] = REF_COPY_ALWAYS };

struct pair {
	struct ref_buffer to, from;	/* of the largest size */
};

/* Uses every @stride-th pair from its @pair on. */
struct worker {
	struct pair *pairs;
	uint32_t pair, stride, copies;
	size_t bytes, threshold;
	uint64_t end_ns;
};

struct copy_bench {
	const struct bench_options *options;
	uint32_t runs;
	uint64_t seed;
	struct ref_lock *lock;
	struct ref_thread me;
	struct pair pairs[CREW_MAX];
	struct worker workers[CREW_MAX];
	struct sample round_ns[MODES][NR_COUNTS][NR_SIZES];
	struct machine machine;
	struct sample touch_ns[2][NR_SIZES];	/* [1]: the pages are there */
};

static void worker_run(void *arg, struct ref_thread *me)
{
	struct worker *w = arg;

	for (uint32_t i = 0; i < w->copies; i++) {
		struct pair *p = &w->pairs[w->pair];

		ref_copy(me->lock, me, &p->to, &p->from, w->bytes, w->threshold);
		ref_lock_check(me->lock, me);
		w->pair += w->stride;
		if (w->pair >= CREW_MAX)
			w->pair %= w->stride;
	}
	w->end_ns = clock_now_ns();
}

/* Adds to @s how long @nr threads take to make a copy of @bytes each. */
static int round_measure(struct copy_bench *b, struct sample *s, uint32_t nr, size_t bytes,
			 enum mode mode, struct err *e)
{
	uint32_t copies = ROUND_BYTES / (nr * bytes) + 1;
	uint64_t begin_ns, end_ns = 0;
	struct crew crew;
	int err;

	for (uint32_t i = 0; i < nr; i++)
		b->workers[i] = (struct worker){
			.pairs = b->pairs,
			.pair = i + nr * (random_next(&b->seed) % (CREW_MAX / nr)),
			.stride = nr,
			.copies = copies,
			.bytes = bytes,
			.threshold = thresholds[mode],
		};
	ref_lock_acquire(b->lock, &b->me);
	err = crew_start(&crew, b->lock, nr, worker_run, b->workers, sizeof(*b->workers), e);
	begin_ns = clock_now_ns();
	ref_lock_drop(b->lock, &b->me);
	crew_join(&crew);
	if (err)
		return err;
	for (uint32_t i = 0; i < nr; i++)
		if (b->workers[i].end_ns > end_ns)
			end_ns = b->workers[i].end_ns;
	if (sample_add(s, (double)(end_ns - begin_ns) / copies))
		return err_nomem(e);
	return 0;
}

static int touch_measure(struct copy_bench *b, size_t size, bool is_touched, struct err *e)
{
	struct ref_buffer to;
	uint64_t begin_ns, end_ns;
	int err = ref_buffer_init(&to, sizes[size], is_touched);

	if (err)
		return err_sys(e, -err, "cannot map a buffer");
	ref_lock_acquire(b->lock, &b->me);
	begin_ns = clock_now_ns();
	ref_copy(b->lock, &b->me, &to, &b->pairs[0].from, sizes[size], REF_COPY_NEVER);
	end_ns = clock_now_ns();
	ref_lock_drop(b->lock, &b->me);
	ref_buffer_free(&to);
	if (sample_add(&b->touch_ns[is_touched][size], end_ns - begin_ns))
		return err_nomem(e);
	return 0;
}

/* Both of a pair, one after the other, in random order. */
static int pair_measure(struct copy_bench *b, uint32_t count, size_t size, struct err *e)
{
	enum mode first = random_next(&b->seed) & 1;

	for (int i = 0; i < MODES; i++) {
		enum mode mode = first ^ i;
		int err = round_measure(b, &b->round_ns[mode][count][size], thread_counts[count],
					sizes[size], mode, e);

		if (err)
			return err;
	}
	return 0;
}

static int size_measure(struct copy_bench *b, size_t size, struct err *e)
{
	bool is_first = random_next(&b->seed) & 1;
	int err = 0;

	for (uint32_t count = 0; !err && count < NR_COUNTS; count++) {
		if (*b->options->is_interrupted)
			return -EINTR;
		err = pair_measure(b, count, size, e);
	}
	if (!err)
		err = touch_measure(b, size, is_first, e);
	if (!err)
		err = touch_measure(b, size, !is_first, e);
	return err;
}

/* Everything once in each run, so that what changes on the machine meanwhile falls on all alike. */
static int measure(struct copy_bench *b, struct err *e)
{
	int err = 0;

	for (uint32_t run = 0; run < b->runs; run++) {
		for (size_t size = 0; !err && size < NR_SIZES; size++)
			err = size_measure(b, size, e);
		if (err)
			return err;
	}
	return machine_measure(&b->machine, &(struct machine_load){
		.bytes = sizes[NR_SIZES - 1], .copies = 1,
		.is_interrupted = b->options->is_interrupted }, b->runs, e);
}

static const struct findings_column copy_columns[] = {
	{ "lock", "lock", FINDING_LABEL },
	{ "threads", "threads", FINDING_COUNT },
	{ "bytes", "size", FINDING_BYTES },
	{ "total_ns", "one copy each", FINDING_NS },
	{ "throughput", "throughput", FINDING_BYTES_PER_S },
};

static const struct findings_column touch_columns[] = {
	{ "bytes", "size", FINDING_BYTES },
	{ "touched_ns", "pages there", FINDING_NS },
	{ "untouched_ns", "pages not there", FINDING_NS },
};

/* @bytes in the time @ns, as bytes per second. */
static struct figure rate_of(const struct figure *ns, double bytes)
{
	double n = bytes * NS_PER_SEC;

	if (!ns->nr)
		return *ns;
	return (struct figure){ n / ns->value, n / ns->high, n / ns->low, n / ns->max, n / ns->min,
				ns->nr };
}

static void copy_row(struct findings *f, const struct copy_bench *b, enum mode mode, uint32_t count,
		     size_t size)
{
	struct figure total = findings_median(f, &b->round_ns[mode][count][size]);
	struct figure rate = rate_of(&total, (double)sizes[size] * thread_counts[count]);

	if (!total.nr)		/* interrupted before */
		return;
	findings_label(f, mode_names[mode]);
	findings_number(f, thread_counts[count]);
	findings_number(f, sizes[size]);
	findings_figure(f, &total);
	findings_figure(f, &rate);
}

static void report_tables(struct findings *f, const struct copy_bench *b)
{
	findings_table(f, "copy", "Copies with the lock held and released", copy_columns,
		       ARRAY_LEN(copy_columns));
	for (int mode = 0; mode < MODES; mode++)
		for (uint32_t count = 0; count < NR_COUNTS; count++)
			for (size_t size = 0; size < NR_SIZES; size++)
				copy_row(f, b, mode, count, size);
	findings_table(f, "first_touch", "Copies into memory whose pages are there, and are not",
		       touch_columns, ARRAY_LEN(touch_columns));
	for (size_t size = 0; size < NR_SIZES; size++) {
		struct figure touched = findings_median(f, &b->touch_ns[true][size]);
		struct figure untouched = findings_median(f, &b->touch_ns[false][size]);

		findings_number(f, sizes[size]);
		findings_figure(f, &touched);
		findings_figure(f, &untouched);
	}
}

static void report_facts(struct findings *f, const struct copy_bench *b)
{
	struct figure alone = findings_median(f, &b->machine.bandwidth_1);
	struct figure all = findings_median(f, &b->machine.bandwidth_all);
	struct figure transition = findings_median(f, &b->machine.transition_ns);

	findings_fact(f, "bandwidth_1", "copied by one thread", FINDING_BYTES_PER_S, &alone);
	findings_fact(f, "bandwidth_all", "copied by all cores together", FINDING_BYTES_PER_S,
		      &all);
	findings_fact(f, "transition_ns", "letting the lock go and taking it again, alone",
		      FINDING_NS, &transition);
}

/* How many times the throughput of one thread @count threads reach. */
static struct figure scaling(struct findings *f, const struct copy_bench *b, enum mode mode,
			     uint32_t count, size_t size)
{
	struct figure v = findings_ratio(f, &b->round_ns[mode][count][size], &b->round_ns[mode][0][size]);
	double n = thread_counts[count];

	return (struct figure){ n * v.value, n * v.low, n * v.high, n * v.min, n * v.max, v.nr };
}

static const char *verdict(const struct figure *gain)
{
	if (gain->low > 1)
		return "";
	return gain->high < 1 ? ": slower" : ": no difference that is sure";
}

static void report_sentences(struct findings *f, const struct copy_bench *b)
{
	enum { MOST = NR_COUNTS - 1, LARGEST = NR_SIZES - 1 };
	struct figure released = scaling(f, b, RELEASED, MOST, LARGEST);
	struct figure held = scaling(f, b, HELD, MOST, LARGEST);
	struct figure gain = findings_ratio(f, &b->round_ns[RELEASED][MOST][LARGEST],
				      &b->round_ns[HELD][MOST][LARGEST]);
	struct figure transition = findings_median(f, &b->machine.transition_ns);
	struct figure faults = findings_ratio(f, &b->touch_ns[true][LARGEST],
					&b->touch_ns[false][LARGEST]);

	findings_say(f, "%u threads that copy %s each reach %.2f times the throughput of one when "
		     "they let the lock go, on %u cores (%.2f to %.2f); %.2f times when they keep "
		     "it (%.2f to %.2f).", thread_counts[MOST], unit_bytes(sizes[LARGEST]).text,
		     released.value, b->machine.cores, released.low, released.high, held.value, held.low,
		     held.high);
	findings_say(f, "Released they are %.2f times as fast as held (95 %% interval %.2f to "
		     "%.2f)%s.", gain.value, gain.low, gain.high, verdict(&gain));
	findings_say(f, "To let the lock go and take it again costs %s when nobody else wants it.",
		     unit_ns(transition.value).text);
	findings_say(f, "A copy of %s takes %.2f times as long (%.2f to %.2f) when the pages that "
		     "it writes are not there yet; the other figures are without page faults.",
		     unit_bytes(sizes[LARGEST]).text, faults.value, faults.low, faults.high);
}

static int pairs_init(struct copy_bench *b, struct err *e)
{
	for (int i = 0; i < CREW_MAX; i++) {
		struct pair *p = &b->pairs[i];
		int err;

		if (*b->options->is_interrupted)
			return -EINTR;
		err = ref_buffer_init(&p->to, sizes[NR_SIZES - 1], true);

		if (!err)
			err = ref_buffer_init(&p->from, sizes[NR_SIZES - 1], true);
		if (err)
			return err_sys(e, -err, "cannot map the buffers");
	}
	return 0;
}

static void copy_bench_release(struct copy_bench *b)
{
	struct sample *rounds = &b->round_ns[0][0][0], *touches = &b->touch_ns[0][0];

	for (int i = 0; i < CREW_MAX; i++) {
		ref_buffer_free(&b->pairs[i].to);
		ref_buffer_free(&b->pairs[i].from);
	}
	for (size_t i = 0; i < sizeof(b->round_ns) / sizeof(*rounds); i++)
		sample_release(&rounds[i]);
	for (size_t i = 0; i < sizeof(b->touch_ns) / sizeof(*touches); i++)
		sample_release(&touches[i]);
	machine_release(&b->machine);
}

static int bench_table(struct findings *f, const struct bench_options *o, struct ref_lock *l,
		       struct err *e)
{
	auto_release(copy_bench_release) struct copy_bench b = {
		.options = o,
		.runs = o->runs ? o->runs : RUNS,
		.seed = 20902,
		.lock = l,
	};
	int err = pairs_init(&b, e);

	ref_thread_init(&b.me, l);
	if (!err)
		err = measure(&b, e);
	ref_thread_destroy(&b.me);
	if (err && err != -EINTR)
		return err;
	report_facts(f, &b);
	report_tables(f, &b);
	if (!err)
		report_sentences(f, &b);
	return err;
}

int bench_copy(struct findings *f, const struct bench_options *o, struct err *e)
{
	struct ref_lock lock;
	int err = ref_lock_init(&lock, REF_LOCK_33, REF_QUANTUM_NS);

	if (err)
		return err_sys(e, -err, "cannot make the lock");
	f->schema = "gvlscope.bench/1";
	f->name = "copy";
	err = o->is_sweep ? bench_copy_sweep(f, o, &lock, e) : bench_table(f, o, &lock, e);
	ref_lock_destroy(&lock);
	if (!err && f->is_broken)
		return err_nomem(e);
	return err;
}
