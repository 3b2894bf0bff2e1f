// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Only the scan differs between the designs: waiting until the interrupted threads have left, and close(2),
 * are the same work in both. So a close is predicted to take what it took, with its scan replaced by the
 * reference's in the other design.
 */
#include "ref/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref/replay.h"
#include "util/scope.h"

enum part { PART_SCAN, PART_WAIT, PART_CALL, PART_OTHER, PARTS };

/* Of all closes, ns, without what the probes took. */
struct work {
	enum ref_waiters_design traced, other;
	struct replay_close *replay;
	size_t nr;
	double parts[PARTS], total;
	double listed;			/* mean */
	double walk_ns;			/* of the probes, for each close that interrupted somebody */
};

static double less(double ns, double probes_ns)
{
	return ns > probes_ns ? ns - probes_ns : 0;
}

/*
 * The scan has its second probe inside; what follows has one for each change of the lock or its queue, and
 * where somebody was interrupted the walk that tells whom.
 */
static void parts_of(const struct close_one *one, const struct comparison *c, double walk_ns,
		     double parts[PARTS])
{
	double rest = one->total_ns - one->scan_ns - one->call_ns;
	double probes = c->trap_ns * one->switches + (one->matched ? walk_ns : 0);

	parts[PART_SCAN] = one->flags & SCAN_UNTIMED ? 0 : less(one->scan_ns, c->trap_ns);
	parts[PART_CALL] = one->call_ns;
	parts[PART_WAIT] = one->matched ? less(rest, probes) : 0;
	parts[PART_OTHER] = one->matched ? 0 : less(rest, probes);
}

static double sum_of(const double parts[PARTS])
{
	return parts[PART_SCAN] + parts[PART_WAIT] + parts[PART_CALL] + parts[PART_OTHER];
}

/* How many waiters a scan of one list for all would have met. */
static uint64_t listed(const struct close_one *one)
{
	if (one->flags & SCAN_PER_IO)
		return one->nr_blocked;
	return one->visited == WAITERS_UNKNOWN ? 0 : one->visited;
}

static int work_init(struct work *w, const struct comparison *c)
{
	size_t per_io = 0, matched = 0;

	*w = (struct work){ .nr = c->nr_closes };
	w->replay = calloc(w->nr, sizeof(*w->replay));
	if (!w->replay)
		return -ENOMEM;
	for (size_t i = 0; i < w->nr; i++)
		matched += c->closes[i].matched > 0;
	w->walk_ns = matched ? c->walk_ns / matched : 0;
	for (size_t i = 0; i < w->nr; i++) {
		const struct close_one *one = &c->closes[i];
		double parts[PARTS];

		parts_of(one, c, w->walk_ns, parts);
		for (enum part p = 0; p < PARTS; p++)
			w->parts[p] += parts[p];
		per_io += !!(one->flags & SCAN_PER_IO);
		w->replay[i] = (struct replay_close){ listed(one), one->matched > 0 };
		w->listed += (double)listed(one) / w->nr;
	}
	w->total = sum_of(w->parts);
	w->traced = per_io ? REF_WAITERS_PER_IO : REF_WAITERS_GLOBAL;
	w->other = per_io ? REF_WAITERS_GLOBAL : REF_WAITERS_PER_IO;
	return 0;
}

static void work_release(struct work *w)
{
	free(w->replay);
}

/* What the scan of @one would take in the other design: with one list for all, as it is long. */
static double other_scan(const struct work *w, const struct close_one *one, double mean_ns)
{
	if (w->other == REF_WAITERS_PER_IO || w->listed == 0)
		return mean_ns;
	return mean_ns * listed(one) / w->listed;
}

struct prediction {
	struct sample before, after;	/* each close, ns */
	double saved_wait_ns;		/* of threads that were queued meanwhile */
};

static void prediction_release(struct prediction *p)
{
	sample_release(&p->before);
	sample_release(&p->after);
}

static int predict(struct prediction *p, const struct work *w, const struct comparison *c,
		   double mean_scan_ns)
{
	for (size_t i = 0; i < c->nr_closes; i++) {
		const struct close_one *one = &c->closes[i];
		double parts[PARTS], scan = other_scan(w, one, mean_scan_ns), total;

		parts_of(one, c, w->walk_ns, parts);
		total = sum_of(parts);
		if (sample_add(&p->before, total) ||
		    sample_add(&p->after, total - parts[PART_SCAN] + scan))
			return -ENOMEM;
		p->saved_wait_ns += (parts[PART_SCAN] - scan) * one->nr_queued;
	}
	return 0;
}

static const struct findings_column calibration_columns[] = {
	{ "part", "of a close", FINDING_LABEL },
	{ "traced_ns", "traced", FINDING_NS },
	{ "reference_ns", "reference", FINDING_NS },
	{ "error", "error", FINDING_SHARE },
};

