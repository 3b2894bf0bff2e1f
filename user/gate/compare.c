// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Comparisons with a baseline.
 *
 * The difference of a pair is the logarithm of after / before, turned so that more is worse: changing sides changes
 * its sign, and a change by a factor moves it by the same, however much the runs scatter.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "gate/judge.h"
#include "stat/paired.h"
#include "util/scope.h"

/* Chance at either side of the intervals: they are of 95 %. */
#define TAIL 0.025

/* A second half has to show this part of the minimum effect on its own. */
#define CONFIRM 0.5

/* More runs than this are not worth asking for. */
#define RUNS_MAX 100000

/* What is there in one run of a pair only counts as 20 times as much: the logarithm. */
#define FROM_NOTHING 3

static double difference(const struct rule *r, struct value before, struct value after)
{
	double a = before.number, b = after.number, d;

	if (before.state < VALUE_UNCERTAIN || after.state < VALUE_UNCERTAIN)
		return NAN;
	if (a > 0 && b > 0)
		d = log(b / a);
	else
		d = FROM_NOTHING * ((b > 0) - (a > 0));
	return r->is_higher_better ? -d : d;
}

/* The difference of a pair that is worse by @share of what it was. */
static double difference_of(const struct rule *r, double share)
{
	if (!r->is_higher_better)
		return log1p(share);
	return share < 1 ? -log1p(-share) : INFINITY;
}

/* The relative change that a difference stands for, for people. */
static double change_of(const struct verdict *v, double d)
{
	d = v->rule->is_higher_better ? -d : d;
	if (v->old_value == 0 && d > 0)
		return INFINITY;
	return expm1(d);
}

/* The differences of a rule's pairs: their mean, and how far they scatter. */
struct spread {
	double mean, deviation;
	double second_half;	/* mean of it */
};

static struct spread spread_of(const double *d, size_t nr_pairs, size_t nr)
{
	struct spread s = { 0 };
	double squares = 0;
	size_t seen = 0, half = nr / 2;

	for (size_t i = 0; i < nr_pairs; i++) {
		if (isnan(d[i]))
			continue;
		s.mean += d[i] / nr;
		if (seen++ >= half)
			s.second_half += d[i] / (nr - half);
	}
	for (size_t i = 0; i < nr_pairs; i++)
		if (!isnan(d[i]))
			squares += (d[i] - s.mean) * (d[i] - s.mean);
	s.deviation = nr > 1 ? sqrt(squares / (nr - 1)) : 0;
	return s;
}

