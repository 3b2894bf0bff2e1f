// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Findings, and what becomes of them in text, markdown and JSON. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/findings.h"
#include "render/unit.h"

static const struct findings_column columns[] = {
	{ "design", "design", FINDING_LABEL },
	{ "readers", "readers", FINDING_COUNT },
	{ "close_ns", "one close", FINDING_NS },
	{ "ratio", "times", FINDING_RATIO },
};

/* Two tables of two and one rows, two facts, two sentences. */
static struct findings example(void)
{
	struct findings f = { .schema = "gvlscope.bench/1", .name = "close" };
	const struct figure close_ns = { 12345, 12000, 12840, 11000, 14000, 30 };
	const struct figure ratio = { 1.62, 1.6, 1.63, 1.5, 1.7, 30 };

	findings_say(&f, "A close is %s faster.", unit_ratio(1.62).text);
	findings_say(&f, "50 %% of it was the scan.");
	findings_fact(&f, "slope_share", "slope, of global's", FINDING_SHARE, &ratio);
	findings_fact_text(&f, "library", "library", "memmove \033[31m");
	findings_table(&f, "close", "Closing among blocked readers", columns, 4);
	findings_label(&f, "global");
	findings_number(&f, 10000);
	findings_figure(&f, &close_ns);
	findings_figure(&f, NULL);
	findings_label(&f, "per-io");
	findings_number(&f, 10);
	findings_number(&f, 0.25);
	findings_figure(&f, &ratio);
	findings_table(&f, "rate", "Rates", columns, 1);
	findings_label(&f, "a|b");
	return f;
}

typedef int print_fn(const struct findings *f, FILE *out, struct err *e);

static int text(const struct findings *f, FILE *out, struct err *e)
{
	return findings_text(f, out, false, e);
}

/* What @print prints, the caller's to free. */
static char *printed(const struct findings *f, print_fn *print)
{
	char *buf = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&buf, &size);

	assert_non_null(out);
	assert_int_equal(print(f, out, NULL), 0);
	fclose(out);
	return buf;
}

static void has(const char *all, const char *part)
{
	if (!strstr(all, part))
		fail_msg("no '%s' in:\n%s", part, all);
}

static json_t *json_of(const struct findings *f)
{
	char *s = printed(f, findings_json);
	json_t *j = json_loads(s, 0, NULL);

	assert_non_null(j);
	free(s);
	return j;
}

static void text_has_sentences_facts_and_tables(void **state)
{
	struct findings f = example();
	char *s = printed(&f, text);

	(void)state;
	has(s, ": bench close\nmachine   Linux ");
	has(s, "\n\nA close is 1.62x faster.\n\n50 % of it was the scan.\n");
	has(s, "\nin short\nslope, of global's  162.0 % +-1 %\nlibrary             memmove \\x1b[31m\n");
	has(s, "\nClosing among blocked readers\n\n"
	       "design  readers      one close        times\n"
	       "global   10,000  12.3 us +-4 %            -\n"
	       "per-io       10        0.25 ns  1.62x +-1 %\n");
	has(s, "\nRates\n\ndesign\na|b\n");
	free(s);
	findings_release(&f);
}

static void markdown_has_the_same(void **state)
{
	struct findings f = example();
	char *s = printed(&f, findings_markdown);

	(void)state;
	has(s, ": bench close\n\n- **machine** Linux ");
	has(s, "\nA close is 1.62x faster.\n");
	has(s, "\n| library | memmove \\\\x1b\\[31m |\n");
	has(s, "\n## Closing among blocked readers\n\n| design | readers | one close | times |\n"
	       "| --- | ---: | ---: | ---: |\n| global | 10,000 | 12.3 us +-4 % | - |\n");
	has(s, "\n| a\\|b |\n");
	free(s);
	findings_release(&f);
}

static void json_has_plain_numbers(void **state)
{
	struct findings f = example();
	json_t *j = json_of(&f);
	const char *schema, *name, *design, *unit, *sentence, *library;
	int readers, n;
	double ns, low;
	json_t *none;

	(void)state;
	assert_int_equal(json_unpack(j, "{s:s, s:s, s:[s,s], s:{s:{s:s}, s:s}}", "schema", &schema, "name",
				     &name, "summary", &sentence, &unit, "facts", "slope_share", "unit", &unit,
				     "library", &library), 0);
	assert_string_equal(schema, "gvlscope.bench/1");
	assert_string_equal(name, "close");
	assert_string_equal(sentence, "A close is 1.62x faster.");
	assert_string_equal(unit, "share");
	assert_string_equal(library, "memmove \\x1b[31m");
	assert_int_equal(json_unpack(j, "{s:{s:[{s:s, s:i, s:{s:F, s:F, s:i, s:s}, s:o}, {s:F}!]}}", "tables",
				     "close", "design", &design, "readers", &readers, "close_ns", "value", &ns,
				     "low", &low, "n", &n, "unit", &unit, "ratio", &none, "close_ns", &ns), 0);
	assert_string_equal(design, "global");
	assert_int_equal(readers, 10000);
	assert_true(low == 12000 && n == 30 && ns == 0.25);
	assert_string_equal(unit, "ns");
	assert_true(json_is_null(none));
	json_decref(j);
	findings_release(&f);
}

/* How often @part is in @all. */
static size_t times_in(const char *all, const char *part)
{
	size_t nr = 0;

	for (; (all = strstr(all, part)); all += strlen(part))
		nr++;
	return nr;
}

