// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a gate found, in every format. tests/gate.t checks the formats against their schemas. */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/gate.h"
#include "util/scope.h"

enum { RULES = 7 };

/* A gate in which everything happens that can. */
struct example {
	struct rule rules[RULES];
	struct verdict verdicts[RULES];
	struct gate_note note;
	struct policy policy;
	struct runs baseline, candidate;
	struct gate gate;
	uint64_t seed;
	struct gate_result result;
};

static void values(struct sample *s, double from, double step, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(sample_add(s, from + i * step), 0);
}

static struct verdict *add(struct example *x, const char *metric, enum verdict_result result, const char *why)
{
	size_t i = x->gate.nr++;
	struct verdict *v = &x->verdicts[i];

	x->rules[i] = (struct rule){ .metric = metric_find(metric), .line = i + 3, .limit = 0.1, .minimum = 0.05 };
	assert_non_null(x->rules[i].metric);
	*v = (struct verdict){ .rule = &x->rules[i], .result = result, .old_value = NAN, .new_value = NAN,
			       .change = NAN, .low = NAN, .high = NAN, .level = NAN, .p = NAN };
	snprintf(v->why, sizeof(v->why), "%s", why);
	x->gate.count[result]++;
	return v;
}

static void add_times(struct example *x)
{
	struct verdict *v = add(x, "gvl.hold_ns.mean", VERDICT_REGRESSION, "it is worse by 10 %, \"for <sure>\" & all");

	v->evidence = EVIDENCE_TEST;
	v->old_value = 1.02e6;
	v->new_value = 1.12e6;
	v->change = 0.102;
	v->low = 0.081;
	v->high = 0.124;
	v->level = 0.98;
	v->p = 0.0003;
	v->nr_pairs = 20;
	values(&v->before, 1.0e6, 2000, 20);
	values(&v->after, 1.1e6, 2000, 20);

	v = add(x, "gvl.wait_ns.mean", VERDICT_INCONCLUSIVE, "the runs are too noisy");
	v->evidence = EVIDENCE_TEST;
	v->old_value = 1000;
	v->new_value = 1400;
	v->change = 0.4;
	v->low = -0.3;
	v->high = INFINITY;
	v->level = 0.98;
	v->p = 0.4;
	v->nr_pairs = 3;
	v->runs_needed = 55;
	values(&v->before, 1000, 10, 3);
	values(&v->after, 1400, 1000000, 3);
}

static void add_counts(struct example *x)
{
	struct verdict *v = add(x, "copy.held.bytes", VERDICT_REGRESSION, "one byte more");

	v->evidence = EVIDENCE_EXACT;
	v->old_value = 1048576;
	v->new_value = 1048577;
	v->change = v->low = v->high = 1.0 / 1048576;
	x->rules[2].severity = SEVERITY_WARN;
	values(&v->before, 1048576, 0, 1);
	values(&v->after, 1048577, 0, 1);

	v = add(x, "close.visited.mean", VERDICT_IMPROVED, "none is visited any more");
	v->evidence = EVIDENCE_EXACT;
	v->old_value = 100;
	v->new_value = 0;
	v->change = v->low = v->high = -1;
	values(&v->before, 100, 0, 1);
	values(&v->after, 0, 0, 1);

	v = add(x, "gvl.hold_ns.p99", VERDICT_BROKEN, "over the bound");
	v->evidence = EVIDENCE_BOUND;
	v->new_value = 25e6;
	x->rules[4].kind = RULE_BELOW;
	x->rules[4].bound = 20e6;
	values(&v->after, 25e6, 1e5, 5);

	v = add(x, "block.count", VERDICT_PASS, "the same");
	v->evidence = EVIDENCE_EXACT;
	v->old_value = v->new_value = 12;
	v->change = v->low = v->high = 0;
	values(&v->before, 12, 0, 1);
	values(&v->after, 12, 0, 1);

	add(x, "close.foreign", VERDICT_NOT_MEASURED, "not measured on either side");
}

