// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The recorded timeline of each lock is run again with its copies of IO::Buffer made otherwise (simulate.h).
 * What a copy of a size takes, what copies that run at the same time take from each other and what it costs
 * to give up the lock is measured here and now, by the reference.
 */
#include "ref/compare.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "ref/copies.h"
#include "ref/crew.h"
#include "ref/machine.h"
#include "ref/simulate.h"
#include "util/scope.h"

#define MEASURED_BYTES 4e9		/* in all, */

enum {
	MEASUREMENTS = 25,		/* but at least so many bursts, */
	MEASUREMENTS_MAX = 100,		/* and at most */
	AGAIN = 5,
	CALIBRATED = 64,		/* copies done again, evenly over their sizes */
	COPIES_MAX = 16,		/* of a thread, in a measurement: more does not change how they spread ... */
	COPY_BYTES_MAX = 64 << 20,	/* ... nor do larger ones, */
	LOAD_BYTES_MAX = 256 << 20,	/* and of all threads together: the time it takes */
	CALIBRATED_BYTES = 16 * 1024,	/* and larger: below it a trap takes as long as the copy */
};

/* Of all locks. */
struct totals {
	double hold_ns, free_ns, wait_ns, blame_ns, span_ns;
	double copying_ns;
	double burst_copies, burst_threads, burst_crowd;
	struct placements placements;	/* of the lock with the most of them */
	uint64_t changed;
};

/* Bounds of what is measured: the prediction is made with each. */
enum bound { BOUND_MIDDLE, BOUND_BEST, BOUND_WORST, BOUNDS };

struct conditions {
	uint32_t cores, measurements;
	double bandwidth_1, bandwidth_all, transition_ns, latency_ns;
};

/* Of bursts the mean counts: whether their threads run at the same time makes two kinds of them. */
static int conditions_measure(struct conditions out[BOUNDS], const struct machine_load *load,
			      struct err *e)
{
	auto_release(machine_release) struct machine m = { 0 };
	struct figure one, all, transition, latency;
	double runs = MEASURED_BYTES / ((double)load->bytes * load->threads * load->copies);
	int err = machine_measure(&m, load, fmin(fmax(runs, MEASUREMENTS), MEASUREMENTS_MAX), e);
	uint32_t nr = m.bandwidth_all.nr;

	if (err)
		return err;
	if (sample_speed(&m.bandwidth_1, &one) || sample_speed(&m.bandwidth_all, &all) ||
	    sample_figure(&m.transition_ns, &transition) || sample_figure(&m.latency_ns, &latency))
		return err_nomem(e);
	out[BOUND_MIDDLE] = (struct conditions){
		m.cores, nr, one.value, all.value, transition.value, latency.value };
	out[BOUND_BEST] = (struct conditions){
		m.cores, nr, one.value, all.high, transition.low, latency.low };
	out[BOUND_WORST] = (struct conditions){
		m.cores, nr, one.value, all.low, transition.high, latency.high };
	return 0;
}

#define AS_RECORDED (SIZE_MAX - 1)	/* for a threshold */

static int run(struct totals *out, const struct comparison *c, size_t threshold,
	       const struct conditions *conditions, struct err *e)
{
	*out = (struct totals){ 0 };
	for (size_t i = 0; i < c->schedule.nr_locks; i++) {
		const struct schedule_lock *l = c->schedule.locks[i];
		struct simulate_options o;
		struct simulated did;
		int err;

		if (!l)
			continue;
		o = simulate_options(l);
		o.is_changed = threshold != AS_RECORDED;
		o.is_buffer_only = true;
		o.threshold = threshold;
		o.transition_ns = conditions->transition_ns;
		o.latency_ns = conditions->latency_ns;
		o.sharing = (struct sharing){
			conditions->cores, conditions->bandwidth_1, conditions->bandwidth_all };
		err = simulate(&did, l, &o, e);
		if (err)
			return err;
		out->hold_ns += did.hold_ns;
		out->free_ns += did.free_ns;
		out->wait_ns += did.wait_ns;
		out->blame_ns += did.copy_blame_ns;
		out->span_ns += did.span_ns;
		out->copying_ns += did.copying_ns;
		if (did.placements.nr > out->placements.nr)
			out->placements = did.placements;
		out->burst_copies += did.burst_copies;
		out->burst_threads += did.burst_threads;
		out->burst_crowd += did.burst_crowd;
		out->changed += did.changed_copies;
		simulated_release(&did);
	}
	return 0;
}