/* Of any findings: each sentence and each row is in all three. */
static void the_three_formats_agree(void **state)
{
	static print_fn *const formats[] = { text, findings_markdown, findings_json };
	struct findings f = { .schema = "gvlscope.bench/1", .name = "any" };
	uint64_t seed = 9;
	char keys[20][8];
	size_t rows = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		snprintf(keys[i], sizeof(keys[i]), "t%d", i);
		findings_say(&f, "Sentence %d.", i);
		findings_table(&f, keys[i], "table", columns, 3);
		for (uint64_t k = random_next(&seed) % 5; k; k--, rows++) {
			findings_label(&f, "A-ROW");
			findings_number(&f, random_next(&seed) % 1000);
			findings_figure(&f, NULL);
		}
	}
	for (size_t i = 0; i < 3; i++) {
		char *s = printed(&f, formats[i]);

		assert_int_equal(times_in(s, "A-ROW"), rows);
		for (size_t k = 0; k < f.nr_sentences; k++)
			has(s, f.sentences[k]);
		free(s);
	}
	findings_release(&f);
}

static void what_is_no_number_is_null(void **state)
{
	struct findings f = { .schema = "gvlscope.bench/1", .name = "x" };
	json_t *j, *a, *b;

	(void)state;
	findings_fact(&f, "a", "a", FINDING_NS, NULL);
	findings_fact(&f, "b", "b", FINDING_NS, &(struct figure){ 1, NAN, INFINITY, 1, 1, 2 });
	j = json_of(&f);
	assert_int_equal(json_unpack(j, "{s:{s:o, s:{s:o}}}", "facts", "a", &a, "b", "high", &b), 0);
	assert_true(json_is_null(a) && json_is_null(b));
	json_decref(j);
	findings_release(&f);
}

/* The text of a fact that is @value +- 0 in @unit. */
static void reads(double value, enum finding_unit unit, const char *want)
{
	struct findings f = { .schema = "gvlscope.bench/1", .name = "x" };
	char line[64];
	char *s;

	findings_fact(&f, "k", "it is", unit, &(struct figure){ value, value, value, value, value, 3 });
	s = printed(&f, text);
	snprintf(line, sizeof(line), "\nit is     %s\n", want);
	has(s, line);
	free(s);
	findings_release(&f);
}

static void numbers_read_well_in_every_unit(void **state)
{
	(void)state;
	reads(0, FINDING_NS, "0.0 ns");
	reads(4.619, FINDING_NS, "4.62 ns");
	reads(46.19, FINDING_NS, "46.2 ns");
	reads(461.9, FINDING_NS, "462 ns");
	reads(-0.0312, FINDING_NS, "-0.03 ns");
	reads(-4619000, FINDING_NS, "-4.62 ms");
	reads(20 << 20, FINDING_BYTES, "20.0 MiB");
	reads(7.25 * (1 << 30), FINDING_BYTES_PER_S, "7.2 GiB per s");
	reads(123456.7, FINDING_PER_S, "123,457 per s");
	reads(0.0539, FINDING_RATIO, "0.054x");
	reads(1.624, FINDING_RATIO, "1.62x");
	reads(14.14, FINDING_RATIO, "14.1x");
	reads(1414.2, FINDING_RATIO, "1,414x");
	reads(0.412, FINDING_SHARE, "41.2 %");
	reads(-0.0004, FINDING_SHARE, "-<0.1 %");
	reads(10000, FINDING_COUNT, "10,000");
	reads(12.5, FINDING_COUNT, "12.5");
}

static void spread_reads(double value, double low, double high, const char *want)
{
	struct findings f = { .schema = "gvlscope.bench/1", .name = "x" };
	char *s;

	findings_fact(&f, "k", "it is", FINDING_NS, &(struct figure){ value, low, high, low, high, 9 });
	s = printed(&f, text);
	has(s, want);
	free(s);
	findings_release(&f);
}

static void a_spread_is_the_larger_half_of_the_interval(void **state)
{
	(void)state;
	spread_reads(200, 199, 210, "200 ns +-5 %\n");
	spread_reads(200, 170, 210, "200 ns +-15 %\n");
	spread_reads(200, 199.9, 200, "200 ns +-<1 %\n");
	spread_reads(-2, -4, 4, "-2.00 ns +-6.00 ns\n");
	spread_reads(0, -1, 3, "0.0 ns +-3.00 ns\n");
}

static void what_was_measured_once_has_no_spread(void **state)
{
	struct findings f = { .schema = "gvlscope.bench/1", .name = "x" };
	double low = 0, high = 0;
	json_t *j;
	char *s;

	(void)state;
	findings_fact(&f, "k", "it is", FINDING_BYTES, &(struct figure){ .value = 4096, .nr = 1 });
	s = printed(&f, text);
	has(s, "\nit is     4.0 KiB\n");
	j = json_of(&f);
	assert_int_equal(json_unpack(j, "{s:{s:{s:F, s:F}}}", "facts", "k", "low", &low, "high", &high), 0);
	assert_true(low == 4096 && high == 4096);
	json_decref(j);
	free(s);
	findings_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_has_sentences_facts_and_tables),
		cmocka_unit_test(markdown_has_the_same),
		cmocka_unit_test(json_has_plain_numbers),
		cmocka_unit_test(the_three_formats_agree),
		cmocka_unit_test(what_is_no_number_is_null),
		cmocka_unit_test(numbers_read_well_in_every_unit),
		cmocka_unit_test(a_spread_is_the_larger_half_of_the_interval),
		cmocka_unit_test(what_was_measured_once_has_no_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
