// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A gate as JSON: schema gvlscope.gate/1, docs/schema.md. */
#include "render/clean.h"
#include "render/gate.h"
#include "render/json.h"
#include "render/quantity.h"

static json_t *rule_json(const struct rule *r)
{
	if (r->kind != RULE_COMPARE)
		return json_pack("{s:i, s:s, s:s, s:o}", "line", (int)r->line,
				 "severity", severity_name(r->severity), "sign", rule_sign(r->kind),
				 "bound", json_quantity(r->bound));
	return json_pack("{s:i, s:s, s:s, s:o, s:o}", "line", (int)r->line,
			 "severity", severity_name(r->severity),
			 "better", r->is_higher_better ? "higher" : "lower",
			 "limit", json_quantity(r->limit), "minimum", json_quantity(r->minimum));
}

static json_t *sample_json(const struct sample *s)
{
	json_t *values = json_array();

	for (size_t i = 0; i < s->nr; i++)
		json_array_append_new(values, json_quantity(s->values[i]));
	return values;
}

static json_t *verdict_json(const struct verdict *v)
{
	const struct metric *m = v->rule->metric;

	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o,"
			 " s:o, s:o, s:s, s:o, s:o}",
			 "metric", m->name, "kind", metric_kind_name(m->kind),
			 "unit", quantity_unit(m->unit), "rule", rule_json(v->rule),
			 "verdict", verdict_name(v->result), "evidence", evidence_name(v->evidence),
			 "old", json_quantity(v->old_value), "new", json_quantity(v->new_value),
			 "change", json_quantity(v->change),
			 "low", json_quantity(v->low), "high", json_quantity(v->high),
			 "level", json_quantity(v->level), "p", json_quantity(v->p),
			 "pairs", json_number(v->nr_pairs), "runs_needed", json_number(v->runs_needed),
			 "why", clean(v->why).text,
			 "before", sample_json(&v->before), "after", sample_json(&v->after));
}

static json_t *verdicts_json(const struct gate *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->nr; i++)
		json_array_append_new(list, verdict_json(&g->verdicts[i]));
	return list;
}

static json_t *notes_json(const struct gate *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->nr_notes; i++) {
		char text[2 * sizeof(g->notes[i].text)];

		clean_to(text, sizeof(text), g->notes[i].text);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

static json_t *counts_json(const struct gate *g)
{
	json_t *counts = json_object();

	for (enum verdict_result i = 0; i < VERDICT_RESULTS; i++)
		json_object_set_new(counts, verdict_name(i), json_number(g->count[i]));
	return counts;
}

static json_t *side_json(const struct runs *r, size_t usable)
{
	return json_pack("{s:o, s:o}", "runs", json_number(r->nr), "usable", json_number(usable));
}

int gate_json(const struct gate_result *r, FILE *out, struct err *e)
{
	const struct gate *g = r->gate;
	json_t *j = json_pack("{s:s, s:s, s:{s:s}, s:s, s:i, s:s, s:{s:b, s:o, s:o},"
			      " s:o, s:o, s:o*, s:o, s:o, s:o}",
			      "schema", "gvlscope.gate/1", "name", clean(r->name).text,
			      "tool", "version", GVLSCOPE_VERSION,
			      "status", gate_status_name(g->status), "exit_status", (int)g->status,
			      "summary", clean(g->summary).text,
			      "policy", "built_in", (int)!r->policy_path, "rules", json_number(r->policy->nr),
			      "false_alarms", json_quantity(r->policy->false_alarms),
			      "baseline", side_json(r->baseline, g->baseline_usable),
			      "candidate", side_json(r->candidate, g->candidate_usable),
			      "seed", r->seed ? json_number(*r->seed) : NULL,
			      "counts", counts_json(g), "notes", notes_json(g), "verdicts", verdicts_json(g));
	int err;

	if (!j)
		return err_nomem(e);
	err = json_dumpf(j, out, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(j);
	return err && !ferror(out) ? err_nomem(e) : 0;
}
