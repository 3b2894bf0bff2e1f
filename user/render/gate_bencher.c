// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The candidate's figures in Bencher's Metric Format: a measure a metric, as a measure has one unit:
 * {"NAME": {"gvl.hold_ns.mean": {"value", "lower_value", "upper_value"}}}.
 */
#include "render/clean.h"
#include "render/gate.h"
#include "render/json.h"

static json_t *measure(const struct verdict *v)
{
	json_t *j = json_pack("{s:o}", "value", json_quantity(v->new_value));
	struct figure f;

	if (j && sample_figure(&v->after, &f) == 0 && f.nr > 1) {
		json_object_set_new(j, "lower_value", json_quantity(f.low));
		json_object_set_new(j, "upper_value", json_quantity(f.high));
	}
	return j;
}

int gate_bencher(const struct gate_result *r, FILE *out, struct err *e)
{
	const struct gate *g = r->gate;
	json_t *measures = json_object(), *all = json_object();
	int err = json_object_set(all, clean(r->name).text, measures);

	for (size_t i = 0; i < g->nr; i++)
		if (gate_has_value(g, i))
			err |= json_object_set_new(measures, g->verdicts[i].rule->metric->name,
						   measure(&g->verdicts[i]));
	if (!err)
		err = json_dumpf(all, out, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(measures);
	json_decref(all);
	return err && !ferror(out) ? err_nomem(e) : 0;
}
