// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Only the scan differs between the designs: waiting until the interrupted threads have left, and close(2),
 * are the same work in both. So a close is predicted to take what it took, with its scan replaced by the
 * reference's in the other design. A long scan leaves caches behind that have nothing of what comes next:
 * close(2) is predicted to change in the ratio of the reference's two designs, waiting by their difference, for
 * only threads' waking up is alike. Where there was nobody to scan, nothing changes.
 *
 * The closes are dealt out to HANDS hands in turn, each of which gives one mean; figures are medians of these,
 * so that the few closes in the midst of which a thread lost its processor do not decide.
 */
#include "ref/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "ref/replay.h"
#include "util/scope.h"

enum { HANDS = 25 };

/* In which order the traced threads came to their list is not known. */
enum way { WAY_TRACED, WAY_SHUFFLED, WAY_OTHER, WAYS };

/* Of a close, ns, without what the probes took. */
enum part { PART_SCAN, PART_WAIT, PART_CALL, PART_OTHER, PARTS };

struct hand {
	double parts[PARTS];		/* as traced */
	double after[PARTS];		/* as predicted */
	size_t nr;
};

struct work {
	const struct comparison *c;
	enum ref_waiters_design traced, other;
	struct replay_close *replay;
	struct hand hands[HANDS];
	size_t nr_hands;
	double listed;			/* mean */
	double walk_ns;			/* of the probes, for each close that interrupted somebody */
	double scan_ns;			/* the reference's, in the other design */
	double call_ratio;		/* the reference's close(2), other to traced */
	double saved_waking_ns;		/* the reference's wait, traced less other */
	double saved_wait_ns;		/* of threads that were queued while a scan lasted */
};

static double less(double ns, double probes_ns)
{
	return ns > probes_ns ? ns - probes_ns : 0;
}

/*
 * The second half of the first probe and the first half of the second lie in the scan, the rest of that one
 * behind it. Then comes one for each change of the lock or its queue, and where somebody was interrupted the
 * walk that tells whom.
 */
static void parts_of(const struct work *w, const struct close_one *one, double parts[PARTS])
{
	double trap_ns = w->c->trap_ns, rest = one->total_ns - one->scan_ns - one->call_ns;

	rest = less(rest, trap_ns / 2 + w->c->change_ns * one->switches + (one->matched ? w->walk_ns : 0));
	parts[PART_SCAN] = one->flags & SCAN_UNTIMED ? 0 : less(one->scan_ns, trap_ns);
	parts[PART_CALL] = one->call_ns;
	parts[PART_WAIT] = one->matched ? rest : 0;
	parts[PART_OTHER] = one->matched ? 0 : rest;
}

/* How many waiters a scan of one list for all would have met. */
static uint64_t listed(const struct close_one *one)
{
	if (one->flags & SCAN_PER_IO)
		return one->nr_blocked;
	return one->visited == WAITERS_UNKNOWN ? 0 : one->visited;
}

/* What is to be done again. 0 or -ENOMEM. */
static int work_init(struct work *w, const struct comparison *c)
{
	size_t per_io = 0, matched = 0;

	*w = (struct work){ .c = c, .replay = calloc(c->nr_closes, sizeof(*w->replay)) };
	if (!w->replay)
		return -ENOMEM;
	for (size_t i = 0; i < c->nr_closes; i++) {
		const struct close_one *one = &c->closes[i];

		per_io += !!(one->flags & SCAN_PER_IO);
		matched += one->matched > 0;
		w->replay[i] = (struct replay_close){ listed(one), one->matched > 0 };
		w->listed += (double)listed(one) / c->nr_closes;
	}
	w->walk_ns = matched ? c->walk_ns / matched : 0;
	w->traced = per_io ? REF_WAITERS_PER_IO : REF_WAITERS_GLOBAL;
	w->other = per_io ? REF_WAITERS_GLOBAL : REF_WAITERS_PER_IO;
	w->nr_hands = c->nr_closes < HANDS ? c->nr_closes : HANDS;
	return 0;
}

static void work_release(struct work *w)
{
	free(w->replay);
}

/* With one list for all it is as long as that list. */
static double other_scan(const struct work *w, const struct close_one *one)
{
	return w->other == REF_WAITERS_PER_IO ? w->scan_ns : w->scan_ns * listed(one) / w->listed;
}

