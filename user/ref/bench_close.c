// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ref/readers.h"
#include "render/unit.h"
#include "util/clock.h"
#include "util/scope.h"

enum {
	MAX_READERS = 10000,
	RUNS = 4,
	GROUPS = 10, GROUP = 20,	/* closes, in a run of many readers */
	BESIDE = 100,			/* closes of IOs that nobody waits in */
	/* Ruby v4.0.0: benchmark/io_close.yml, and a tenth of io_close_contended.yml in a run */
	IO_CLOSE_ITERATIONS = 100, IO_CLOSE_PIPES = 100,
	CONTENDED_READERS = 1000, CONTENDED_ITERATIONS = 10, CONTENDED_PIPES = 10,
	NUMBERS = 10,			/* of readers, at most: each ten times the one before */
	DESIGNS = REF_WAITERS_NONE,	/* those that are compared: all that have a list */
};

#define STILL_BLOCKED_NS (100 * NS_PER_MS)

/* Of one design, the means of each run. */
struct series {
	struct sample blocked;		/* when an IO was closed */
	struct sample visited, close_ns, scan_ns;
	struct sample readers;		/* all of them blocked, when another IO was closed */
	struct sample beside_ns;
};

struct bench {
	struct findings *f;
	const struct bench_options *o;
	struct series now[DESIGNS];	/* of this number of readers */
	struct series all[DESIGNS];	/* of all numbers */
};

static void series_release(struct series *s)
{
	sample_release(&s->blocked);
	sample_release(&s->visited);
	sample_release(&s->close_ns);
	sample_release(&s->scan_ns);
	sample_release(&s->readers);
	sample_release(&s->beside_ns);
}

/* Of BESIDE closes. 0 or -ENOMEM. */
static int series_add_beside(struct series *s, uint32_t readers, uint64_t sum_ns)
{
	return sample_add(&s->readers, readers) ?:
	       sample_add(&s->beside_ns, (double)sum_ns / BESIDE);
}

/* Of @nr closes. 0 or -ENOMEM. */
static int series_add(struct series *s, uint64_t blocked, const struct ref_close *sum, double nr)
{
	return sample_add(&s->blocked, blocked / nr) ?:
	       sample_add(&s->visited, sum->visited / nr) ?:
	       sample_add(&s->close_ns, sum->total_ns / nr) ?:
	       sample_add(&s->scan_ns, sum->scan_ns / nr);
}

static void scope_bench(struct bench *b)
{
	for (int d = 0; d < DESIGNS; d++) {
		series_release(&b->now[d]);
		series_release(&b->all[d]);
	}
}

static uint32_t nr_runs(const struct bench *b)
{
	return b->o->runs ? b->o->runs : RUNS;
}

static bool is_over(const struct bench *b)
{
	return *b->o->is_interrupted;
}

static void tell(struct findings *f, const struct sample *s)
{
	struct figure v = findings_median(f, s);

	findings_figure(f, &v);
}

/*
 * Whether the reader at @i is closed, of @nr that leave one after the other. Where there are many,
 * that is a group in the middle of each tenth: the mean is that of closing all of them, as the
 * script of bug 18455 does.
 */
static bool is_closed(uint32_t i, uint32_t nr)
{
	uint32_t tenth = nr / GROUPS, first = (tenth - GROUP) / 2;

	return tenth <= GROUP || (i % tenth >= first && i % tenth < first + GROUP);
}

static int io_pair(struct ref_io *in, struct ref_io *out)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	ref_io_init(in, fds[0], false);
	ref_io_init(out, fds[1], true);
	return 0;
}

/* All readers are blocked, and none in what is closed: nobody has to wake up. Pipes are made before. */
static int run_beside(struct bench *b, struct readers *p, enum ref_waiters_design design)
{
	struct ref_io in[BESIDE], out[BESIDE];
	uint64_t sum_ns = 0;
	int err = 0, nr = 0;

	while (nr < BESIDE && !err) {
		err = io_pair(&in[nr], &out[nr]);
		nr += !err;
	}
	for (int i = 0; i < nr; i++) {
		struct ref_close did;

		ref_io_close(p->now, &in[i], &p->closer, &did);
		sum_ns += did.total_ns;
	}
	for (int i = 0; i < nr; i++)
		close(out[i].fd);
	return err ?: series_add_beside(&b->now[design], p->nr, sum_ns) ?:
		      series_add_beside(&b->all[design], p->nr, sum_ns);
}

