// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A gate as annotations of GitHub Actions: a command a line, ::error title=T::MESSAGE. GitHub
 * shows the first ten of each level of a step: what matters most comes first. A rule of a policy
 * in a file is annotated there.
 */
#include <string.h>

#include "render/clean.h"
#include "render/gate.h"

/* In a message % would begin an escape; in a property : and , would end it. Clean text has no CR, LF. */
static void put(FILE *out, const char *clean_text, bool is_property)
{
	for (const char *c = clean_text; *c; c++) {
		if (*c == '%' || (is_property && (*c == ':' || *c == ',')))
			fprintf(out, "%%%02X", (unsigned char)*c);
		else
			fputc(*c, out);
	}
}

static void put_verdict(FILE *out, const struct gate_result *r, const struct verdict *v)
{
	static const char *const levels[GATE_RANKS] = {
		[GATE_FAILS] = "error", [GATE_OPEN] = "error", [GATE_WARNS] = "warning",
		[GATE_IMPROVED] = "notice",
	};

	fprintf(out, "::%s ", levels[gate_rank(v)]);
	if (r->policy_path && r->policy_path[0] != '/') {
		fputs("file=", out);
		put(out, clean(r->policy_path).text, true);
		fprintf(out, ",line=%u,", v->rule->line);
	}
	fputs("title=", out);
	put(out, gate_rule(v->rule).text, true);
	put(out, ": ", true);
	fputs(verdict_name(v->result), out);
	fputs("::", out);
	put(out, clean(v->why).text, false);
	fputs("%0A", out);
	put(out, gate_evidence(v).text, false);
	fputc('\n', out);
}

int gate_github(const struct gate_result *r, FILE *out, struct err *e)
{
	const struct gate *g = r->gate;

	(void)e;
	fprintf(out, "::%s title=", g->status == EXIT_DONE ? "notice" : "error");
	put(out, "gvlscope gate ", true);
	put(out, clean(r->name).text, true);
	put(out, ": ", true);
	fprintf(out, "%s::", gate_status_name(g->status));
	put(out, clean(g->summary).text, false);
	fputc('\n', out);
	for (size_t i = 0; i < g->nr_notes; i++) {
		char text[2 * sizeof(g->notes[i].text)];

		clean_to(text, sizeof(text), g->notes[i].text);
		fputs("::warning title=gvlscope gate::", out);
		put(out, text, false);
		fputc('\n', out);
	}
	for (enum gate_rank rank = 0; rank < GATE_FINE; rank++)
		for (size_t i = 0; i < g->nr; i++)
			if (gate_rank(&g->verdicts[i]) == rank)
				put_verdict(out, r, &g->verdicts[i]);
	return 0;
}
