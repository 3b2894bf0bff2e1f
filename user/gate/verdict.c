// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "gate/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gate/judge.h"
#include "util/scope.h"

const char *verdict_name(enum verdict_result r)
{
	static const char *const names[VERDICT_RESULTS] = {
		[VERDICT_PASS] = "pass",
		[VERDICT_IMPROVED] = "improved",
		[VERDICT_NOT_MEASURED] = "not-measured",
		[VERDICT_INCOMPARABLE] = "incomparable",
		[VERDICT_INCONCLUSIVE] = "inconclusive",
		[VERDICT_REGRESSION] = "regression",
		[VERDICT_BROKEN] = "broken",
	};

	return names[r];
}

const char *evidence_name(enum verdict_evidence v)
{
	static const char *const names[] = { "none", "exact", "test", "bound" };

	return names[v];
}

bool verdict_is_bad(enum verdict_result r)
{
	return r == VERDICT_REGRESSION || r == VERDICT_BROKEN;
}

bool verdict_is_open(enum verdict_result r)
{
	return r == VERDICT_INCONCLUSIVE || r == VERDICT_INCOMPARABLE;
}

void judge_say(struct verdict *v, enum verdict_result result, const char *fmt, ...)
{
	va_list args;

	v->result = result;
	va_start(args, fmt);
	vsnprintf(v->why, sizeof(v->why), fmt, args);
	va_end(args);
}

/* Room for one more note, or NULL. */
static struct gate_note *add_note(struct gate *g)
{
	struct gate_note *more = reallocarray(g->notes, g->nr_notes + 1, sizeof(*more));

	if (!more)
		return NULL;
	g->notes = more;
	return &g->notes[g->nr_notes++];
}

static int note_unusable(struct gate *g, const struct runs *r, const char *side)
{
	for (size_t i = 0; r && i < r->nr; i++) {
		const struct run *run = &r->run[i];
		struct gate_note *n;

		if (!run->unusable)
			continue;
		n = add_note(g);
		if (!n)
			return -ENOMEM;
		snprintf(n->text, sizeof(n->text), "%s run %zu (%.200s) cannot be used: %.200s", side, i + 1,
			 run->name, run->unusable);
	}
	return 0;
}

static const struct run *first_usable(const struct runs *r)
{
	for (size_t i = 0; r && i < r->nr; i++)
		if (!r->run[i].unusable)
			return &r->run[i];
	return NULL;
}

/* The parts in which @r's runs differ from @first, and for those not yet in @known a note each. */
static int note_differences(struct gate *g, const struct run *first, const struct runs *r, unsigned int *known)
{
	for (size_t i = 0; first && r && i < r->nr; i++) {
		const struct run *run = &r->run[i];
		unsigned int diff = run->unusable ? 0 : fingerprint_diff(&first->where, &run->where);

		for (int p = 0; p < FINGERPRINT_PARTS; p++) {
			struct gate_note *n;

			if (!(diff & ~*known & 1u << p))
				continue;
			n = add_note(g);
			if (!n)
				return -ENOMEM;
			snprintf(n->text, sizeof(n->text), "%s differs: \"%.160s\" and \"%.160s\"",
				 fingerprint_part_name(p), first->where.part[p], run->where.part[p]);
		}
		*known |= diff;
	}
	return 0;
}

static int tally_side(const struct runs *r, size_t metric, struct sample *values, struct tally *t)
{
	*t = (struct tally){ .is_constant = true };
	for (size_t i = 0; r && i < r->nr; i++) {
		const struct value *v = &r->run[i].values[metric];

		if (r->run[i].unusable)
			continue;
		t->nr_runs++;
		t->nr_absent += v->state == VALUE_ABSENT;
		t->nr_none += v->state == VALUE_NONE;
		t->nr_uncertain += v->state == VALUE_UNCERTAIN;
		if (v->state >= VALUE_UNCERTAIN && sample_add(values, v->number))
			return -ENOMEM;
		t->is_constant &= v->state == VALUE_CERTAIN && v->number == values->values[0];
	}
	return 0;
}