static int run_close(struct bench *b, struct readers *p, enum ref_waiters_design design)
{
	struct ref_close sum = { 0 }, did;
	uint64_t blocked = 0, nr = 0;
	int err = readers_gather(p, design, false);

	if (err)
		return err;
	err = run_beside(b, p, design);
	for (uint32_t i = 0; i < p->nr; i++) {
		if (err || !is_closed(i, p->nr) || is_over(b)) {
			readers_let_go(p, i);
			continue;
		}
		readers_wait(p, p->nr - i, UINT64_MAX);
		blocked += p->now->nr;
		ref_io_close(p->now, &p->reader[i].in, &p->closer, &did);
		sum.visited += did.visited;
		sum.scan_ns += did.scan_ns;
		sum.total_ns += did.total_ns;
		nr++;
	}
	readers_wait(p, 0, UINT64_MAX);
	if (err || is_over(b))
		return err;
	return series_add(&b->now[design], blocked, &sum, nr) ?:
	       series_add(&b->all[design], blocked, &sum, nr);
}

/* All gather once before, so that descriptors suffice, stacks are touched and the code is warm. */
static int run_all(struct bench *b, uint32_t nr)
{
	struct readers p;
	int err = readers_init(&p, nr, false);

	if (err)
		return err;
	err = readers_gather(&p, REF_WAITERS_GLOBAL, false);
	for (uint32_t i = 0; i < nr && !err; i++)
		readers_let_go(&p, i);
	if (!err)
		readers_wait(&p, 0, UINT64_MAX);
	for (int d = 0; d < DESIGNS && !err; d++)
		series_release(&b->now[d]);
	for (uint32_t run = 0; run < nr_runs(b) && !is_over(b); run++)
		for (int d = 0; d < DESIGNS && !err; d++)
			err = run_close(b, &p, d);
	readers_release(&p);
	return err;
}

static void add_rows(struct bench *b, uint32_t nr)
{
	for (int d = 0; d < DESIGNS; d++) {
		const struct series *s = &b->now[d];

		if (!s->close_ns.nr)
			continue;
		findings_label(b->f, ref_waiters_name(d));
		findings_number(b->f, nr);
		tell(b->f, &s->close_ns);
		tell(b->f, &s->scan_ns);
		tell(b->f, &s->beside_ns);
		findings_number(b->f, sample_mean(&s->visited));
	}
}

static void say_growth(struct bench *b, uint32_t nr)
{
	const struct series *global = &b->now[REF_WAITERS_GLOBAL];
	const struct series *own = &b->now[REF_WAITERS_PER_IO];
	struct figure ratio;

	if (!own->close_ns.nr || sample_ratio(&own->close_ns, &global->close_ns, &ratio))
		return;
	findings_say(b->f, "To close %s blocked readers one by one takes %s a close with one list "
		     "of all waiters, %s with a list per IO: %s.", unit_count(nr).text,
		     unit_ns_real(sample_median(&global->close_ns)).text,
		     unit_ns_real(sample_median(&own->close_ns)).text,
		     unit_ratio(ratio.value).text);
}

static int measure_closes(struct bench *b)
{
	static const struct findings_column columns[] = {
		{ "design", "design", FINDING_LABEL },
		{ "readers", "blocked readers", FINDING_COUNT },
		{ "close_ns", "mean close", FINDING_NS },
		{ "scan_ns", "its scan", FINDING_NS },
		{ "beside_ns", "of another IO", FINDING_NS },
		{ "visited", "nodes visited", FINDING_COUNT },
	};
	uint32_t max = b->o->max_readers ? b->o->max_readers : MAX_READERS, nr = 0;

	findings_table(b->f, "close", "A close, while readers are blocked in their own pipes",
		       columns, ARRAY_LEN(columns));
	for (uint32_t next = 10; nr < max && !is_over(b); next *= 10) {
		uint32_t more = next < max ? next : max;
		int err = run_all(b, more);

		if (err == -ENOMEM || (err && !nr))
			return err;
		if (err) {
			findings_say(b->f, "%s readers are not possible here: %s.",
				     unit_count(more).text, strerror(-err));
			break;
		}
		nr = more;
		add_rows(b, nr);
	}
	say_growth(b, nr);
	return 0;
}

