// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is printed: numbers, outside names, documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/clean.h"
#include "render/doc.h"
#include "render/unit.h"
#include "util/scope.h"

static void durations_have_three_digits_and_a_unit(void **state)
{
	static const struct {
		uint64_t ns;
		const char *want;
	} cases[] = {
		{ 0, "0 ns" }, { 7, "7 ns" }, { 999, "999 ns" }, { 1000, "1.00 us" },
		{ 1004, "1.00 us" }, { 1005, "1.01 us" }, { 9994, "9.99 us" }, { 9995, "10.0 us" },
		{ 12345, "12.3 us" }, { 100499, "100 us" }, { 999499, "999 us" },
		{ 999500, "1.00 ms" }, { 1050000, "1.05 ms" }, { 100000000, "100 ms" },
		{ 999500000, "1.00 s" }, { 5000000000, "5.00 s" }, { 61200000000, "61.2 s" },
		{ 999499999999, "999 s" }, { 999500000000, "1,000 s" },
		{ 86400000000000, "86,400 s" }, { UINT64_MAX, "18,446,744,074 s" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(unit_ns(cases[i].ns).text, cases[i].want);
}

static void counts_have_separators(void **state)
{
	(void)state;
	assert_string_equal(unit_count(0).text, "0");
	assert_string_equal(unit_count(999).text, "999");
	assert_string_equal(unit_count(1000).text, "1,000");
	assert_string_equal(unit_count(1234567).text, "1,234,567");
	assert_string_equal(unit_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void averages_and_rates_are_short(void **state)
{
	(void)state;
	assert_string_equal(unit_fact(0).text, "0");
	assert_string_equal(unit_fact(5.025).text, "5.025");
	assert_string_equal(unit_fact(1048577).text, "1,048,577");
	assert_string_equal(unit_fact(123456.7).text, "123,457");
	assert_string_equal(unit_real(0).text, "0");
	assert_string_equal(unit_real(0.01234).text, "0.012");
	assert_string_equal(unit_real(0.94).text, "0.94");
	assert_string_equal(unit_real(0.95).text, "0.9");	/* 0.95 is a bit less in binary */
	assert_string_equal(unit_real(3.14).text, "3.1");
	assert_string_equal(unit_real(99.94).text, "99.9");
	assert_string_equal(unit_real(99.95).text, "100");
	assert_string_equal(unit_real(2469.4).text, "2,469");
	assert_string_equal(unit_real(1e300).text, "1,000,000,000,000,000,000");
	assert_string_equal(unit_rate(5, 2000000000).text, "2.5 per s");
	assert_string_equal(unit_rate(5, 0).text, "-");
	assert_string_equal(unit_rate(UINT64_MAX, 1).text, "1,000,000,000,000,000,000 per s");
}

static void shares_never_look_like_all_or_nothing_unless_they_are(void **state)
{
	(void)state;
	assert_string_equal(unit_share(0).text, "0 %");
	assert_string_equal(unit_share(0.0004).text, "<0.1 %");
	assert_string_equal(unit_share(0.0006).text, "0.1 %");
	assert_string_equal(unit_share(0.9723).text, "97.2 %");
	assert_string_equal(unit_share(0.99949).text, "99.9 %");
	assert_string_equal(unit_share(0.99999).text, ">99.9 %");
	assert_string_equal(unit_share(1).text, "100 %");
	assert_string_equal(unit_share(1.5).text, "150.0 %");
	assert_string_equal(unit_share(1e300).text, "1,000,000,000,000,000,000 %");
	assert_string_equal(unit_share_of(1, 0).text, "-");
	assert_string_equal(unit_share_of(UINT64_MAX - 1, UINT64_MAX).text, ">99.9 %");
	assert_string_equal(unit_share_of(UINT64_MAX, UINT64_MAX).text, "100 %");
}

static void outside_text_is_made_harmless(void **state)
{
	static const struct {
		const char *in, *want;
	} cases[] = {
		{ NULL, "" }, { "", "" }, { "worker-1", "worker-1" },
		{ "a\033[31mb", "a\\x1b[31mb" },		/* escape sequence */
		{ "a\nb\tc\rd\x7f", "a\\x0ab\\x09c\\x0dd\\x7f" },
		{ "M\xc3\xbcller", "M\xc3\xbcller" },
		{ "\xe4\xbd\x9c\xe6\xa5\xad", "\xe4\xbd\x9c\xe6\xa5\xad" },
		{ "\xc2\x9b" "31m", "\\xc2\\x9b31m" },		/* CSI in one character */
		{ "\xe2\x80\xae" "gnp.exe", "\\xe2\\x80\\xaegnp.exe" },	/* right to left */
		{ "\xe2\x80\xa8", "\\xe2\\x80\\xa8" },		/* line separator */
		{ "\xff", "\\xff" }, { "\xc3", "\\xc3" }, { "\xc3(", "\\xc3(" },
		{ "\xc0\xaf", "\\xc0\\xaf" },			/* too long a form */
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },		/* surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },	/* beyond Unicode */
		{ "\xf0\x9f\x92\x8e", "\xf0\x9f\x92\x8e" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(clean(cases[i].in).text, cases[i].want);
}

static void any_bytes_become_valid_text_that_fits(void **state)
{
	uint64_t random = 7;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char in[600];
		struct clean out;
		size_t len = random % sizeof(in);

		for (size_t b = 0; b < len; b++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			in[b] = random >> (i % 2 ? 40 : 57);
		}
		in[len ? len - 1 : 0] = '\0';
		out = clean(in);
		assert_true(strlen(out.text) < CLEAN_MAX);
		for (const char *s = out.text; *s; s += clean_length(s))
			assert_true(clean_length(s) > 0);
		if (strlen(out.text) < CLEAN_MAX - 4)
			assert_string_equal(clean(out.text).text, out.text);
		assert_true(clean_width(out.text) <= strlen(out.text));
	}
}

static void text_too_long_says_so(void **state)
{
	char in[1000];
	struct clean out;

	(void)state;
	memset(in, 'a', sizeof(in));
	in[999] = '\0';
	out = clean(in);
	assert_int_equal(strlen(out.text), CLEAN_MAX - 1);
	assert_string_equal(out.text + CLEAN_MAX - 4, "...");
	memset(in, '\1', 63);
	in[63] = '\0';
	assert_int_equal(strlen(clean(in).text), 63 * 4);	/* the longest name of an event */
}

static void width_is_what_a_terminal_shows(void **state)
{
	(void)state;
	assert_int_equal(clean_width("abc"), 3);
	assert_int_equal(clean_width("M\xc3\xbcller"), 6);
	assert_int_equal(clean_width("\xe4\xbd\x9c\xe6\xa5\xad"), 4);
	assert_int_equal(clean_width("e\xcc\x81"), 1);
	assert_int_equal(clean_fit("\xe4\xbd\x9c\xe6\xa5\xad", 3), 3);
	assert_int_equal(clean_fit("abc", 2), 2);
	assert_int_equal(clean_fit("abc", 9), 3);
}

static const struct doc_column columns[] = {
	{ .title = "what" }, { .title = "count", .is_right = true },
	{ .title = "", .is_last = true },
};

static void fill(struct doc *d)
{
	doc_title(d, "Title");
	doc_fact(d, "one", "a fact");
	doc_fact(d, "two", "%s", "a longer fact that does not fit the width of a line, so that it "
		 "has to go on in the next one");
	doc_title(d, "Part");
	doc_paragraph(d, "First.");
	doc_more(d, "Second: <b>*%s*</b>.", "x|y");
	doc_table(d, columns);
	doc_cell(d, "a|b");
	doc_cell(d, "12");
	doc_cell(d, "first");
	doc_cell(d, "\xe4\xbd\x9c\xe6\xa5\xad" "cd");
	doc_cell(d, "3,456");
	doc_cell(d, "%s", "");
	doc_line(d, "old |  *  ```|");
	doc_line(d, "new |    %d|", 5);
}

static char *printed(const struct doc *d, int format)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(format == 2 ? doc_markdown(d, f) : doc_text(d, f, format == 1), 0);
	fclose(f);
	return text;
}

static void a_document_is_text(void **state)
{
	auto_release(doc_release) struct doc d = { 0 };
	auto_free char *text = NULL, *bold = NULL;

	(void)state;
	fill(&d);
	text = printed(&d, 0);
	assert_string_equal(text,
		"Title\n"
		"one       a fact\n"
		"two       a longer fact that does not fit the width of a line, so that it has to go "
		"on in the next\n"
		"          one\n"
		"\n"
		"Part\n"
		"\n"
		"First. Second: <b>*x|y*</b>.\n"
		"\n"
		"what    count\n"
		"a|b        12  first\n"
		"\xe4\xbd\x9c\xe6\xa5\xad" "cd  3,456\n"
		"\n"
		"old |  *  ```|\n"
		"new |    5|\n");
	bold = printed(&d, 1);
	assert_non_null(strstr(bold, "\033[1mTitle\033[0m\n"));
	assert_non_null(strstr(bold, "\033[1mwhat    count\033[0m\n"));
}

static void a_document_is_markdown(void **state)
{
	auto_release(doc_release) struct doc d = { 0 };
	auto_free char *text = NULL;

	(void)state;
	fill(&d);
	text = printed(&d, 2);
	assert_string_equal(text,
		"# Title\n"
		"\n"
		"- **one** a fact\n"
		"- **two** a longer fact that does not fit the width of a line, so that it has to go "
		"on in the next one\n"
		"\n"
		"## Part\n"
		"\n"
		"First. Second: &lt;b\\>\\*x\\|y\\*&lt;/b\\>.\n"
		"\n"
		"| what | count |  |\n"
		"| --- | ---: | --- |\n"
		"| a\\|b | 12 | first |\n"
		"| \xe4\xbd\x9c\xe6\xa5\xad" "cd | 3,456 |  |\n"
		"\n"
		"    old |  *  ```|\n"
		"    new |    5|\n");
}

static void a_table_too_wide_takes_from_its_first_column(void **state)
{
	auto_release(doc_release) struct doc d = { 0 };
	auto_free char *text = NULL;

	(void)state;
	doc_table(&d, columns);
	doc_cell(&d, "%s", "a name of sixty characters, which is longer than there is room for");
	doc_cell(&d, "1");
	doc_cell(&d, "%s", "and a text of forty characters or so behind");
	text = printed(&d, 0);
	assert_string_equal(text,
		"\n"
		"what                                              count\n"
		"a name of sixty characters, which is longer tha~      1  "
		"and a text of forty characters or so behind\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_three_digits_and_a_unit),
		cmocka_unit_test(counts_have_separators),
		cmocka_unit_test(averages_and_rates_are_short),
		cmocka_unit_test(shares_never_look_like_all_or_nothing_unless_they_are),
		cmocka_unit_test(outside_text_is_made_harmless),
		cmocka_unit_test(any_bytes_become_valid_text_that_fits),
		cmocka_unit_test(text_too_long_says_so),
		cmocka_unit_test(width_is_what_a_terminal_shows),
		cmocka_unit_test(a_document_is_text),
		cmocka_unit_test(a_document_is_markdown),
		cmocka_unit_test(a_table_too_wide_takes_from_its_first_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