/* How many standard deviations the chance @tail is away from the middle of a normal distribution. */
static double normal_tail(double tail)
{
	double low = 0, high = 10;

	for (int i = 0; i < 50; i++) {
		double middle = (low + high) / 2;

		if (erfc(middle / M_SQRT2) / 2 > tail)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * How many runs decide in four of five cases, if the effect and the scatter are those seen so far: either that
 * it is below the limit, or, if it is large enough, that it is there.
 */
static size_t runs_needed(const struct spread *s, double limit, double minimum, double alarms)
{
	double pass = limit - s->mean, fail = s->mean >= minimum ? s->mean : 0, needed = INFINITY;
	double sure = normal_tail(0.2);		/* in four of five cases */

	if (pass > 0)
		needed = pow((normal_tail(TAIL) + sure) * s->deviation / pass, 2);
	if (fail > 0)
		needed = fmin(needed, pow((normal_tail(alarms) + sure) * s->deviation / fail, 2));
	needed = fmin(ceil(needed), RUNS_MAX);
	return fmax(needed, paired_least(alarms));
}

static void decide(struct verdict *v, const struct paired *t, const struct spread *s, double alarms)
{
	const struct rule *r = v->rule;
	double limit = difference_of(r, r->limit), minimum = difference_of(r, r->minimum);
	bool is_worse = t->p_up <= alarms && t->low > 0 && t->mean >= minimum;
	bool is_better = t->p_down <= alarms && t->high < 0 && -t->mean >= minimum;

	if (isinf(t->high))
		judge_say(v, VERDICT_INCONCLUSIVE, "too few pairs of runs to tell a change from chance");
	else if (is_worse && s->second_half > 0 && s->second_half >= CONFIRM * minimum)
		judge_say(v, VERDICT_REGRESSION, "worse, and the second half of the runs agrees");
	else if (is_worse)
		judge_say(v, VERDICT_INCONCLUSIVE, "worse, but the second half of the runs does not agree");
	else if (is_better && -s->second_half >= CONFIRM * minimum)
		judge_say(v, VERDICT_IMPROVED, "better, and the second half of the runs agrees");
	else if (t->high < limit && t->low > 0 && t->mean < minimum)
		judge_say(v, VERDICT_PASS, "worse by less than matters to the policy");
	else if (t->high < limit && t->low > 0)
		judge_say(v, VERDICT_PASS, "worse perhaps, but not by as much as the limit");
	else if (t->high < limit)
		judge_say(v, VERDICT_PASS, "not worse by as much as the limit");
	else
		judge_say(v, VERDICT_INCONCLUSIVE, t->low > 0 ?
			  "worse, but with too few runs or too much noise to be sure" :
			  "too much noise: it could be the same, or worse by more than the limit");
	if (v->result == VERDICT_INCONCLUSIVE)
		v->runs_needed = runs_needed(s, limit, minimum, alarms);
	if (v->result == VERDICT_INCONCLUSIVE && v->runs_needed <= t->nr)
		v->runs_needed = 2 * t->nr;
}

static void judge_tested(struct verdict *v, const struct paired *t, const double *d, size_t nr_pairs, double alarms)
{
	const struct rule *r = v->rule;
	struct spread s = spread_of(d, nr_pairs, t->nr);

	v->evidence = EVIDENCE_TEST;
	v->nr_pairs = t->nr;
	v->change = change_of(v, t->mean);
	v->low = change_of(v, r->is_higher_better ? t->high : t->low);
	v->high = change_of(v, r->is_higher_better ? t->low : t->high);
	v->level = 1 - 2 * TAIL;
	v->p = t->p_up;
	decide(v, t, &s, alarms);
}

/* A fact that scheduling has a say in shows itself only where a side has more than one run. */
static void judge_exact(struct verdict *v)
{
	const char *runs = v->before.nr > 1 && v->after.nr > 1 ? "the same in all runs of either side" :
			   "of one run on a side";

	double a = v->old_value, b = v->new_value;

	v->evidence = EVIDENCE_EXACT;
	v->change = v->low = v->high = a == b ? 0 : a > 0 ? b / a - 1 : INFINITY;
	if (a == b)
		judge_say(v, VERDICT_PASS, "the same in all runs");
	else if ((b > a) == v->rule->is_higher_better)
		judge_say(v, VERDICT_IMPROVED, "%s, and better", runs);
	else
		judge_say(v, VERDICT_REGRESSION, "%s, and worse", runs);
}

/* True if that says it all: there is nothing to test. */
static bool judge_untested(const struct judge *j, size_t i, struct verdict *v)
{
	const struct tally *before = &j->before[i], *after = &j->after[i];
	bool is_before = before->nr_absent < before->nr_runs, is_after = after->nr_absent < after->nr_runs;
	enum metric_kind kind = v->rule->metric->kind;

	if (!j->has_baseline)
		judge_say(v, VERDICT_NOT_MEASURED, "there is no baseline to compare with");
	else if (!before->nr_runs || !after->nr_runs)
		judge_say(v, VERDICT_INCONCLUSIVE, "the %s has no usable run",
			  before->nr_runs ? "candidate" : "baseline");
	else if (!is_before && !is_after)
		judge_say(v, j->in->policy->is_default ? VERDICT_NOT_MEASURED : VERDICT_INCONCLUSIVE,
			  "not measured on either side");
	else if (!is_before || !is_after)
		judge_say(v, VERDICT_INCOMPARABLE, "not measured in the %s", is_after ? "baseline" : "candidate");
	else if (!v->before.nr && !v->after.nr)
		judge_say(v, VERDICT_NOT_MEASURED, "nothing happened on either side that it could be of");
	else if (!v->before.nr || !v->after.nr)
		judge_say(v, VERDICT_NOT_MEASURED, "nothing happened in the %s that it could be of",
			  v->before.nr ? "candidate" : "baseline");
	else if (kind == METRIC_TIME && j->differs)
		judge_say(v, VERDICT_INCOMPARABLE, "a time, and the runs had other conditions");
	else if (kind == METRIC_FACT && before->is_constant && after->is_constant)
		judge_exact(v);
	else
		return false;
	return true;
}

static void fill_pairs(const struct gate_input *in, const struct rule *r, size_t nr_pairs, double *d)
{
	size_t m = r->metric - metrics;

	for (size_t i = 0; i < nr_pairs; i++) {
		const struct run *a = &in->baseline->run[i], *b = &in->candidate->run[i];

		d[i] = a->unusable || b->unusable ? NAN : difference(r, a->values[m], b->values[m]);
	}
}

int judge_comparisons(const struct judge *j, struct verdict *verdicts)
{
	const struct gate_input *in = j->in;
	const struct policy *p = in->policy;
	size_t nr_pairs = 0, nr_tests = 0;
	auto_free struct verdict **tested = calloc(p->nr + 1, sizeof(*tested));
	auto_free struct paired *results = calloc(p->nr + 1, sizeof(*results));
	auto_free double *d = NULL, *least = calloc(p->nr + 1, sizeof(*least));

	if (j->has_baseline)
		nr_pairs = in->baseline->nr < in->candidate->nr ? in->baseline->nr : in->candidate->nr;
	d = calloc(p->nr * nr_pairs + 1, sizeof(*d));
	if (!tested || !results || !least || !d)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr; i++) {
		struct verdict *v = &verdicts[i];

		if (v->rule->kind != RULE_COMPARE || judge_untested(j, i, v))
			continue;
		fill_pairs(in, v->rule, nr_pairs, d + nr_tests * nr_pairs);
		least[nr_tests] = difference_of(v->rule, v->rule->minimum);
		tested[nr_tests++] = v;
	}
	if (paired_test(d, least, nr_tests, nr_pairs, TAIL, results))
		return -ENOMEM;
	for (size_t i = 0; i < nr_tests; i++)
		judge_tested(tested[i], &results[i], d + i * nr_pairs, nr_pairs, p->false_alarms);
	return 0;
}
