// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The candidate's figures as github-action-benchmark's tool customSmallerIsBetter takes them:
 * [{"name", "unit", "value", "range", "extra"}]. A metric of which more is better is not one of these.
 */
#include <math.h>

#include "render/clean.h"
#include "render/gate.h"
#include "render/json.h"
#include "render/quantity.h"

static bool is_higher_better(const struct rule *r)
{
	return r->kind == RULE_COMPARE ? r->is_higher_better :
	       r->kind == RULE_AT_LEAST || r->kind == RULE_ABOVE;
}

/* The larger half of the interval. The action reads a range of two characters and more: "+- 3.0". */
static json_t *range_json(const struct sample *s, struct err *e)
{
	struct figure f;

	if (sample_figure(s, &f)) {
		err_nomem(e);
		return NULL;
	}
	return f.nr > 1 ? json_sprintf("+- %#.4g", fmax(f.high - f.value, f.value - f.low)) : NULL;
}

static json_t *entry(const struct gate_result *r, const struct verdict *v, struct err *e)
{
	const struct metric *m = v->rule->metric;

	return json_pack("{s:o, s:s, s:o, s:o*, s:o}",
			 "name", json_sprintf("%s/%s", clean(r->name).text, m->name),
			 "unit", quantity_unit(m->unit), "value", json_quantity(v->new_value),
			 "range", range_json(&v->after, e),
			 "extra", json_sprintf("%s: %s", verdict_name(v->result), gate_evidence(v).text));
}

int gate_benchmark_action(const struct gate_result *r, FILE *out, struct err *e)
{
	const struct gate *g = r->gate;
	json_t *list = json_array();
	int err = 0;

	for (size_t i = 0; i < g->nr; i++)
		if (gate_has_value(g, i) && !is_higher_better(g->verdicts[i].rule))
			err |= json_array_append_new(list, entry(r, &g->verdicts[i], e));
	if (!err)
		err = json_dumpf(list, out, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(list);
	return err && !ferror(out) ? err_nomem(e) : 0;
}
