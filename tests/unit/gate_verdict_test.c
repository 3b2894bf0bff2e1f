// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a gate says of runs whose truth is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/gate_runs.h"
#include "util/scope.h"

static struct sim sim = { .random = 3 };

static struct policy policy_of(const char *text)
{
	struct policy p;
	struct err e;

	if (policy_parse(&p, "policy", text, &e))
		fail_msg("%s", e.msg);
	return p;
}

/* Judges sim's sides by @p, knowing that @may_differ does. */
static struct gate judge(const struct policy *p, unsigned int may_differ)
{
	struct gate g;
	struct err e;

	if (gate_judge(&g, &(struct gate_input){ &sim.side[0], &sim.side[1], p, may_differ }, &e))
		fail_msg("%s", e.msg);
	return g;
}

static void is_result(const struct gate *g, const char *metric, enum verdict_result want)
{
	for (size_t i = 0; i < g->nr; i++) {
		const struct verdict *v = &g->verdicts[i];

		if (strcmp(v->rule->metric->name, metric) != 0)
			continue;
		if (v->result != want)
			fail_msg("%s: got %s (%s), want %s", metric, verdict_name(v->result), v->why,
				 verdict_name(want));
		assert_true(*v->why);
		return;
	}
	fail_msg("%s: not in the policy", metric);
}

static void is_status(const struct gate *g, enum exit_status want)
{
	if (g->status != want)
		fail_msg("got status %d (%s), want %d", g->status, g->summary, want);
}

static struct value *value(int side, size_t run, const char *metric)
{
	return &sim.runs[side][run].values[metric_find(metric) - metrics];
}

/* Judges one rule once, for a result and a status. */
static void one_rule(const char *text, enum verdict_result result, enum exit_status status)
{
	struct policy p = policy_of(text);
	struct gate g = judge(&p, 0);
	char metric[64];

	assert_int_equal(sscanf(text, "%63s", metric), 1);
	is_result(&g, metric, result);
	is_status(&g, status);
	gate_release(&g);
	policy_release(&p);
}

static void one_more_of_a_fact_is_found_with_a_single_pair(void **s)
{
	static const struct {
		const char *metric;
		double before, after;
	} cases[] = {
		{ "close.visited.mean", 100, 101 },
		{ "close.visited.mean", 1000000, 1000001 },
		{ "close.visited.mean", 215.0 / 47, 216.0 / 47 },	/* even by one close only */
		{ "copy.held.bytes", 1LL << 40, (1LL << 40) + 1 },
		{ "copy.held.bytes", (1LL << 53) - 1, 1LL << 53 },
		{ "copy.held.bytes", 0, 1 },
	};
	struct policy p = policy_of(NULL);

	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct gate g;

		sim_fill(&sim, SHAPE_LOGNORMAL, 1, false);
		value(0, 0, cases[i].metric)->number = cases[i].before;
		value(1, 0, cases[i].metric)->number = cases[i].after;
		g = judge(&p, 0);
		is_result(&g, cases[i].metric, VERDICT_REGRESSION);
		is_result(&g, "gvl.hold_ns.mean", VERDICT_INCONCLUSIVE);
		is_status(&g, EXIT_REGRESSION);
		assert_int_equal(g.count[VERDICT_REGRESSION], 1);
		gate_release(&g);

		value(0, 0, cases[i].metric)->number = cases[i].after;
		value(1, 0, cases[i].metric)->number = cases[i].before;
		g = judge(&p, 0);
		is_result(&g, cases[i].metric, VERDICT_IMPROVED);
		gate_release(&g);
	}
	policy_release(&p);
}

static void a_fact_that_varies_is_tested(void **s)
{
	struct policy p = policy_of("copy.held.bytes lower 10% 0%");
	struct gate g;

	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 20, true);
	g = judge(&p, 0);
	assert_int_equal(g.verdicts[0].evidence, EVIDENCE_TEST);
	assert_int_equal(g.verdicts[0].nr_pairs, 20);
	is_result(&g, "copy.held.bytes", VERDICT_PASS);
	gate_release(&g);
	sim_change(&sim, "copy.held.bytes", 1.2);
	g = judge(&p, 0);
	is_result(&g, "copy.held.bytes", VERDICT_REGRESSION);
	assert_true(g.verdicts[0].low > 0.1 && g.verdicts[0].low <= g.verdicts[0].change);
	assert_true(g.verdicts[0].change <= g.verdicts[0].high && g.verdicts[0].high < 0.3);
	gate_release(&g);
	policy_release(&p);
}

static void an_uncertain_fact_is_never_compared_exactly(void **s)
{
	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 1, false);
	value(1, 0, "close.visited.mean")->state = VALUE_UNCERTAIN;
	value(1, 0, "close.visited.mean")->number += 1;
	one_rule("close.visited.mean lower 10% 0%", VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
}

