// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "gate/baseline.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "gate/file.h"
#include "tests/unit/gate_runs.h"
#include "util/scope.h"

static struct sim sim = { .random = 11 };
static char dir[] = "/tmp/gate_baseline_XXXXXX";
static char path[sizeof(dir) + 8];

static int make_dir(void **s)
{
	(void)s;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/b.json", dir);
	return 0;
}

static int remove_dir(void **s)
{
	(void)s;
	unlink(path);
	return rmdir(dir);
}

/* Four runs; one value of each kind that a file can have. */
static const struct runs *four_runs(void)
{
	sim_fill(&sim, SHAPE_LOGNORMAL, 4, true);
	sim.runs[0][1].values[0] = (struct value){ VALUE_ABSENT, 0 };
	sim.runs[0][2].values[0] = (struct value){ VALUE_NONE, 0 };
	sim.runs[0][3].values[0] = (struct value){ VALUE_UNCERTAIN, 0.1 };
	sim.runs[0][3].values[1] = (struct value){ VALUE_CERTAIN, 1LL << 53 };
	for (size_t i = 0; i < 4; i++)
		sim.runs[0][i].values[2] = (struct value){ VALUE_ABSENT, 0 };
	return &sim.side[0];
}

static char *text_of(const struct runs *r, size_t *size)
{
	char *text;
	struct err e;

	if (baseline_write(r, path, &e) || file_read(path, 1 << 20, REASON_SYS, &text, size, &e))
		fail_msg("%s", e.msg);
	return text;
}