static void build(struct example *x)
{
	*x = (struct example){ .seed = 42 };
	add_times(x);
	add_counts(x);
	snprintf(x->note.text, sizeof(x->note.text), "candidate run 3 (a\033[31m,b:%%.gvs) cannot be used: ring 12");
	x->policy = (struct policy){ .rules = x->rules, .nr = RULES, .false_alarms = 0.01 };
	x->baseline.nr = x->candidate.nr = 20;
	x->gate.verdicts = x->verdicts;
	x->gate.notes = &x->note;
	x->gate.nr_notes = 1;
	x->gate.baseline_usable = 20;
	x->gate.candidate_usable = 19;
	x->gate.status = EXIT_REGRESSION;
	snprintf(x->gate.summary, sizeof(x->gate.summary), "2 of 7 rules failed");
	x->result = (struct gate_result){ &x->gate, &x->policy, "ci/policy.txt", &x->baseline, &x->candidate,
					  "puma", &x->seed };
}

static void release(struct example *x)
{
	for (size_t i = 0; i < RULES; i++) {
		sample_release(&x->verdicts[i].before);
		sample_release(&x->verdicts[i].after);
	}
}

typedef int print_fn(const struct gate_result *r, FILE *out, struct err *e);

static int text(const struct gate_result *r, FILE *out, struct err *e)
{
	return gate_text(r, out, false, e);
}

/* What @print prints of @r, the caller's to free. */
static char *printed_of(const struct gate_result *r, print_fn *print)
{
	char *buf = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&buf, &size);
	struct err e;

	assert_int_equal(print(r, out, &e), 0);
	fclose(out);
	return buf;
}

static char *printed(print_fn *print)
{
	struct example x;
	char *all;

	build(&x);
	all = printed_of(&x.result, print);
	release(&x);
	return all;
}

static void has(const char *all, const char *want)
{
	if (!strstr(all, want))
		print_error("want: %s\ngot:\n%s\n", want, all);
	assert_non_null(strstr(all, want));
}

static void has_not(const char *all, const char *unwanted)
{
	if (strstr(all, unwanted))
		print_error("unwanted: %s\ngot:\n%s\n", unwanted, all);
	assert_null(strstr(all, unwanted));
}

static size_t count(const char *all, const char *what)
{
	size_t nr = 0;

	for (const char *at = all; (at = strstr(at, what)); at++)
		nr++;
	return nr;
}

static void text_says_the_result_first_and_what_matters_before_what_does_not(void **state)
{
	auto_free char *all = printed(text);

	(void)state;
	has(all, ": gate puma\nresult    regression: 2 of 7 rules failed\n");
	has(all, "candidate 19 of 20 runs can be used\n");
	has(all, "seed 42");
	has(all, "(a\\x1b[31m,b:%.gvs)");
	assert_true(strstr(all, "gvl.hold_ns.p99 < 20.0 ms") < strstr(all, "gvl.wait_ns.mean"));
	assert_true(strstr(all, "copy.held.bytes") < strstr(all, "close.visited.mean"));
	has(all, "And 1 rule on what did not happen or was not measured.");
	has(all, "to decide about 55 runs on either side\n");
}

static void text_has_the_evidence(void **state)
{
	auto_free char *all = printed(text);

	(void)state;
	has(all, "gvl.hold_ns.mean: regression\n");
	has(all, "why       it is worse by 10 %, \"for <sure>\" & all\n"
	    "evidence  test: old 1.02 ms, new 1.12 ms, change +10.2 % (98.0 % interval +8.1 % to +12.4 %), p");
	has(all, "-30.0 % or more");
	has(all, "regression (warn)");
	has(all, "1,048,577 B");
	has(all, "-100 %");
}