static void calibration_row(struct findings *f, const char *part, double traced_ns,
			    const struct sample *reference)
{
	struct figure did;

	findings_label(f, part);
	findings_number(f, traced_ns);
	if (sample_figure(reference, &did))
		f->is_broken = true;
	findings_figure(f, &did);
	if (traced_ns > 0)
		findings_number(f, fabs(did.value - traced_ns) / traced_ns);
	else
		findings_figure(f, NULL);
}

/*
 * How far the close time would be off if the reference's scan in the design that was traced stood for Ruby's.
 */
static double calibrate(struct findings *f, const struct work *w, const struct replayed *did)
{
	double traced = w->parts[PART_SCAN] / w->nr;
	double error = fabs(sample_median(&did->scan) - traced) * w->nr / w->total;

	findings_table(f, "close_calibration", "Closes: traced, and done again by the reference",
		       calibration_columns, ARRAY_LEN(calibration_columns));
	calibration_row(f, "scan", traced, &did->scan);
	calibration_row(f, "wait", w->parts[PART_WAIT] / w->nr, &did->wait);
	calibration_row(f, "close(2)", w->parts[PART_CALL] / w->nr, &did->call);
	return error;
}

static const struct findings_column close_columns[] = {
	{ "what", "what", FINDING_LABEL },
	{ "before", "traced", FINDING_NS },
	{ "after", "predicted", FINDING_NS },
};

static void row(struct findings *f, const char *what, double before, double after)
{
	findings_label(f, what);
	findings_number(f, before);
	findings_number(f, after);
}

static void say(struct findings *f, const struct work *w, const struct figure *speedup, double saved)
{
	double share = 100 * w->parts[PART_SCAN] / w->total;
	const char *speed = compare_words(speedup).text;

	if (w->other == REF_WAITERS_PER_IO)
		findings_say(f, "With a list of waiters for each IO (Ruby 4.0) the scan's %.1f %% of close time "
			     "would vanish: closes %s, %.1f %% less waiting for the lock.", share, speed,
			     100 * saved);
	else
		findings_say(f, "With one list for all waiters (Ruby up to 3.4) each close would scan about "
			     "%.0f of them: closes %s, %.1f %% more waiting for the lock.", w->listed, speed,
			     -100 * saved);
}

static int fill(struct findings *f, const struct work *w, const struct comparison *c,
		const struct replayed did[REF_WAITERS_DESIGNS])
{
	auto_release(prediction_release) struct prediction p = { 0 };
	double waited = comparison_waited_ns(c), saved, error, mean;
	struct figure speedup;

	if (predict(&p, w, c, sample_median(&did[w->other].scan)) ||
	    sample_sum_ratio(&p.after, &p.before, &speedup))
		return -ENOMEM;
	saved = waited > 0 ? p.saved_wait_ns / waited : 0;
	say(f, w, &speedup, saved);
	findings_fact(f, "speedup_close", "closes: traced / predicted", FINDING_RATIO, &speedup);
	error = calibrate(f, w, &did[w->traced]);
	findings_fact(f, "close_error", "closes: error of the calibration", FINDING_SHARE,
		      &(struct figure){ .value = error, .nr = 1 });
	findings_fact(f, "close_wait_saved", "waiting for the lock that would vanish", FINDING_SHARE,
		      &(struct figure){ .value = saved, .nr = 1 });
	findings_fact_text(f, "close_trusted", "closes: to be trusted", error <= COMPARE_ERROR_MAX ? "yes" :
			   "no: the reference's scan is too far from the one that was traced");
	mean = sample_mean(&p.after);
	findings_table(f, "close", "Closes, each", close_columns, ARRAY_LEN(close_columns));
	row(f, "close", w->total / w->nr, mean);
	row(f, "scan, with the lock held", w->parts[PART_SCAN] / w->nr,
	    mean - (w->total - w->parts[PART_SCAN]) / w->nr);
	return 0;
}

static void release_all(struct replayed (*did)[REF_WAITERS_DESIGNS])
{
	for (size_t i = 0; i < REF_WAITERS_DESIGNS; i++)
		replayed_release(&(*did)[i]);
}

int compare_closes(struct findings *f, const struct comparison *c, struct err *e)
{
	auto_release(release_all) struct replayed did[REF_WAITERS_DESIGNS] = { 0 };
	auto_release(work_release) struct work w = { 0 };
	int err;

	if (!c->nr_closes)
		return 1;
	if (work_init(&w, c))
		return err_nomem(e);
	err = replay_closes(w.replay, w.nr, w.traced, w.other, did, e);
	if (err)
		return err;
	return fill(f, &w, c, did) ? err_nomem(e) : 0;
}