static void predict_one(struct work *w, const struct close_one *one, struct hand *h)
{
	double parts[PARTS], after[PARTS];

	parts_of(w, one, parts);
	for (enum part p = 0; p < PARTS; p++)
		after[p] = parts[p];
	if (listed(one)) {
		after[PART_SCAN] = other_scan(w, one);
		after[PART_CALL] *= w->call_ratio;
		after[PART_OTHER] *= w->call_ratio;
		after[PART_WAIT] = less(parts[PART_WAIT], one->matched ? w->saved_waking_ns : 0);
	}
	for (enum part p = 0; p < PARTS; p++) {
		h->parts[p] += parts[p];
		h->after[p] += after[p];
	}
	h->nr++;
	w->saved_wait_ns += (parts[PART_SCAN] - after[PART_SCAN]) * one->nr_queued;
}

static void predict(struct work *w, const struct replayed did[WAYS])
{
	double call = sample_median(&did[WAY_TRACED].call);

	w->scan_ns = sample_median(&did[WAY_OTHER].scan);
	w->saved_waking_ns = sample_median(&did[WAY_TRACED].wait) - sample_median(&did[WAY_OTHER].wait);
	w->call_ratio = call > 0 ? sample_median(&did[WAY_OTHER].call) / call : 1;
	for (size_t i = 0; i < w->c->nr_closes; i++)
		predict_one(w, &w->c->closes[i], &w->hands[i % w->nr_hands]);
}

/* The means of all hands: of the @part, or with PARTS of all of a close. */
static void means(struct findings *f, const struct work *w, bool is_after, enum part part,
		  struct sample *out)
{
	for (size_t i = 0; i < w->nr_hands; i++) {
		const struct hand *h = &w->hands[i];
		const double *parts = is_after ? h->after : h->parts;
		double sum = 0;

		for (enum part p = 0; p < PARTS; p++)
			sum += part == PARTS || part == p ? parts[p] : 0;
		if (sample_add(out, sum / h->nr))
			f->is_broken = true;
	}
}

static struct figure mean_of(struct findings *f, const struct work *w, bool is_after, enum part part)
{
	struct sample s = { 0 };
	struct figure v;

	means(f, w, is_after, part, &s);
	v = findings_median(f, &s);
	sample_release(&s);
	return v;
}

static struct figure speedup_of(struct findings *f, const struct work *w)
{
	struct sample before = { 0 }, after = { 0 };
	struct figure v;

	means(f, w, false, PARTS, &before);
	means(f, w, true, PARTS, &after);
	v = findings_ratio(f, &after, &before);
	sample_release(&before);
	sample_release(&after);
	return v;
}

static const struct findings_column calibration_columns[] = {
	{ "part", "of a close", FINDING_LABEL },
	{ "traced_ns", "traced", FINDING_NS },
	{ "reference_ns", "reference", FINDING_NS },
	{ "error", "error", FINDING_SHARE },
};

static double error_of(double reference, double traced)
{
	return traced > 0 ? fabs(reference / traced - 1) : reference > 0;
}

static void calibration_row(struct findings *f, const char *part, const struct figure *traced,
			    const struct sample *reference)
{
	struct figure did = findings_median(f, reference);

	findings_label(f, part);
	findings_figure(f, traced);
	findings_figure(f, &did);
	findings_number(f, error_of(did.value, traced->value));
}

/*
 * How far the close time would be off if the reference's scan in the design that was traced stood for Ruby's:
 * of the two orders the nearer. The reference's waiters raise no exception, and all that it closes are pipes:
 * wait and close(2) are told, but nothing is predicted from them.
 */
static double calibrate(struct findings *f, const struct work *w, const struct replayed did[WAYS])
{
	struct figure scan = mean_of(f, w, false, PART_SCAN), wait = mean_of(f, w, false, PART_WAIT);
	struct figure call = mean_of(f, w, false, PART_CALL), all = mean_of(f, w, false, PARTS);
	double error = fmin(fabs(sample_median(&did[WAY_TRACED].scan) - scan.value),
			    fabs(sample_median(&did[WAY_SHUFFLED].scan) - scan.value));

	findings_table(f, "close_calibration", "Closes: traced, and done again by the reference",
		       calibration_columns, ARRAY_LEN(calibration_columns));
	calibration_row(f, "scan", &scan, &did[WAY_TRACED].scan);
	calibration_row(f, "... of a list in no order", &scan, &did[WAY_SHUFFLED].scan);
	calibration_row(f, "wait", &wait, &did[WAY_TRACED].wait);
	calibration_row(f, "close(2)", &call, &did[WAY_TRACED].call);
	return all.value > 0 ? error / all.value : 0;
}

