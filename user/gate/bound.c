// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bounds of a policy, which need no baseline. */
#include <errno.h>

#include "gate/judge.h"

#define ONE_OR_MORE(n) (n), (n) == 1 ? "" : "s"

static bool is_kept(const struct rule *r, double v)
{
	switch (r->kind) {
	case RULE_BELOW:
		return v < r->bound;
	case RULE_AT_MOST:
		return v <= r->bound;
	case RULE_EQUAL:
		return v == r->bound;
	case RULE_AT_LEAST:
		return v >= r->bound;
	case RULE_ABOVE:
		return v > r->bound;
	case RULE_COMPARE:
		break;
	}
	return false;
}

/* Counts: every run has to keep it. */
static void judge_every_run(const struct tally *after, size_t kept, struct verdict *v)
{
	size_t nr = v->after.nr;

	if (kept < nr)
		judge_say(v, VERDICT_BROKEN, "%zu of %zu run%s did not keep the bound", nr - kept, ONE_OR_MORE(nr));
	else if (after->nr_uncertain)
		judge_say(v, VERDICT_INCONCLUSIVE, "the values keep the bound, but %zu of %zu are not certain",
			  after->nr_uncertain, nr);
	else
		judge_say(v, VERDICT_PASS, "every run kept the bound");
}

/* Times: the median has to, and what else it could be. */
static int judge_median(size_t kept, struct verdict *v)
{
	struct figure f;

	if (sample_figure(&v->after, &f))
		return -ENOMEM;
	if (is_kept(v->rule, f.low) && is_kept(v->rule, f.high))
		judge_say(v, VERDICT_PASS, "the median keeps the bound, with %zu of %zu run%s", kept,
			  ONE_OR_MORE(v->after.nr));
	else if (!is_kept(v->rule, f.low) && !is_kept(v->rule, f.high))
		judge_say(v, VERDICT_BROKEN, "the median does not keep the bound, with %zu of %zu run%s",
			  v->after.nr - kept, ONE_OR_MORE(v->after.nr));
	else
		judge_say(v, VERDICT_INCONCLUSIVE, "%zu of %zu runs kept the bound: the median is too close to it",
			  kept, v->after.nr);
	return 0;
}

int judge_bound(const struct tally *after, struct verdict *v)
{
	bool is_upper = v->rule->kind == RULE_BELOW || v->rule->kind == RULE_AT_MOST;
	size_t kept = 0;

	if (!after->nr_runs) {
		judge_say(v, VERDICT_INCONCLUSIVE, "the candidate has no usable run");
		return 0;
	}
	if (after->nr_absent) {
		judge_say(v, VERDICT_INCONCLUSIVE, "not measured in %zu of %zu run%s", after->nr_absent,
			  ONE_OR_MORE(after->nr_runs));
		return 0;
	}
	if (!v->after.nr) {
		judge_say(v, is_upper ? VERDICT_PASS : VERDICT_INCONCLUSIVE,
			  "nothing happened that it could be of");
		return 0;
	}
	v->evidence = EVIDENCE_BOUND;
	for (size_t i = 0; i < v->after.nr; i++)
		kept += is_kept(v->rule, v->after.values[i]);
	if (v->rule->metric->kind == METRIC_TIME && v->rule->kind != RULE_EQUAL)
		return judge_median(kept, v);
	judge_every_run(after, kept, v);
	return 0;
}