static void no_line_of_text_is_wider_than_a_terminal(void **state)
{
	auto_free char *all = printed(text);

	(void)state;
	for (char *save, *line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_true(strlen(line) <= 100);
}

/* The strip of @side that follows @title, without its frame. */
static void strip(const char *all, const char *title, const char *side, char *out, size_t size)
{
	const char *at = strstr(all, title), *end;

	assert_non_null(at);
	at = strstr(at, side);
	assert_non_null(at);
	at = strchr(at, '|') + 1;
	end = strchr(at, '|');
	assert_true((size_t)(end - at) < size);
	memcpy(out, at, end - at);
	out[end - at] = '\0';
}

static void a_plot_shows_two_samples_apart_on_one_scale(void **state)
{
	auto_free char *all = printed(text);
	char before[100], after[100];

	(void)state;
	strip(all, "gvl.hold_ns.mean: regression", "old  |", before, sizeof(before));
	strip(all, "gvl.hold_ns.mean: regression", "new  |", after, sizeof(after));
	assert_int_equal(strlen(before), strlen(after));
	assert_true(before[0] != ' ');
	assert_true(after[strlen(after) - 1] != ' ');
	for (size_t i = 0; before[i]; i++)
		assert_true(before[i] == ' ' || after[i] == ' ');
	has(all, "1.00 ms");
	has(all, "20 runs");
}

static void a_plot_over_orders_of_magnitude_is_logarithmic(void **state)
{
	auto_free char *all = printed(text);
	const char *noisy;

	(void)state;
	noisy = strstr(all, "gvl.wait_ns.mean: inconclusive");
	assert_non_null(noisy);
	has(noisy, "(logarithmic)");
}

static void a_single_pair_is_not_plotted(void **state)
{
	auto_free char *all = printed(text);
	const char *at;

	(void)state;
	at = strstr(all, "close.visited.mean: improved");
	assert_non_null(at);
	has_not(at, "old  |");
}

static void markdown_keeps_the_plot_and_escapes_outside_text(void **state)
{
	auto_free char *all = printed(gate_markdown);

	(void)state;
	has(all, "\n\n    old  |");
	has(all, "| copy.held.bytes | regression (warn) |");
	has(all, "\"for &lt;sure\\>\" &amp; all");
	has(all, "(a\\\\x1b\\[31m,b:%.gvs)");
}

static void json_has_the_numbers_as_they_are(void **state)
{
	auto_free char *all = printed(gate_json);
	json_t *j = json_loads(all, 0, NULL), *v;

	(void)state;
	assert_non_null(j);
	assert_string_equal(json_string_value(json_object_get(j, "status")), "regression");
	assert_int_equal(json_integer_value(json_object_get(j, "exit_status")), 3);
	assert_int_equal(json_integer_value(json_object_get(j, "seed")), 42);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "counts"), "regression")), 2);
	assert_int_equal(json_array_size(json_object_get(j, "verdicts")), RULES);
	v = json_array_get(json_object_get(j, "verdicts"), 1);
	assert_true(json_is_null(json_object_get(v, "high")));
	assert_true(json_number_value(json_object_get(v, "low")) == -0.3);
	assert_int_equal(json_integer_value(json_object_get(v, "runs_needed")), 55);
	assert_int_equal(json_array_size(json_object_get(v, "after")), 3);
	v = json_array_get(json_object_get(j, "verdicts"), 4);
	assert_string_equal(json_string_value(json_object_get(json_object_get(v, "rule"), "sign")), "<");
	assert_true(json_is_null(json_object_get(v, "old")));
	json_decref(j);
}

static void junit_has_a_failure_for_what_fails_and_an_error_for_what_is_open(void **state)
{
	auto_free char *all = printed(gate_junit);

	(void)state;
	has(all, "tests=\"8\" failures=\"2\" errors=\"1\" skipped=\"1\">");
	assert_int_equal(count(all, "<testcase "), 8);
	assert_int_equal(count(all, "<failure "), 2);
	assert_int_equal(count(all, "<error "), 1);
	assert_int_equal(count(all, "<skipped "), 1);
	has(all, "name=\"gvl.hold_ns.p99 &lt; 20.0 ms\"");
	has(all, "message=\"it is worse by 10 %, &quot;for &lt;sure&gt;&quot; &amp; all\"");
	has(all, "<system-out>warning, regression: one byte more");
	has_not(all, "\033");
}

