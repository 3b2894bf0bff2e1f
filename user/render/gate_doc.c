// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A gate for people: first what came of it, then the evidence for all that is not as it was. */
#include <math.h>

#include "render/clean.h"
#include "render/gate.h"
#include "util/scope.h"

static struct gate_words verdict_words(const struct verdict *v)
{
	struct gate_words w;

	snprintf(w.text, sizeof(w.text), "%s%s", verdict_name(v->result),
		 gate_rank(v) == GATE_WARNS ? " (warn)" : "");
	return w;
}

static void add_runs(struct doc *d, const char *label, const struct runs *r, size_t usable)
{
	if (!r->nr)
		doc_fact(d, label, "none: only bounds are checked");
	else
		doc_fact(d, label, "%s of %s run%s can be used", unit_count(usable).text,
			 unit_count(r->nr).text, r->nr == 1 ? "" : "s");
}

static void add_head(struct doc *d, const struct gate_result *r)
{
	const struct gate *g = r->gate;
	size_t nr = r->policy->nr;

	doc_title(d, "gvlscope " GVLSCOPE_VERSION ": gate %s", clean(r->name).text);
	doc_fact(d, "result", "%s: %s", gate_status_name(g->status), clean(g->summary).text);
	add_runs(d, "baseline", r->baseline, g->baseline_usable);
	add_runs(d, "candidate", r->candidate, g->candidate_usable);
	doc_fact(d, "policy", "%s, %s rule%s, false alarms at most %s",
		 r->policy_path ? clean(r->policy_path).text : "built in", unit_count(nr).text,
		 nr == 1 ? "" : "s", unit_share(r->policy->false_alarms).text);
	if (r->seed)
		doc_fact(d, "order", "random, seed %ju", (uintmax_t)*r->seed);
}

static void add_notes(struct doc *d, const struct gate *g)
{
	for (size_t i = 0; i < g->nr_notes; i++) {
		char text[2 * sizeof(g->notes[i].text)];

		clean_to(text, sizeof(text), g->notes[i].text);
		doc_paragraph(d, "%s", text);
	}
}

static void add_row(struct doc *d, const struct verdict *v)
{
	doc_cell(d, "%s", gate_rule(v->rule).text);
	doc_cell(d, "%s", verdict_words(v).text);
	doc_cell(d, "%s", gate_value(v, v->old_value).text);
	doc_cell(d, "%s", gate_value(v, v->new_value).text);
	doc_cell(d, "%s", gate_change(v->change).text);
}

static void add_table(struct doc *d, const struct gate *g)
{
	static const struct doc_column columns[] = {
		{ .title = "rule" }, { .title = "verdict" }, { .title = "old", .is_right = true },
		{ .title = "new", .is_right = true }, { .title = "change", .is_right = true, .is_last = true },
	};
	size_t absent = 0;

	doc_title(d, "Verdicts");
	doc_table(d, columns);
	for (enum gate_rank rank = 0; rank < GATE_RANKS; rank++)
		for (size_t i = 0; i < g->nr; i++) {
			if (gate_rank(&g->verdicts[i]) != rank)
				continue;
			if (rank == GATE_ABSENT && isnan(g->verdicts[i].new_value))
				absent++;
			else
				add_row(d, &g->verdicts[i]);
		}
	if (absent)
		doc_paragraph(d, "And %s rule%s on what did not happen or was not measured.",
			      unit_count(absent).text, absent == 1 ? "" : "s");
}

static void add_evidence(struct doc *d, const struct verdict *v)
{
	doc_title(d, "%s: %s", gate_rule(v->rule).text, verdict_words(v).text);
	doc_fact(d, "why", "%s", clean(v->why).text);
	doc_fact(d, "evidence", "%s: %s", evidence_name(v->evidence), gate_evidence(v).text);
	if (v->runs_needed)
		doc_fact(d, "to decide", "about %s runs on either side", unit_count(v->runs_needed).text);
	gate_plot(d, v);
}

static int print(const struct gate_result *r, FILE *out, bool is_markdown, bool is_bold, struct err *e)
{
	auto_release(doc_release) struct doc d = { 0 };
	const struct gate *g = r->gate;
	int err;

	add_head(&d, r);
	add_notes(&d, g);
	add_table(&d, g);
	for (enum gate_rank rank = 0; rank < GATE_FINE; rank++)
		for (size_t i = 0; i < g->nr; i++)
			if (gate_rank(&g->verdicts[i]) == rank)
				add_evidence(&d, &g->verdicts[i]);
	err = is_markdown ? doc_markdown(&d, out) : doc_text(&d, out, is_bold);
	return err ? err_nomem(e) : 0;
}

int gate_text(const struct gate_result *r, FILE *out, bool is_bold, struct err *e)
{
	return print(r, out, false, is_bold, e);
}

int gate_markdown(const struct gate_result *r, FILE *out, struct err *e)
{
	return print(r, out, true, false, e);
}
