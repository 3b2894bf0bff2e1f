// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What several formats of a gate say in the same words. */
#include <math.h>
#include <string.h>

#include "render/gate.h"
#include "render/quantity.h"

const char *gate_status_name(enum exit_status s)
{
	switch (s) {
	case EXIT_DONE:
		return "passed";
	case EXIT_REGRESSION:
		return "regression";
	default:
		return "inconclusive";
	}
}

struct gate_words gate_rule(const struct rule *r)
{
	struct gate_words w = { "" };

	if (r->kind == RULE_COMPARE)
		snprintf(w.text, sizeof(w.text), "%s", r->metric->name);
	else
		snprintf(w.text, sizeof(w.text), "%s %s %s", r->metric->name, rule_sign(r->kind),
			 quantity(r->bound, r->metric->unit).text);
	return w;
}

/* One byte more in a mebibyte must be seen. */
struct unit gate_value(const struct verdict *v, double value)
{
	const struct metric *m = v->rule->metric;
	struct unit u;

	if (m->kind == METRIC_TIME || isnan(value) || (m->unit != FINDING_BYTES && m->unit != FINDING_COUNT))
		return quantity(value, m->unit);
	u = unit_fact(value);
	if (m->unit == FINDING_BYTES)
		strcat(u.text, " B");		/* at most 26 + 2 characters */
	return u;
}

struct unit gate_change(double change)
{
	struct unit u = { "-" };

	if (isinf(change))
		return (struct unit){ "from 0" };
	if (change == 0)
		return (struct unit){ "none" };
	if (!isnan(change))
		snprintf(u.text, sizeof(u.text), "%c%.30s", change < 0 ? '-' : '+',
			 unit_share(fabs(change)).text);
	return u;
}

struct gate_words gate_interval(const struct verdict *v)
{
	struct gate_words w = { "" };
	bool has_low = v->low > -1, has_high = !isinf(v->high);

	if (v->evidence != EVIDENCE_TEST || (!has_low && !has_high))
		return w;
	if (!has_high)
		snprintf(w.text, sizeof(w.text), "%s or more", gate_change(v->low).text);
	else
		snprintf(w.text, sizeof(w.text), "%s to %s", gate_change(v->low).text,
			 gate_change(v->high).text);
	return w;
}

struct gate_words gate_evidence(const struct verdict *v)
{
	struct gate_words w = { "" };
	struct gate_words interval = gate_interval(v);
	FILE *out = fmemopen(w.text, sizeof(w.text) - 1, "w");

	if (!out)
		return w;
	if (!isnan(v->old_value))
		fprintf(out, "old %s, ", gate_value(v, v->old_value).text);
	fprintf(out, "new %s", gate_value(v, v->new_value).text);
	if (!isnan(v->change))
		fprintf(out, ", change %s", gate_change(v->change).text);
	if (*interval.text)
		fprintf(out, " (%s interval %s)", unit_share(v->level).text, interval.text);
	if (!isnan(v->p) && verdict_is_bad(v->result))
		fprintf(out, ", p %s", unit_real(v->p).text);
	if (v->nr_pairs)
		fprintf(out, ", %s pair%s", unit_count(v->nr_pairs).text, v->nr_pairs == 1 ? "" : "s");
	fclose(out);
	return w;
}

enum gate_rank gate_rank(const struct verdict *v)
{
	bool is_fail = v->rule->severity == SEVERITY_FAIL;

	if (v->result == VERDICT_NOT_MEASURED)
		return GATE_ABSENT;
	if (verdict_is_bad(v->result))
		return is_fail ? GATE_FAILS : GATE_WARNS;
	if (verdict_is_open(v->result))
		return is_fail ? GATE_OPEN : GATE_WARNS;
	return v->result == VERDICT_IMPROVED ? GATE_IMPROVED : GATE_FINE;
}

bool gate_has_value(const struct gate *g, size_t i)
{
	if (isnan(g->verdicts[i].new_value))
		return false;
	for (size_t k = 0; k < i; k++)
		if (g->verdicts[k].rule->metric == g->verdicts[i].rule->metric)
			return false;
	return true;
}