/* Copies of which it is known how long they took, by size. */
struct recorded {
	const struct act **acts;
	size_t nr, room;
};

static void recorded_release(struct recorded *r)
{
	free(r->acts);
}

static int by_bytes(const void *a, const void *b)
{
	const struct act *x = *(const struct act *const *)a, *y = *(const struct act *const *)b;

	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool is_buffer_copy(const struct act *a)
{
	return !(a->flags & (ACT_WAKE | ACT_END)) && (a->flags & COPY_BUFFER) &&
	       (a->flags & COPY_OP) >> COPY_OP_SHIFT == COPY_MOVE && a->bytes >= CALIBRATED_BYTES;
}

static int recorded_add(struct recorded *r, const struct episode *ep)
{
	for (uint32_t i = 0; i < ep->nr_acts; i++) {
		if (!is_buffer_copy(&ep->acts[i]))
			continue;
		if (r->nr == r->room) {
			size_t room = r->room ? 2 * r->room : 256;
			const struct act **more = reallocarray(r->acts, room, sizeof(*more));

			if (!more)
				return -ENOMEM;
			r->acts = more;
			r->room = room;
		}
		r->acts[r->nr++] = &ep->acts[i];
	}
	return 0;
}

static int recorded_init(struct recorded *r, const struct schedule *s)
{
	*r = (struct recorded){ 0 };
	for (size_t i = 0; i < s->nr_locks; i++)
		for (const struct episode *ep = s->locks[i] ? s->locks[i]->episodes : NULL; ep;
		     ep = ep->next)
			if (recorded_add(r, ep))
				return -ENOMEM;
	if (r->nr)
		qsort(r->acts, r->nr, sizeof(*r->acts), by_bytes);
	return 0;
}

static double sum_of(const double *ns, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += ns[i];
	return sum;
}

static const struct findings_column calibration_columns[] = {
	{ "memory", "memory", FINDING_LABEL },
	{ "copies", "copies", FINDING_COUNT },
	{ "traced_ns", "traced", FINDING_NS },
	{ "reference_ns", "reference", FINDING_NS },
	{ "error", "error", FINDING_SHARE },
};

/* Copies of @sizes done again, from memory that caches have and from memory that they have not: sums, ns. */
static int copies_again(const size_t *sizes, size_t nr, const volatile bool *is_interrupted,
			struct sample sums[2], struct err *e)
{
	double ns[CALIBRATED];

	for (int i = 0; i < 2 * AGAIN; i++) {
		int err = *is_interrupted ? -EINTR : machine_copies(sizes, nr, i % 2, ns, e);

		if (err)
			return err;
		if (sample_add(&sums[i % 2], sum_of(ns, nr)))
			return err_nomem(e);
	}
	return 0;
}

static double error_of(double got, double want)
{
	return want > 0 ? fabs(got / want - 1) : got > 0;
}

/* Which of the two memories the traced process had is not known, so the nearer one counts. */
static double add_calibration(struct findings *f, double traced, const struct sample sums[2], size_t nr)
{
	static const char *const memory[] = { "in caches", "not in caches" };
	double error = INFINITY;

	findings_table(f, "copy_calibration", "Copies with the lock: traced, and done again by the reference",
		       calibration_columns, ARRAY_LEN(calibration_columns));
	for (int i = 0; i < 2; i++) {
		double did = sample_median(&sums[i]), off = error_of(did, traced);

		findings_label(f, memory[i]);
		findings_number(f, nr);
		findings_number(f, traced / nr);
		findings_number(f, did / nr);
		findings_number(f, off);
		error = fmin(error, off);
	}
	return error;
}

/* *error is NAN where no copies were recorded with the lock. */
static int calibrate(struct findings *f, const struct recorded *r, const volatile bool *is_interrupted,
		     double *error, struct err *e)
{
	struct sample sums[2] = { 0 };
	size_t sizes[CALIBRATED], nr = r->nr < CALIBRATED ? r->nr : CALIBRATED, nr_held = 0;
	double traced = 0;
	int err;

	*error = NAN;
	for (size_t i = 0; i < nr; i++) {
		const struct act *a = r->acts[i * r->nr / nr];

		if (!(a->flags & COPY_HELD))
			continue;
		sizes[nr_held] = a->bytes < COPY_BYTES_MAX ? a->bytes : COPY_BYTES_MAX;
		traced += (double)a->dur_ns * sizes[nr_held++] / a->bytes;
	}
	if (!nr_held)
		return 0;
	err = copies_again(sizes, nr_held, is_interrupted, sums, e);
	if (!err)
		*error = add_calibration(f, traced, sums, nr_held);
	sample_release(&sums[0]);
	sample_release(&sums[1]);
	return err;
}

static const struct findings_column copy_columns[] = {
	{ "what", "what", FINDING_LABEL },
	{ "traced_ns", "traced, less probes", FINDING_NS },
	{ "predicted_ns", "predicted", FINDING_NS },
};

/* The member at @at of struct totals. */
static double total(const struct totals *t, size_t at)
{
	return *(const double *)((const char *)t + at);
}

static void row(struct findings *f, const char *what, const struct totals *before,
		const struct totals after[BOUNDS], size_t at, uint32_t nr)
{
	double middle = total(&after[BOUND_MIDDLE], at), a = total(&after[BOUND_BEST], at);
	double b = total(&after[BOUND_WORST], at);

	findings_label(f, what);
	findings_number(f, total(before, at));
	findings_figure(f, &(struct figure){
		.value = middle, .low = fmin(fmin(a, b), middle), .high = fmax(fmax(a, b), middle),
		.min = fmin(a, b), .max = fmax(a, b), .nr = nr });
}

static struct figure speedup_of(const struct totals *before, const struct totals after[BOUNDS], uint32_t nr)
{
	double v[BOUNDS];

	for (enum bound b = 0; b < BOUNDS; b++)
		v[b] = after[b].copying_ns > 0 ? before->copying_ns / after[b].copying_ns : 1;
	return (struct figure){
		.value = v[BOUND_MIDDLE], .nr = nr,
		.low = fmin(v[BOUND_WORST], v[BOUND_MIDDLE]), .high = fmax(v[BOUND_BEST], v[BOUND_MIDDLE]),
		.min = v[BOUND_WORST], .max = v[BOUND_BEST],
	};
}

static int predict(struct totals after[BOUNDS], const struct comparison *c, size_t threshold,
		   const struct conditions conditions[BOUNDS], struct err *e)
{
	for (enum bound b = 0; b < BOUNDS; b++) {
		int err = run(&after[b], c, threshold, &conditions[b], e);

		if (err)
			return err;
	}
	return 0;
}

static const struct findings_column sweep_columns[] = {
	{ "threshold", "released from", FINDING_BYTES },
	{ "copies", "other copies", FINDING_COUNT },
	{ "speedup", "copies' speed-up", FINDING_RATIO },
	{ "wait_ns", "waiting", FINDING_NS },
	{ "hold_ns", "lock held", FINDING_NS },
};

static int sweep(struct findings *f, const struct comparison *c, const struct totals *before,
		 const struct conditions conditions[BOUNDS], struct err *e)
{
	findings_table(f, "copy_sweep", "Copies without the lock from a size on", sweep_columns,
		       ARRAY_LEN(sweep_columns));
	for (size_t bytes = 16 * 1024; bytes <= 64 * 1024 * 1024; bytes *= 4) {
		struct totals after[BOUNDS];
		struct figure speedup;
		int err = predict(after, c, bytes, conditions, e);

		if (err)
			return err;
		speedup = speedup_of(before, after, conditions->measurements);
		findings_number(f, bytes);
		findings_number(f, after->changed);
		findings_figure(f, &speedup);
		findings_number(f, after->wait_ns);
		findings_number(f, after->hold_ns);
	}
	return 0;
}

static void say(struct findings *f, const struct totals *before, const struct totals *after,
		const struct figure *speedup, size_t threshold, bool is_trusted)
{
	double waited = before->wait_ns > 0 ? after->wait_ns / before->wait_ns - 1 : 0;
	const char *how = threshold == REF_COPY_NEVER ? "If all copies of IO::Buffer were made with the lock "
			  "(Ruby up to 3.3)" : "If large copies of IO::Buffer were made without the lock (Ruby 3.4 "
			  "and later)";

	findings_say(f, "%s, those recorded would be done %s, with %.1f %% %s waiting for the lock.%s", how,
		     compare_words(speedup).text, 100 * fabs(waited), waited > 0 ? "more" : "less",
		     is_trusted ? "" : COMPARE_UNTRUSTED);
}

static int fill(struct findings *f, const struct comparison *c, const struct compare_options *o,
		const struct recorded *r, const struct totals *before, double replay,
		const struct conditions conditions[BOUNDS], struct err *e)
{
	size_t threshold = c->has_free_copies ? REF_COPY_NEVER : o->threshold;
	uint32_t nr = conditions->measurements;
	double copies;
	struct totals after[BOUNDS];
	struct figure speedup;
	int err = predict(after, c, threshold, conditions, e);

	if (!err)
		err = calibrate(f, r, o->is_interrupted, &copies, e);
	if (err)
		return err;
	speedup = speedup_of(before, after, nr);
	say(f, before, after, &speedup, threshold, !(replay > COMPARE_ERROR_MAX || copies > COMPARE_ERROR_MAX));
	findings_fact(f, "speedup_copy", "copies: speed-up", FINDING_RATIO, &speedup);
	findings_fact(f, "replay_error", "replay off by", FINDING_SHARE,
		      &(struct figure){ .value = replay, .nr = 1 });
	if (!isnan(copies))
		findings_fact(f, "copy_error", "copies: calibration off by", FINDING_SHARE,
			      &(struct figure){ .value = copies, .nr = 1 });
	findings_fact_text(f, "copy_trusted", "copies: trusted",
			   replay > COMPARE_ERROR_MAX ?
			   "no: replayed unchanged, the waiting is not what was traced" :
			   copies > COMPARE_ERROR_MAX ?
			   "no: the reference copies faster or slower than the traced process did" : "yes");
	findings_table(f, "copy_lock", "The lock, while copies of IO::Buffer are made otherwise", copy_columns,
		       ARRAY_LEN(copy_columns));
	row(f, "bursts of copies", before, after, offsetof(struct totals, copying_ns), nr);
	row(f, "lock held", before, after, offsetof(struct totals, hold_ns), nr);
	row(f, "threads waiting for it", before, after, offsetof(struct totals, wait_ns), nr);
	row(f, "of that, while the owner copied", before, after, offsetof(struct totals, blame_ns), nr);
	return o->is_sweep ? sweep(f, c, before, conditions, e) : 0;
}

/* The size of the copy in which the middle byte of all is. */
static size_t usual_size(const struct recorded *r)
{
	uint64_t sum = 0, half = 0;
	size_t i = 0;

	for (size_t k = 0; k < r->nr; k++)
		sum += r->acts[k]->bytes;
	while (i + 1 < r->nr && (half += r->acts[i]->bytes) < sum / 2)
		i++;
	return r->acts[i]->bytes;
}

/* A burst of copies as the recorded ones were. */
static struct machine_load usual_load(const struct recorded *r, const struct totals *recorded)
{
	double bytes = fmin(usual_size(r), COPY_BYTES_MAX);
	double threads = recorded->burst_crowd / recorded->burst_threads;
	double copies = recorded->burst_copies / recorded->burst_threads;

	return (struct machine_load){
		.bytes = bytes,
		.threads = fmin(fmax(round(threads), 1), fmin(CREW_MAX, LOAD_BYTES_MAX / bytes)),
		.copies = fmin(fmax(round(copies), 1), COPIES_MAX),
		.placements = &recorded->placements,
	};
}

static void untrace(const struct comparison *c)
{
	for (size_t i = 0; i < c->schedule.nr_locks; i++)
		for (struct episode *ep = c->schedule.locks[i] ? c->schedule.locks[i]->episodes : NULL; ep;
		     ep = ep->next)
			episode_untrace(ep, llround(c->trap_ns));
}

int compare_copies(struct findings *f, const struct comparison *c, const struct compare_options *o,
		   struct err *e)
{
	auto_release(recorded_release) struct recorded r;
	struct conditions conditions[BOUNDS] = { 0 };
	struct totals before, after;
	struct machine_load load;
	double replay;
	int err = recorded_init(&r, &c->schedule);

	if (err)
		return err_nomem(e);
	if (!r.nr)
		return 1;
	err = run(&before, c, AS_RECORDED, &conditions[BOUND_MIDDLE], e);
	if (err)
		return err;
	replay = error_of(before.wait_ns, comparison_waited_ns(c));
	untrace(c);
	load = usual_load(&r, &before);
	load.is_interrupted = o->is_interrupted;
	err = conditions_measure(conditions, &load, e);
	if (!err)
		err = run(&before, c, AS_RECORDED, &conditions[BOUND_MIDDLE], e);
	if (!err)
		err = run(&after, c, c->has_free_copies ? REF_COPY_NEVER : o->is_sweep ? REF_COPY_ALWAYS :
			  o->threshold, &conditions[BOUND_MIDDLE], e);
	if (err)
		return err;
	return after.changed ? fill(f, c, o, &r, &before, replay, conditions, e) : 1;
}
