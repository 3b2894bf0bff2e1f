// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A gate as JUnit XML, a test case a rule. There is no standard of it: this is what GitLab's parser
 * and the common actions for GitHub read, and no more. What fails the gate is a failure, what
 * leaves it open an error (the test could not be carried out), what was not measured is skipped;
 * what only warns passes, and says so in its output. GitLab shows the text of these elements and
 * not their attribute message: it is in both.
 *
 * The first test case is the gate's runs: an error, if it is they that leave the gate open. So
 * there are failures if and only if the exit status says regression, and else errors if and only
 * if it says inconclusive.
 */
#include <stdarg.h>

#include "render/clean.h"
#include "render/gate.h"

/* Clean text holds no character that XML cannot. */
static void put(FILE *out, const char *clean_text)
{
	for (const char *c = clean_text; *c; c++) {
		if (*c == '&')
			fputs("&amp;", out);
		else if (*c == '<')
			fputs("&lt;", out);
		else if (*c == '>')
			fputs("&gt;", out);
		else if (*c == '"')
			fputs("&quot;", out);
		else
			fputc(*c, out);
	}
}

/* The element that tells of each rank; of those without an attribute, its text alone. */
static const struct {
	const char *element;
	bool has_message;
} elements[GATE_RANKS] = {
	[GATE_FAILS] = { "failure", true }, [GATE_OPEN] = { "error", true },
	[GATE_WARNS] = { "system-out", false }, [GATE_IMPROVED] = { "system-out", false },
	[GATE_FINE] = { "system-out", false }, [GATE_ABSENT] = { "skipped", true },
};

static void put_case(FILE *out, const char *suite, const char *name)
{
	fputs("    <testcase classname=\"", out);
	put(out, clean(suite).text);
	fputs("\" name=\"", out);
	put(out, name);
	fputs("\">\n", out);
}

static void open_element(FILE *out, enum gate_rank rank, const char *type, const char *message)
{
	fprintf(out, "      <%s", elements[rank].element);
	if (rank == GATE_FAILS || rank == GATE_OPEN)
		fprintf(out, " type=\"%s\"", type);
	if (elements[rank].has_message) {
		fputs(" message=\"", out);
		put(out, message);
		fputc('"', out);
	}
	fputc('>', out);
}

static void close_case(FILE *out, enum gate_rank rank)
{
	fprintf(out, "</%s>\n    </testcase>\n", elements[rank].element);
}

static void put_verdict(FILE *out, const struct gate_result *r, const struct verdict *v)
{
	enum gate_rank rank = gate_rank(v);

	put_case(out, r->name, gate_rule(v->rule).text);
	open_element(out, rank, verdict_name(v->result), clean(v->why).text);
	fprintf(out, "%s%s: ", rank == GATE_WARNS ? "warning, " : "", verdict_name(v->result));
	put(out, clean(v->why).text);
	fputc('\n', out);
	put(out, gate_evidence(v).text);
	close_case(out, rank);
}

static void put_runs(FILE *out, const struct gate_result *r, enum gate_rank rank)
{
	const struct gate *g = r->gate;

	put_case(out, r->name, "runs");
	open_element(out, rank, "inconclusive", clean(g->summary).text);
	put(out, clean(g->summary).text);
	for (size_t i = 0; i < g->nr_notes; i++) {
		char text[2 * sizeof(g->notes[i].text)];

		clean_to(text, sizeof(text), g->notes[i].text);
		fputc('\n', out);
		put(out, text);
	}
	close_case(out, rank);
}

static void put_counts(FILE *out, const size_t *ranks, size_t nr)
{
	fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n", nr,
		ranks[GATE_FAILS], ranks[GATE_OPEN], ranks[GATE_ABSENT]);
}

int gate_junit(const struct gate_result *r, FILE *out, struct err *e)
{
	const struct gate *g = r->gate;
	size_t ranks[GATE_RANKS] = { 0 };
	enum gate_rank runs;

	(void)e;
	for (size_t i = 0; i < g->nr; i++)
		ranks[gate_rank(&g->verdicts[i])]++;
	runs = g->status == EXIT_INCONCLUSIVE && !ranks[GATE_OPEN] ? GATE_OPEN : GATE_FINE;
	ranks[runs]++;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gvlscope gate\"", out);
	put_counts(out, ranks, g->nr + 1);
	fputs("  <testsuite name=\"", out);
	put(out, clean(r->name).text);
	fputc('"', out);
	put_counts(out, ranks, g->nr + 1);
	put_runs(out, r, runs);
	for (size_t i = 0; i < g->nr; i++)
		put_verdict(out, r, &g->verdicts[i]);
	fputs("  </testsuite>\n</testsuites>\n", out);
	return 0;
}