static void what_is_written_is_read_again_bit_by_bit(void **s)
{
	const struct runs *r = four_runs();
	struct runs again = { 0 };
	size_t size;
	auto_free char *text = text_of(r, &size);
	struct err e;

	(void)s;
	if (baseline_read(&again, path, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(again.nr, r->nr);
	for (size_t i = 0; i < r->nr; i++) {
		assert_int_equal(fingerprint_diff(&again.run[i].where, &r->run[i].where), 0);
		assert_null(again.run[i].unusable);
		for (size_t m = 0; m < NR_METRICS; m++) {
			assert_int_equal(again.run[i].values[m].state, r->run[i].values[m].state);
			assert_true(again.run[i].values[m].number == r->run[i].values[m].number);
		}
	}
	runs_release(&again);
}

static void a_metric_is_a_line_in_order_of_names(void **s)
{
	size_t size, lines = 0;
	auto_free char *text = text_of(four_runs(), &size);
	char last[64] = "";
	char *metrics_at = strstr(text, "\"metrics\""), *save;

	(void)s;
	assert_non_null(metrics_at);
	assert_null(strstr(text, metrics[2].name));
	strtok_r(metrics_at, "\n", &save);
	for (char *l = strtok_r(NULL, "\n", &save); l && l[1] == '\t'; l = strtok_r(NULL, "\n", &save)) {
		char name[64];

		assert_int_equal(sscanf(l, " \"%63[^\"]\": [", name), 1);
		assert_true(strcmp(last, name) < 0);
		memcpy(last, name, sizeof(last));
		lines++;
	}
	assert_int_equal(lines, NR_METRICS - 1);
}

/* Whatever is cut off: an error, and no run. Only the last byte, a newline, is none that counts. */
static void a_file_cut_anywhere_is_an_error(void **s)
{
	size_t size;
	auto_free char *text = text_of(four_runs(), &size);

	(void)s;
	for (size_t cut = 0; cut < size - 1; cut++) {
		struct runs r = { 0 };
		struct err e = { 0 };

		if (!baseline_parse(&r, "b", text, cut, &e))
			fail_msg("cut to %zu of %zu bytes: accepted", cut, size);
		assert_int_equal(e.reason, REASON_BASELINE_FORMAT);
		assert_int_equal(r.nr, 0);
		runs_release(&r);
	}
}

/* Every byte changed: accepted or refused, never more (the sanitizers watch). */
static void a_changed_byte_is_no_crash(void **s)
{
	size_t size;
	auto_free char *text = text_of(four_runs(), &size);

	(void)s;
	for (size_t i = 0; i < size; i++) {
		struct runs r = { 0 };
		char was = text[i];

		text[i] ^= 1 + i % 127;
		if (baseline_parse(&r, "b", text, size, NULL))
			assert_int_equal(r.nr, 0);
		text[i] = was;
		runs_release(&r);
	}
}

#define HEAD "{\"schema\": \"gvlscope.baseline/1\", "
#define WHERE "\"fingerprint\": {\"cpu\": \"\", \"cpus\": \"\", \"kernel\": \"\", \"ruby\": \"\", " \
	      "\"tool\": \"\", \"options\": \"\"}, "

static void what_is_no_baseline_is_told_in_one_sentence(void **s)
{
	static const struct {
		const char *text, *want;
		enum reason reason;
	} cases[] = {
		{ "", "b: empty", REASON_BASELINE_FORMAT },
		{ "[]", "b: not a baseline of gvlscope", REASON_BASELINE_FORMAT },
		{ "{}", "b: not a baseline of gvlscope", REASON_BASELINE_FORMAT },
		{ "{\"schema\": \"gvlscope.report/1\"}", "b: schema gvlscope.report/1, not gvlscope.baseline/1",
		  REASON_BASELINE_SCHEMA },
		{ HEAD "\"runs\": 1}", "b: fingerprint: has no cpu", REASON_BASELINE_FORMAT },
		{ HEAD WHERE "\"runs\": 0}", "b: runs: not a number of runs", REASON_BASELINE_FORMAT },
		{ HEAD WHERE "\"runs\": 1e9}", "b: runs: not a number of runs", REASON_BASELINE_FORMAT },
		{ HEAD WHERE "\"runs\": 1}", "b: metrics: has none that is known", REASON_BASELINE_FORMAT },
		{ HEAD WHERE "\"runs\": 2, \"metrics\": {\"block.count\": [1]}}",
		  "b: metrics: block.count does not have a value for each run", REASON_BASELINE_FORMAT },
		{ HEAD WHERE "\"runs\": 1, \"metrics\": {\"block.count\": [-1]}}",
		  "b: metrics: block.count has what is no value", REASON_BASELINE_FORMAT },
		{ HEAD WHERE "\"runs\": 1, \"metrics\": {\"block.count\": [\"many\"]}}",
		  "b: metrics: block.count has what is no value", REASON_BASELINE_FORMAT },
	};

	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct runs r = { 0 };
		struct err e = { 0 };

		assert_int_not_equal(baseline_parse(&r, "b", cases[i].text, strlen(cases[i].text), &e), 0);
		assert_string_equal(e.msg, cases[i].want);
		assert_int_equal(e.reason, cases[i].reason);
		assert_int_equal(reason_status(e.reason), EXIT_BAD_FILE);
		assert_int_equal(r.nr, 0);
	}
}

static void a_failure_leaves_the_old_file_and_nothing_else(void **s)
{
	size_t size, size_after, entries = 0;
	auto_free char *text = text_of(four_runs(), &size), *after = NULL;
	struct runs none = { 0 };
	char folder[sizeof(path)];
	struct dirent *d;
	struct err e;
	DIR *list;

	(void)s;
	assert_int_not_equal(baseline_write(&none, path, &e), 0);
	assert_int_equal(e.reason, REASON_BASELINE_RUNS);
	four_runs();
	sim.runs[0][2].where.part[FINGERPRINT_CPU] = "Z80";
	assert_int_not_equal(baseline_write(&sim.side[0], path, &e), 0);
	assert_string_equal(e.msg, "simulated and simulated: recorded under different conditions");
	assert_int_not_equal(baseline_write(four_runs(), "/nonexistent/b.json", &e), 0);
	snprintf(folder, sizeof(folder), "%s/f", dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_not_equal(baseline_write(four_runs(), folder, &e), 0);	/* the last step fails */
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(file_read(path, 1 << 20, REASON_SYS, &after, &size_after, &e), 0);
	assert_int_equal(size, size_after);
	assert_memory_equal(text, after, size);
	list = opendir(dir);
	while ((d = readdir(list)))
		entries += d->d_name[0] != '.';
	closedir(list);
	assert_int_equal(entries, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again_bit_by_bit),
		cmocka_unit_test(a_metric_is_a_line_in_order_of_names),
		cmocka_unit_test(a_file_cut_anywhere_is_an_error),
		cmocka_unit_test(a_changed_byte_is_no_crash),
		cmocka_unit_test(what_is_no_baseline_is_told_in_one_sentence),
		cmocka_unit_test(a_failure_leaves_the_old_file_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
