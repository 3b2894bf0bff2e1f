// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "gate/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/scope.h"

static void parse(struct policy *p, const char *text)
{
	struct err e;

	if (policy_parse(p, "p", text, &e))
		fail_msg("%s", e.msg);
}

static void the_built_in_one_is_read_as_any_other(void **s)
{
	struct policy built_in, same;

	(void)s;
	parse(&built_in, NULL);
	parse(&same, policy_default);
	assert_true(built_in.is_default && !same.is_default);
	assert_int_equal(built_in.nr, same.nr);
	assert_true(built_in.nr > 10);
	assert_memory_equal(built_in.rules, same.rules, same.nr * sizeof(*same.rules));
	assert_true(built_in.false_alarms == 0.003);
	policy_release(&built_in);
	policy_release(&same);
}

static void a_comparison_has_all_its_parts(void **s)
{
	struct policy p;

	(void)s;
	parse(&p, "# a comment\n\n gvl.hold_ns.mean\tlower 12.5% 0% warn # why\r\nclose.count higher 5% 5%");
	assert_int_equal(p.nr, 2);
	assert_string_equal(p.rules[0].metric->name, "gvl.hold_ns.mean");
	assert_int_equal(p.rules[0].kind, RULE_COMPARE);
	assert_int_equal(p.rules[0].severity, SEVERITY_WARN);
	assert_int_equal(p.rules[0].line, 3);
	assert_true(p.rules[0].limit == 0.125 && p.rules[0].minimum == 0);
	assert_false(p.rules[0].is_higher_better);
	assert_true(p.rules[1].is_higher_better);
	assert_int_equal(p.rules[1].severity, SEVERITY_FAIL);
	policy_release(&p);
}

static void bounds_have_the_unit_of_their_metric(void **s)
{
	static const struct {
		const char *text;
		enum rule_kind kind;
		double bound;
	} cases[] = {
		{ "close.visited.p99 <= 1", RULE_AT_MOST, 1 },
		{ "gvl.hold_ns.p99 < 20ms", RULE_BELOW, 20e6 },
		{ "gvl.hold_ns.p99 < 5", RULE_BELOW, 5 },
		{ "copy.held.bytes == 0", RULE_EQUAL, 0 },
		{ "copy.held.bytes <= 64K", RULE_AT_MOST, 65536 },
		{ "gvl.free_ns.share >= 5%", RULE_AT_LEAST, 0.05 },
		{ "gvl.free_ns.share > 0.5", RULE_ABOVE, 0.5 },
	};

	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy p;

		parse(&p, cases[i].text);
		assert_int_equal(p.nr, 1);
		assert_int_equal(p.rules[0].kind, cases[i].kind);
		if (p.rules[0].bound != cases[i].bound)
			fail_msg("%s: got %g, want %g", cases[i].text, p.rules[0].bound, cases[i].bound);
		policy_release(&p);
	}
}

static void a_bad_line_is_told_by_number_in_one_sentence(void **s)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "gvl.held lower 10% 5%", "p:1: gvl.held: there is no such metric" },
		{ "\n\nclose.count", "p:3: close.count: wants a direction or a bound, as in `lower 10% 5%` or `<= 1`" },
		{ "close.count down 10% 5%",
		  "p:1: down: neither a direction (lower, higher) nor one of < <= == >= >" },
		{ "close.count => 1", "p:1: =>: neither a direction (lower, higher) nor one of < <= == >= >" },
		{ "close.count lower 10%",
		  "p:1: close.count: wants a limit and a minimum effect, as in 10% 5%" },
		{ "close.count lower 10 5%", "p:1: 10: not a limit, which is a percentage above 0%" },
		{ "close.count lower 0% 0%", "p:1: 0%: not a limit, which is a percentage above 0%" },
		{ "close.count lower 10% x%", "p:1: x%: not a minimum effect, which is a percentage" },
		{ "close.count lower 10% -5%", "p:1: -5%: not a minimum effect, which is a percentage" },
		{ "close.count lower 10% 11%", "p:1: 11%: the minimum effect is above the limit 10%" },
		{ "close.count lower 10% 5% bad", "p:1: bad: not a severity, which is fail or warn" },
		{ "close.count lower 10% 5% fail it", "p:1: it: nothing may follow the severity" },
		{ "close.count <=", "p:1: close.count: wants a number after <=" },
		{ "close.count <= 5ms", "p:1: 5ms: not a number that close.count can have" },
		{ "gvl.hold_ns.p99 < 5parsec", "p:1: 5parsec: not a number that gvl.hold_ns.p99 can have" },
		{ "copy.held.bytes < 0x10", "p:1: 0x10: not a number that copy.held.bytes can have" },
		{ "gvl.hold_ns.share < nan", "p:1: nan: not a number that gvl.hold_ns.share can have" },
		{ "close.count < 1\nclose.count lower 1% 1%\nclose.count higher 1% 1%",
		  "p:3: close.count: is compared in line 2 already" },
		{ "false_alarms 50%", "p:1: false_alarms: wants one percentage from 0.01% to 10%" },
		{ "false_alarms", "p:1: false_alarms: wants one percentage from 0.01% to 10%" },
		{ "a b c d e f g h i", "p:1: i: too many words" },
		{ "close.count < 1\x01", "p:1: byte 0x01: a policy is plain text" },
		{ "# nothing\n", "p: has no rule" },
		{ "", "p: has no rule" },
	};

	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy p = { 0 };
		struct err e = { 0 };

		assert_int_not_equal(policy_parse(&p, "p", cases[i].text, &e), 0);
		assert_string_equal(e.msg, cases[i].want);
		assert_int_equal(e.reason, REASON_POLICY);
		assert_int_equal(reason_status(e.reason), EXIT_BAD_FILE);
		assert_null(p.rules);
	}
}

static void files_that_are_none_are_errors(void **s)
{
	char path[] = "/tmp/gate_policy_XXXXXX";
	auto_close int fd = mkstemp(path);
	struct policy p = { 0 };
	struct err e;

	(void)s;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "close.count < 1\n", 16), 16);
	assert_int_equal(policy_read(&p, path, &e), 0);
	policy_release(&p);
	assert_int_equal(write(fd, "\0", 1), 1);
	assert_int_not_equal(policy_read(&p, path, &e), 0);
	assert_non_null(strstr(e.msg, "not plain text"));
	assert_int_equal(ftruncate(fd, 2 << 20), 0);
	assert_int_not_equal(policy_read(&p, path, &e), 0);
	assert_non_null(strstr(e.msg, "more than"));
	unlink(path);
	assert_int_not_equal(policy_read(&p, path, &e), 0);
	assert_int_not_equal(policy_read(&p, "/", &e), 0);
	assert_string_equal(e.msg, "/: Is a directory");
	assert_int_equal(e.reason, REASON_POLICY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_built_in_one_is_read_as_any_other),
		cmocka_unit_test(a_comparison_has_all_its_parts),
		cmocka_unit_test(bounds_have_the_unit_of_their_metric),
		cmocka_unit_test(a_bad_line_is_told_by_number_in_one_sentence),
		cmocka_unit_test(files_that_are_none_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