/* How @y grows with @x, in each run by itself: one that was disturbed counts for one only. */
static int slopes_of(struct bench *b, const struct sample *x, const struct sample *y,
		     struct sample *out)
{
	uint32_t nr = nr_runs(b);
	double xs[NUMBERS], ys[NUMBERS];

	for (uint32_t run = 0; run < nr; run++) {
		struct fit fit;
		size_t n = 0;

		for (size_t i = run; i < x->nr && n < NUMBERS; i += nr, n++) {
			xs[n] = x->values[i];
			ys[n] = y->values[i];
		}
		if (n < 3 || sample_fit(xs, ys, n, &fit))
			return -ENODATA;
		if (sample_add(out, fit.slope))
			return -ENOMEM;
	}
	return 0;
}

static void add_fact(struct bench *b, const char *key, const char *title, const struct sample *s)
{
	struct figure v;

	if (s->nr && !sample_figure(s, &v))
		findings_fact(b->f, key, title, FINDING_NS, &v);
}

/* What one more blocked reader adds to a close: of its IO, and of another, where nobody has to wake up. */
static void fit_growth(struct bench *b)
{
	static const struct {
		const char *key[2], *title[2];
		size_t x, y;
	} facts[] = {
		{ { "global_ns_per_waiter", "per_io_ns_per_waiter" },
		  { "a close, per blocked reader, global", "... per-io" },
		  offsetof(struct series, blocked), offsetof(struct series, close_ns) },
		{ { "global_ns_per_node", "per_io_ns_per_node" },
		  { "of another IO, per blocked reader, global", "... per-io" },
		  offsetof(struct series, readers), offsetof(struct series, beside_ns) },
	};
	struct sample slopes[2] = { 0 };
	struct figure share;

	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		for (int d = 0; d < 2; d++) {
			const char *s = (const char *)&b->all[d];

			sample_release(&slopes[d]);
			if (slopes_of(b, (const struct sample *)(s + facts[i].x),
				      (const struct sample *)(s + facts[i].y), &slopes[d]))
				continue;
			add_fact(b, facts[i].key[d], facts[i].title[d], &slopes[d]);
		}
	}
	if (slopes[0].nr && !sample_ratio(&slopes[0], &slopes[1], &share))
		findings_fact(b->f, "slope_share", "the latter, of the former", FINDING_SHARE, &share);
	sample_release(&slopes[0]);
	sample_release(&slopes[1]);
}

_Static_assert(REF_WAITERS_GLOBAL == 0 && REF_WAITERS_PER_IO == 1, "fit_growth() takes the first two");

/* Nobody waits anywhere. Pipes are made before they are closed, and that is not timed. */
static int run_io_close(struct bench *b, struct readers *p, enum ref_waiters_design design,
			double *rate)
{
	struct ref_waiters *w = &p->waiters[design];
	struct ref_io in[IO_CLOSE_PIPES], out[IO_CLOSE_PIPES];
	uint64_t took_ns = 0;

	for (int iteration = 0; iteration < IO_CLOSE_ITERATIONS && !is_over(b); iteration++) {
		uint64_t start_ns;
		int err = 0, nr = 0;

		while (nr < IO_CLOSE_PIPES && !err) {
			err = io_pair(&in[nr], &out[nr]);
			nr += !err;
		}
		start_ns = clock_now_ns();
		for (int i = 0; i < nr; i++) {
			ref_io_close(w, &in[i], &p->closer, NULL);
			ref_io_close(w, &out[i], &p->closer, NULL);
		}
		took_ns += clock_now_ns() - start_ns;
		if (err)
			return err;
	}
	*rate = (double)IO_CLOSE_ITERATIONS * NS_PER_SEC / took_ns;
	return 0;
}

/* Each pipe has its reader. */
static int run_contended(struct bench *b, struct readers *p, enum ref_waiters_design design,
			 double *rate)
{
	uint32_t closed = CONTENDED_ITERATIONS * CONTENDED_PIPES;
	int err = readers_gather(p, design, false);
	uint64_t start_ns = clock_now_ns();

	if (err)
		return err;
	for (uint32_t i = 0; i < closed && !is_over(b); i++) {
		ref_io_close(p->now, &p->reader[i].in, &p->closer, NULL);
		ref_io_close(p->now, &p->reader[i].out, &p->closer, NULL);
	}
	*rate = (double)CONTENDED_ITERATIONS * NS_PER_SEC / (clock_now_ns() - start_ns);
	for (uint32_t i = 0; i < p->nr; i++)
		if (p->reader[i].in.fd >= 0)
			readers_let_go(p, i);
	readers_wait(p, 0, UINT64_MAX);
	return 0;
}