static const struct findings_column close_columns[] = {
	{ "what", "what", FINDING_LABEL },
	{ "traced_ns", "traced", FINDING_NS },
	{ "predicted_ns", "predicted", FINDING_NS },
};

static void add_parts(struct findings *f, const struct work *w)
{
	static const char *const names[] = {
		[PART_SCAN] = "scan, with the lock held", [PART_WAIT] = "wait until they left",
		[PART_CALL] = "close(2)", [PART_OTHER] = "the rest", [PARTS] = "all of it",
	};

	findings_table(f, "close_parts", "A close", close_columns, ARRAY_LEN(close_columns));
	for (enum part p = 0; p <= PARTS; p++) {
		struct figure before = mean_of(f, w, false, p), after = mean_of(f, w, true, p);

		findings_label(f, names[p]);
		findings_figure(f, &before);
		findings_figure(f, &after);
	}
}

static void say(struct findings *f, const struct work *w, const struct figure *speedup, double saved,
		bool is_trusted)
{
	double all = mean_of(f, w, false, PARTS).value;
	double share = all > 0 ? 100 * mean_of(f, w, false, PART_SCAN).value / all : 0;
	struct compare_words speed = compare_words(speedup);

	if (w->other == REF_WAITERS_PER_IO)
		findings_say(f, "With a list of waiters for each IO (Ruby 4.0) the scan's %.1f %% of close time "
			     "would vanish: closes %s, %.1f %% less waiting for the lock.%s", share, speed.text,
			     100 * saved, is_trusted ? "" : COMPARE_UNTRUSTED);
	else
		findings_say(f, "With one list for all waiters (Ruby up to 3.4) each close would scan up to "
			     "%.0f of them: closes %s, %.1f %% more waiting for the lock.%s", w->listed,
			     speed.text, 100 * fabs(saved), is_trusted ? "" : COMPARE_UNTRUSTED);
}

/* Why not to trust the prediction, or NULL. How long a probe took is not known better than to a quarter. */
static const char *doubt(struct findings *f, const struct work *w, double error)
{
	double least = fmin(mean_of(f, w, false, PARTS).value, mean_of(f, w, true, PARTS).value);

	if (error > COMPARE_ERROR_MAX)
		return "no: the reference's scan is too far from the one that was traced";
	if (w->c->trap_ns > least)
		return "no: a probe takes longer than such a close";
	return NULL;
}

static void fill(struct findings *f, const struct work *w, const struct replayed did[WAYS])
{
	struct figure speedup = speedup_of(f, w);
	double waited = comparison_waited_ns(w->c), error = calibrate(f, w, did);
	double saved = waited > 0 ? w->saved_wait_ns / waited : 0;
	const char *why = doubt(f, w, error);

	say(f, w, &speedup, saved, !why);
	findings_fact(f, "speedup_close", "closes: speed-up", FINDING_RATIO, &speedup);
	findings_fact(f, "close_wait_saved", "closes: waiting saved", FINDING_SHARE,
		      &(struct figure){ .value = saved, .nr = 1 });
	findings_fact(f, "close_error", "closes: calibration off by", FINDING_SHARE,
		      &(struct figure){ .value = error, .nr = 1 });
	findings_fact_text(f, "close_trusted", "closes: trusted", why ? why : "yes");
	add_parts(f, w);
}

static void release_all(struct replayed (*did)[WAYS])
{
	for (size_t i = 0; i < WAYS; i++)
		replayed_release(&(*did)[i]);
}

int compare_closes(struct findings *f, const struct comparison *c, const struct compare_options *o,
		   struct err *e)
{
	auto_release(release_all) struct replayed did[WAYS] = { 0 };
	auto_release(work_release) struct work w = { 0 };
	int err;

	if (!c->nr_closes)
		return 1;
	if (work_init(&w, c))
		return err_nomem(e);
	if (w.listed == 0)
		return 1;
	err = replay_closes(w.replay, c->nr_closes, (const struct replay_way[WAYS]) {
		[WAY_TRACED] = { w.traced, false }, [WAY_SHUFFLED] = { w.traced, true },
		[WAY_OTHER] = { w.other, false } }, WAYS, o->is_interrupted, did, e);
	if (err)
		return err;
	predict(&w, did);
	fill(f, &w, did);
	return 0;
}
