// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How often a gate is wrong, and how often it finds what is there. With more gates, and printed:
 * tests/gate-simulate.t.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/gate_runs.h"

enum { GATES = 200, SEED = 6 };

static struct sim sim = { .random = SEED };
static struct policy policy;

static int read_policy(void **s)
{
	(void)s;
	print_message("seed %d\n", SEED);
	return policy_parse(&policy, "built-in", NULL, NULL);
}

static int release_policy(void **s)
{
	(void)s;
	policy_release(&policy);
	return 0;
}

/* 1,000 gates each; most of few pairs, as they are judged sooner. */
static void one_gate_in_a_hundred_raises_a_false_alarm_at_most(void **s)
{
	static const enum shape shapes[] = { SHAPE_LOGNORMAL, SHAPE_DRIFT, SHAPE_BIMODAL };
	static const struct {
		size_t pairs, gates;
	} sizes[] = { { 5, 100 }, { 10, 700 }, { 20, 200 } };

	(void)s;
	for (size_t i = 0; i < 3; i++) {
		size_t alarms = 0;

		for (size_t k = 0; k < 3; k++)
			alarms += sim_nothing(&sim, &policy, shapes[i], sizes[k].pairs, sizes[k].gates).regressions;
		if (alarms > 10)
			fail_msg("%s: %zu false alarms in 1,000 gates", shape_names[shapes[i]], alarms);
	}
}

static void nothing_new_on_a_quiet_machine_is_a_pass(void **s)
{
	struct sim_rates r = sim_nothing(&sim, &policy, SHAPE_NORMAL, 20, GATES);

	(void)s;
	if (100 * r.passed < 95 * GATES)
		fail_msg("%zu of %d gates passed", r.passed, GATES);
}

static void ten_per_cent_are_found_in_five_per_cent_of_noise(void **s)
{
	size_t found = sim_found(&sim, &policy, "gvl.hold_ns.mean", 1.1, 20, 300);

	(void)s;
	if (100 * found < 95 * 300)
		fail_msg("%zu of 300 gates found it", found);
}

/* A candidate that is worse by the limit itself: 2.5 % of gates may take it for less. */
static void few_gates_pass_what_is_as_bad_as_the_limit(void **s)
{
	static const struct {
		enum shape shape;
		const char *rule;
		double factor;
	} cases[] = {
		{ SHAPE_NORMAL, "gvl.hold_ns.mean lower 10% 5%", 1.1 },
		{ SHAPE_LOGNORMAL, "gvl.hold_ns.mean lower 200% 5%", 3 },
		{ SHAPE_BIMODAL, "gvl.hold_ns.mean lower 50% 5%", 1.5 },
	};

	(void)s;
	for (size_t i = 0; i < 3; i++) {
		size_t passed = 0;
		struct policy p;

		assert_int_equal(policy_parse(&p, "p", cases[i].rule, NULL), 0);
		for (int k = 0; k < 400; k++) {
			struct gate g;

			sim_fill(&sim, cases[i].shape, 20, false);
			sim_change(&sim, "gvl.hold_ns.mean", cases[i].factor);
			assert_int_equal(gate_judge(&g, &(struct gate_input){ &sim.side[0], &sim.side[1], &p, 0 },
						    NULL), 0);
			passed += g.verdicts[0].result == VERDICT_PASS;
			gate_release(&g);
		}
		policy_release(&p);
		/* 10, give or take chance */
		if (passed > 20)
			fail_msg("%s: %zu of 400 passed", cases[i].rule, passed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_gate_in_a_hundred_raises_a_false_alarm_at_most),
		cmocka_unit_test(nothing_new_on_a_quiet_machine_is_a_pass),
		cmocka_unit_test(few_gates_pass_what_is_as_bad_as_the_limit),
		cmocka_unit_test(ten_per_cent_are_found_in_five_per_cent_of_noise),
	};

	return cmocka_run_group_tests(tests, read_policy, release_policy);
}