static const struct program {
	const char *name;
	uint32_t nr_readers;
	int (*run)(struct bench *b, struct readers *p, enum ref_waiters_design design,
		   double *rate);	/* iterations a second */
} programs[] = {
	{ "io_close", 0, run_io_close },
	{ "io_close_contended", CONTENDED_READERS, run_contended },
};

static int run_program(struct bench *b, const struct program *program, struct sample *rates)
{
	struct readers p;
	int err = readers_init(&p, program->nr_readers, true);

	if (err)
		return err;
	for (uint32_t run = 0; run <= nr_runs(b) && !is_over(b); run++) {
		for (int d = 0; d < DESIGNS && !err; d++) {
			double rate = 0;

			err = program->run(b, &p, d, &rate);
			if (run > 0 && !err && !is_over(b))
				err = sample_add(&rates[d], rate);
		}
	}
	readers_release(&p);
	return err;
}

static void add_rates(struct bench *b, const char *name, const struct sample *rates)
{
	for (int d = 0; d < DESIGNS; d++) {
		struct figure ratio;

		if (!rates[d].nr)
			continue;
		findings_label(b->f, name);
		findings_label(b->f, ref_waiters_name(d));
		tell(b->f, &rates[d]);
		findings_figure(b->f, sample_ratio(&rates[0], &rates[d], &ratio) ? NULL : &ratio);
	}
}

static int measure_rates(struct bench *b)
{
	static const struct findings_column columns[] = {
		{ "program", "program", FINDING_LABEL },
		{ "design", "design", FINDING_LABEL },
		{ "rate", "iterations", FINDING_PER_S },
		{ "ratio", "of global", FINDING_RATIO },
	};

	findings_table(b->f, "rate", "Iterations of Ruby's own benchmarks", columns,
		       ARRAY_LEN(columns));
	for (size_t i = 0; i < ARRAY_LEN(programs) && !is_over(b); i++) {
		struct sample rates[DESIGNS] = { 0 };
		int err = run_program(b, &programs[i], rates);

		add_rates(b, programs[i].name, rates);
		for (int d = 0; d < DESIGNS; d++)
			sample_release(&rates[d]);
		if (err == -ENOMEM)
			return err;
		if (err)
			findings_say(b->f, "%s is not possible here: %s.", programs[i].name,
				     strerror(-err));
	}
	return 0;
}

/* Relies on close(2) alone. */
static int try_none(struct bench *b)
{
	struct readers p;
	bool has_left;
	int err = readers_init(&p, 1, true);

	if (err)
		return err;
	err = readers_gather(&p, REF_WAITERS_NONE, false);
	if (!err) {
		readers_wait(&p, 0, STILL_BLOCKED_NS);	/* until it surely is in read(2) */
		ref_io_close(p.now, &p.reader[0].in, &p.closer, NULL);
		has_left = readers_wait(&p, 0, STILL_BLOCKED_NS);
		ref_io_close(p.now, &p.reader[0].out, &p.closer, NULL);
		readers_wait(&p, 0, UINT64_MAX);
		findings_say(b->f, "Without any list, by close(2) alone, a blocked reader %s %s "
			     "later; the pipe's other end was closed then.",
			     has_left ? "was gone at most" : "still was blocked",
			     unit_ns(STILL_BLOCKED_NS).text);
	}
	readers_release(&p);
	return err;
}

/* More may be open than a shell allows by itself. */
static void allow_files(void)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int bench_close(struct findings *f, const struct bench_options *o, struct err *e)
{
	auto_release(scope_bench) struct bench b = { .f = f, .o = o };
	int err;

	allow_files();
	err = measure_closes(&b);
	if (!err)
		fit_growth(&b);
	if (!err && !is_over(&b))
		err = measure_rates(&b);
	if (!err && !is_over(&b))
		err = try_none(&b);
	if (err)
		return err_sys(e, -err, err == -EMFILE ? "readers for the benchmark (ulimit -n 1024 is enough for some)" :
							 "readers for the benchmark");
	return is_over(&b) ? -EINTR : 0;
}