static int tally(struct judge *j, struct gate *g)
{
	const struct gate_input *in = j->in;

	for (size_t i = 0; i < g->nr; i++) {
		struct verdict *v = &g->verdicts[i];
		size_t metric;

		v->rule = &in->policy->rules[i];
		metric = v->rule->metric - metrics;
		if (tally_side(in->baseline, metric, &v->before, &j->before[i]) ||
		    tally_side(in->candidate, metric, &v->after, &j->after[i]))
			return -ENOMEM;
		v->old_value = v->before.nr ? sample_median(&v->before) : NAN;
		v->new_value = v->after.nr ? sample_median(&v->after) : NAN;
		v->change = v->low = v->high = v->level = v->p = NAN;
	}
	return 0;
}

static void conclude(struct gate *g, enum exit_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void conclude(struct gate *g, enum exit_status status, const char *fmt, ...)
{
	va_list args;

	g->status = status;
	va_start(args, fmt);
	vsnprintf(g->summary, sizeof(g->summary), fmt, args);
	va_end(args);
}

/* What it comes to. A pass has to be earned: by verdicts, and without runs that could not be looked at. */
static void sum_up(struct gate *g, const struct gate_input *in)
{
	size_t bad = 0, open = 0, judged = 0, unusable = in->candidate->nr - g->candidate_usable;

	for (size_t i = 0; i < g->nr; i++) {
		const struct verdict *v = &g->verdicts[i];
		bool decides = v->rule->severity == SEVERITY_FAIL;

		g->count[v->result]++;
		bad += decides && verdict_is_bad(v->result);
		open += decides && verdict_is_open(v->result);
		judged += v->result != VERDICT_NOT_MEASURED;
	}
	if (bad)
		conclude(g, EXIT_REGRESSION, "%zu of %zu rules failed", bad, g->nr);
	else if (unusable)
		conclude(g, EXIT_INCONCLUSIVE, "%zu of the candidate's %zu run%s cannot be used", unusable,
			 in->candidate->nr, in->candidate->nr == 1 ? "" : "s");
	else if (open)
		conclude(g, EXIT_INCONCLUSIVE, "%zu of %zu rules could not be decided", open, g->nr);
	else if (!judged)
		conclude(g, EXIT_INCONCLUSIVE, "nothing was measured that a rule asks for");
	else
		conclude(g, EXIT_DONE, "nothing got worse, in %zu of %zu rules", judged, g->nr);
}

static int judge_bounds(const struct judge *j, struct gate *g)
{
	for (size_t i = 0; i < g->nr; i++)
		if (g->verdicts[i].rule->kind != RULE_COMPARE && judge_bound(&j->after[i], &g->verdicts[i]))
			return -ENOMEM;
	return 0;
}

static void scope_gate(struct gate *g)
{
	gate_release(g);
}

int gate_judge(struct gate *out, const struct gate_input *in, struct err *e)
{
	size_t nr = in->policy->nr;
	auto_free struct tally *tallies = calloc(2 * nr + 1, sizeof(*tallies));
	struct judge j = { .in = in, .has_baseline = in->baseline && in->baseline->nr, .before = tallies };
	auto_release(scope_gate) struct gate g = { .verdicts = calloc(nr + 1, sizeof(*g.verdicts)), .nr = nr };
	const struct run *first = first_usable(in->baseline);

	if (!tallies || !g.verdicts)
		return err_nomem(e);
	j.after = tallies + nr;
	g.baseline_usable = in->baseline ? runs_usable(in->baseline) : 0;
	g.candidate_usable = runs_usable(in->candidate);
	j.differs = in->may_differ;
	if (note_unusable(&g, in->baseline, "baseline") || note_unusable(&g, in->candidate, "candidate") ||
	    note_differences(&g, first, in->baseline, &j.differs) ||
	    note_differences(&g, first, in->candidate, &j.differs) || tally(&j, &g))
		return err_nomem(e);
	j.differs &= ~in->may_differ;
	if (judge_comparisons(&j, g.verdicts) || judge_bounds(&j, &g))
		return err_nomem(e);
	sum_up(&g, in);
	*out = g;
	g = (struct gate){ 0 };
	return 0;
}

void gate_release(struct gate *g)
{
	for (size_t i = 0; g->verdicts && i < g->nr; i++) {
		sample_release(&g->verdicts[i].before);
		sample_release(&g->verdicts[i].after);
	}
	free(g->verdicts);
	free(g->notes);
	*g = (struct gate){ 0 };
}