static void junit_has_an_error_if_the_runs_alone_leave_the_gate_open(void **state)
{
	auto_free char *all = NULL;
	struct example x;

	(void)state;
	build(&x);
	x.gate.status = EXIT_INCONCLUSIVE;
	x.gate.nr = x.policy.nr = 0;
	all = printed_of(&x.result, gate_junit);
	release(&x);
	has(all, "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">");
	has(all, "<error type=\"inconclusive\"");
}

static void github_has_a_command_a_line_and_escapes_what_would_end_it(void **state)
{
	auto_free char *all = printed(gate_github);

	(void)state;
	assert_int_equal(strncmp(all, "::error title=gvlscope gate puma%3A regression::2 of 7 rules failed\n", 67), 0);
	has(all, "\n::error file=ci/policy.txt,line=3,title=gvl.hold_ns.mean%3A regression::it is worse by 10 %25, ");
	has(all, "%0Aold 1.02 ms, new 1.12 ms");
	has(all, "\n::warning file=ci/policy.txt,line=5,title=copy.held.bytes%3A regression::");
	has(all, "\n::notice file=ci/policy.txt,line=6,title=close.visited.mean%3A improved::");
	has(all, "b:%25.gvs) cannot be used");
	has_not(all, "block.count");
}

static void github_names_no_file_outside_of_the_repository(void **state)
{
	auto_free char *all = NULL;
	struct example x;

	(void)state;
	build(&x);
	x.result.policy_path = "/etc/policy.txt";
	all = printed_of(&x.result, gate_github);
	release(&x);
	has_not(all, "file=");
}

static void the_history_has_a_figure_a_metric_of_the_candidate(void **state)
{
	auto_free char *action = printed(gate_benchmark_action), *bencher = printed(gate_bencher);
	json_t *list = json_loads(action, 0, NULL), *all = json_loads(bencher, 0, NULL), *first, *measures;

	(void)state;
	assert_int_equal(json_array_size(list), RULES - 1);	/* all but what was not measured */
	first = json_array_get(list, 0);
	assert_string_equal(json_string_value(json_object_get(first, "name")), "puma/gvl.hold_ns.mean");
	assert_string_equal(json_string_value(json_object_get(first, "unit")), "ns");
	assert_true(json_number_value(json_object_get(first, "value")) == 1.12e6);
	assert_int_equal(strncmp(json_string_value(json_object_get(first, "range")), "+- ", 3), 0);
	measures = json_object_get(all, "puma");
	assert_int_equal(json_object_size(measures), RULES - 1);
	first = json_object_get(measures, "gvl.hold_ns.mean");
	assert_true(json_number_value(json_object_get(first, "value")) == 1.12e6);
	assert_true(json_number_value(json_object_get(first, "lower_value")) <= 1.12e6);
	assert_null(json_object_get(json_object_get(measures, "block.count"), "lower_value"));
	json_decref(list);
	json_decref(all);
}

static void more_is_better_is_not_told_where_smaller_is(void **state)
{
	auto_free char *action = NULL, *bencher = NULL;
	struct example x;

	(void)state;
	build(&x);
	x.rules[0].is_higher_better = true;
	action = printed_of(&x.result, gate_benchmark_action);
	bencher = printed_of(&x.result, gate_bencher);
	release(&x);
	has_not(action, "gvl.hold_ns.mean");
	has(bencher, "gvl.hold_ns.mean");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_says_the_result_first_and_what_matters_before_what_does_not),
		cmocka_unit_test(text_has_the_evidence),
		cmocka_unit_test(no_line_of_text_is_wider_than_a_terminal),
		cmocka_unit_test(a_plot_shows_two_samples_apart_on_one_scale),
		cmocka_unit_test(a_plot_over_orders_of_magnitude_is_logarithmic),
		cmocka_unit_test(a_single_pair_is_not_plotted),
		cmocka_unit_test(markdown_keeps_the_plot_and_escapes_outside_text),
		cmocka_unit_test(json_has_the_numbers_as_they_are),
		cmocka_unit_test(junit_has_a_failure_for_what_fails_and_an_error_for_what_is_open),
		cmocka_unit_test(junit_has_an_error_if_the_runs_alone_leave_the_gate_open),
		cmocka_unit_test(github_has_a_command_a_line_and_escapes_what_would_end_it),
		cmocka_unit_test(github_names_no_file_outside_of_the_repository),
		cmocka_unit_test(the_history_has_a_figure_a_metric_of_the_candidate),
		cmocka_unit_test(more_is_better_is_not_told_where_smaller_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