static void a_small_change_is_none_and_a_large_one_either_way_is(void **s)
{
	static const char up[] = "gvl.free_ns.share higher 20% 5%", down[] = "gvl.hold_ns.mean lower 20% 5%";

	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 40, false);
	sim_change(&sim, "gvl.hold_ns.mean", 1.02);
	sim_change(&sim, "gvl.free_ns.share", 0.98);
	one_rule(down, VERDICT_PASS, EXIT_DONE);
	one_rule(up, VERDICT_PASS, EXIT_DONE);
	sim_change(&sim, "gvl.hold_ns.mean", 1.3);
	sim_change(&sim, "gvl.free_ns.share", 0.7);
	one_rule(down, VERDICT_REGRESSION, EXIT_REGRESSION);
	one_rule(up, VERDICT_REGRESSION, EXIT_REGRESSION);
	one_rule("gvl.hold_ns.mean lower 20% 5% warn", VERDICT_REGRESSION, EXIT_DONE);
	sim_change(&sim, "gvl.hold_ns.mean", 0.5);
	sim_change(&sim, "gvl.free_ns.share", 2);
	one_rule(down, VERDICT_IMPROVED, EXIT_DONE);
	one_rule(up, VERDICT_IMPROVED, EXIT_DONE);
}

/* Worse in the first half only, however much. */
static void the_second_half_has_to_agree(void **s)
{
	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 20, false);
	for (size_t i = 0; i < 20; i++)
		value(1, i, "gvl.hold_ns.mean")->number *= i < 10 ? 1.5 : 1.01;
	one_rule("gvl.hold_ns.mean lower 100% 10%", VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
	for (size_t i = 0; i < 10; i++)
		value(1, i + 10, "gvl.hold_ns.mean")->number *= 1.5;
	one_rule("gvl.hold_ns.mean lower 100% 10%", VERDICT_REGRESSION, EXIT_REGRESSION);
}

static size_t needed(enum shape shape, size_t nr_pairs)
{
	struct policy p = policy_of("gvl.hold_ns.mean lower 10% 5%");
	struct gate g;
	size_t nr;

	sim_fill(&sim, shape, nr_pairs, false);
	g = judge(&p, 0);
	is_result(&g, "gvl.hold_ns.mean", VERDICT_INCONCLUSIVE);
	is_status(&g, EXIT_INCONCLUSIVE);
	nr = g.verdicts[0].runs_needed;
	gate_release(&g);
	policy_release(&p);
	return nr;
}

static void too_few_or_too_noisy_runs_say_how_many_would_do(void **s)
{
	size_t few = needed(SHAPE_NORMAL, 3), noisy = needed(SHAPE_LOGNORMAL, 20);

	(void)s;
	if (few < 9 || few > 40)
		fail_msg("3 quiet runs ask for %zu", few);
	if (noisy < 200 || noisy > 20000)
		fail_msg("20 noisy runs ask for %zu", noisy);
}

static void lost_events_make_a_run_unusable_and_no_pass(void **s)
{
	static const char rule[] = "gvl.hold_ns.mean lower 20% 5%";
	struct policy p = policy_of(rule);
	struct gate g;

	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 20, false);
	sim.runs[0][3].unusable = "events were lost: ring 5";
	value(0, 3, "gvl.hold_ns.mean")->number = 1e9;
	g = judge(&p, 0);
	assert_int_equal(g.verdicts[0].nr_pairs, 19);
	assert_int_equal(g.verdicts[0].before.nr, 19);
	assert_int_equal(g.baseline_usable, 19);
	assert_int_equal(g.nr_notes, 1);
	assert_string_equal(g.notes[0].text,
			    "baseline run 4 (simulated) cannot be used: events were lost: ring 5");
	is_status(&g, EXIT_DONE);
	gate_release(&g);
	sim.runs[1][4].unusable = "events were lost: ring 5";
	one_rule(rule, VERDICT_PASS, EXIT_INCONCLUSIVE);
	sim_change(&sim, "gvl.hold_ns.mean", 2);
	one_rule(rule, VERDICT_REGRESSION, EXIT_REGRESSION);
	for (size_t i = 0; i < 20; i++)
		sim.runs[1][i].unusable = "cut";
	one_rule(rule, VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
	one_rule("gvl.hold_ns.mean < 1s", VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
	policy_release(&p);
}

static void other_conditions_leave_counts_to_compare(void **s)
{
	struct policy p = policy_of(NULL);
	struct gate g;

	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 20, false);
	for (size_t i = 0; i < 20; i++)
		sim.runs[1][i].where.part[FINGERPRINT_RUBY] = "3.4.1";
	sim_change(&sim, "copy.held.count", 2);
	g = judge(&p, 0);
	is_result(&g, "gvl.hold_ns.mean", VERDICT_INCOMPARABLE);
	is_result(&g, "copy.held.bytes", VERDICT_PASS);
	is_result(&g, "copy.held.count", VERDICT_REGRESSION);
	is_result(&g, "gvl.switches", VERDICT_PASS);
	assert_int_equal(g.nr_notes, 1);
	assert_string_equal(g.notes[0].text, "ruby differs: \"\" and \"3.4.1\"");
	gate_release(&g);
	g = judge(&p, 1 << FINGERPRINT_RUBY);
	is_result(&g, "gvl.hold_ns.mean", VERDICT_PASS);
	assert_int_equal(g.nr_notes, 0);
	gate_release(&g);
	policy_release(&p);
}

static void what_one_side_did_not_measure_is_incomparable(void **s)
{
	static const char rule[] = "close.count lower 10% 0%";
	struct policy p = policy_of(NULL);
	struct gate g;

	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 1, false);
	value(1, 0, "close.count")->state = VALUE_ABSENT;
	one_rule(rule, VERDICT_INCOMPARABLE, EXIT_INCONCLUSIVE);
	value(0, 0, "close.count")->state = VALUE_ABSENT;
	one_rule(rule, VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
	g = judge(&p, 0);
	is_result(&g, "close.count", VERDICT_NOT_MEASURED);
	gate_release(&g);
	for (size_t m = 0; m < NR_METRICS; m++)
		sim.runs[0][0].values[m].state = sim.runs[1][0].values[m].state = VALUE_ABSENT;
	g = judge(&p, 0);
	is_status(&g, EXIT_INCONCLUSIVE);
	gate_release(&g);
	policy_release(&p);
	value(0, 0, "close.count")->state = value(1, 0, "close.count")->state = VALUE_NONE;
	one_rule(rule, VERDICT_NOT_MEASURED, EXIT_INCONCLUSIVE);
}

static void bounds_need_no_baseline(void **s)
{
	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 10, false);
	sim.side[0].nr = 0;
	one_rule("close.visited.p99 <= 7", VERDICT_PASS, EXIT_DONE);
	one_rule("close.visited.p99 < 7", VERDICT_BROKEN, EXIT_REGRESSION);
	one_rule("close.visited.p99 < 7 warn", VERDICT_BROKEN, EXIT_DONE);
	one_rule("close.visited.p99 == 7", VERDICT_PASS, EXIT_DONE);
	one_rule("gvl.hold_ns.p99 < 20ms", VERDICT_PASS, EXIT_DONE);
	one_rule("gvl.hold_ns.p99 < 100ns", VERDICT_BROKEN, EXIT_REGRESSION);
	one_rule("gvl.hold_ns.p99 < 1us", VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
	value(1, 7, "close.visited.p99")->number = 8;	/* one run of ten: a fact has no excuse */
	one_rule("close.visited.p99 <= 7", VERDICT_BROKEN, EXIT_REGRESSION);
	value(1, 7, "gvl.hold_ns.p99")->number = 1e9;	/* a time may have one */
	one_rule("gvl.hold_ns.p99 < 20ms", VERDICT_PASS, EXIT_DONE);
	value(1, 7, "close.visited.p99")->number = 7;
	value(1, 7, "close.visited.p99")->state = VALUE_UNCERTAIN;
	one_rule("close.visited.p99 <= 7", VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
	value(1, 7, "close.visited.p99")->state = VALUE_ABSENT;
	one_rule("close.visited.p99 <= 7", VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
	for (size_t i = 0; i < 10; i++)
		value(1, i, "close.visited.p99")->state = VALUE_NONE;
	one_rule("close.visited.p99 <= 7", VERDICT_PASS, EXIT_DONE);
	one_rule("close.visited.p99 >= 7", VERDICT_INCONCLUSIVE, EXIT_INCONCLUSIVE);
	one_rule("close.count lower 10% 0%", VERDICT_NOT_MEASURED, EXIT_INCONCLUSIVE);
}

static void from_nothing_to_something_is_a_change_without_end(void **s)
{
	struct policy p = policy_of("block.short lower 100% 25%");
	struct gate g;

	(void)s;
	sim_fill(&sim, SHAPE_NORMAL, 20, false);
	for (size_t i = 0; i < 20; i++)
		value(0, i, "block.short")->number = 0;
	g = judge(&p, 0);
	is_result(&g, "block.short", VERDICT_REGRESSION);
	assert_true(isinf(g.verdicts[0].change) && isinf(g.verdicts[0].low));
	gate_release(&g);
	policy_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_more_of_a_fact_is_found_with_a_single_pair),
		cmocka_unit_test(a_fact_that_varies_is_tested),
		cmocka_unit_test(an_uncertain_fact_is_never_compared_exactly),
		cmocka_unit_test(a_small_change_is_none_and_a_large_one_either_way_is),
		cmocka_unit_test(the_second_half_has_to_agree),
		cmocka_unit_test(too_few_or_too_noisy_runs_say_how_many_would_do),
		cmocka_unit_test(lost_events_make_a_run_unusable_and_no_pass),
		cmocka_unit_test(other_conditions_leave_counts_to_compare),
		cmocka_unit_test(what_one_side_did_not_measure_is_incomparable),
		cmocka_unit_test(bounds_need_no_baseline),
		cmocka_unit_test(from_nothing_to_something_is_a_change_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
