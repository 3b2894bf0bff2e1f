// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stat/paired.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stat/sample.h"

#define TAIL 0.025

static const double any[8];	/* nothing is too small to matter */

static void test(const double *diff, const double *least, size_t nr_quantities, size_t nr_pairs, struct paired *out)
{
	assert_int_equal(paired_test(diff, least, nr_quantities, nr_pairs, TAIL, out), 0);
}

static void is_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-9) && got != want)
		fail_msg("got %.17g, want %.17g", got, want);
}

/* All signs the same: of 2^n ways to set them, one is as extreme. */
static void few_pairs_have_the_p_that_counting_gives(void **state)
{
	static const double d[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3 };

	(void)state;
	for (size_t nr = 1; nr <= 10; nr++) {
		struct paired r;

		test(d, any, 1, nr, &r);
		is_near(r.p_up, ldexp(1, -(int)nr));
		is_near(r.p_down, 1);
		assert_int_equal(r.nr, nr);
	}
}

/* 1 + 2 + 3 - 1.5 is 4.5; of the 16 ways to set the signs three give as much. */
static void signs_that_differ_are_counted_too(void **state)
{
	static const double d[] = { 1, 2, 3, -1.5 };
	struct paired r;

	(void)state;
	test(d, any, 1, 4, &r);
	is_near(r.p_up, 3.0 / 16);	/* itself, 7.5, and -1 + 2 + 3 + 1.5 */
	is_near(r.mean, 4.5 / 4);
}

static void too_few_pairs_have_no_interval(void **state)
{
	static const double d[] = { 5, 1, 3, 2, 4, 6 };
	struct paired r;

	(void)state;
	test(d, any, 1, 0, &r);
	assert_true(isinf(r.low) && isinf(r.high) && r.p_up == 1 && r.p_down == 1 && r.mean == 0);
	test(d, any, 1, 5, &r);
	assert_true(isinf(r.low) && r.low < 0 && isinf(r.high) && r.high > 0);
	test(d, any, 1, 6, &r);
	is_near(r.low, 1);
	is_near(r.high, 6);
	assert_int_equal(paired_least(TAIL), 6);
	assert_int_equal(paired_least(0.003), 9);
	assert_int_equal(paired_least(0.25), 2);
}

static void what_has_no_difference_is_left_out(void **state)
{
	static const double d[] = { 3, NAN, 1, 4, NAN, 1, NAN, NAN, 5, 9 };
	static const double same[] = { 3, 1, 4, 1, 5, 9 };
	static const double none[] = { NAN, NAN, NAN };
	struct paired got, want;

	(void)state;
	test(d, any, 1, 10, &got);
	test(same, any, 1, 6, &want);
	assert_int_equal(got.nr, 6);
	is_near(got.mean, want.mean);
	is_near(got.p_up, want.p_up);
	is_near(got.low, want.low);
	is_near(got.high, want.high);
	test(none, any, 1, 3, &got);
	assert_true(got.nr == 0 && got.p_up == 1 && got.p_down == 1 && isinf(got.low));
}

static void no_difference_at_all_is_certain(void **state)
{
	static const double d[10];
	struct paired r;

	(void)state;
	test(d, any, 1, 10, &r);
	assert_true(r.mean == 0 && r.low == 0 && r.high == 0 && r.p_up == 1 && r.p_down == 1);
}

static double normal(uint64_t *state)
{
	double u = (random_next(state) >> 11) * 0x1p-53, v = (random_next(state) >> 11) * 0x1p-53;

	return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

/* Turned signs give turned results; the order of quantities and of pairs does not matter to few. */
static void up_and_down_are_alike(void **state)
{
	uint64_t random = 5;
	double d[3 * 11], turned[3 * 11];
	struct paired a[3], b[3];

	(void)state;
	for (size_t i = 0; i < 33; i++) {
		d[i] = normal(&random) + 0.3;
		turned[(2 - i / 11) * 11 + 10 - i % 11] = -d[i];
	}
	test(d, any, 3, 11, a);
	test(turned, any, 3, 11, b);
	for (size_t q = 0; q < 3; q++) {
		is_near(a[q].mean, -b[2 - q].mean);
		is_near(a[q].low, -b[2 - q].high);
		is_near(a[q].high, -b[2 - q].low);
		is_near(a[q].p_up, b[2 - q].p_down);
		is_near(a[q].p_down, b[2 - q].p_up);
	}
}

/* More quantities: p grows, but less than by their number, and never falls below that of one alone. */
static void many_quantities_are_corrected_together(void **state)
{
	uint64_t random = 9;
	double d[8 * 12];
	struct paired one, all[8];

	(void)state;
	for (size_t i = 0; i < 8 * 12; i++)
		d[i] = normal(&random) + (i < 12 ? 1 : 0);
	test(d, any, 1, 12, &one);
	test(d, any, 8, 12, all);
	assert_true(all[0].p_up >= one.p_up && all[0].p_up <= 8 * one.p_up + 1e-9);
	is_near(all[0].low, one.low);
	for (size_t q = 1; q < 8; q++)
		assert_true(all[q].p_up >= all[0].p_up - 1e-9);
}

/* What cannot be of interest costs the others nothing. */
static void a_mean_below_the_least_is_none(void **state)
{
	uint64_t random = 9;
	double d[8 * 12], least[8] = { 0, 9, 9, 9, 9, 9, 9, 9 };
	struct paired one, all[8];

	(void)state;
	for (size_t i = 0; i < 8 * 12; i++)
		d[i] = normal(&random) + 1;
	test(d, any, 1, 12, &one);
	test(d, least, 8, 12, all);
	is_near(all[0].p_up, one.p_up);
	for (size_t q = 1; q < 8; q++)
		assert_true(all[q].p_up == 1);
}

/*
 * Both errors of intervals, and the level of the test, where all is known. Intervals of 95 %: 50 of 2,000 miss on either side, give or take
 * chance.
 */
static void levels_are_what_they_are_said_to_be(void **state)
{
	static const size_t sizes[] = { 7, 12, 13, 30, 70 };
	enum { TIMES = 2000 };

	(void)state;
	for (size_t k = 0; k < 5; k++) {
		uint64_t random = 100 + k;
		int below = 0, above = 0, alarms = 0;

		for (int i = 0; i < TIMES; i++) {
			double d[70];
			struct paired r;

			for (size_t p = 0; p < sizes[k]; p++) {
				double z = normal(&random);

				d[p] = z * z * z;	/* heavy tails */
			}
			test(d, any, 1, sizes[k], &r);
			below += r.low > 0;
			above += r.high < 0;
			alarms += r.p_up <= TAIL;
		}
		if (below > 75 || above > 75 || below < 25 || above < 25)
			fail_msg("%zu pairs: of %d intervals %d are above 0, %d below", sizes[k], TIMES, below, above);
		assert_int_equal(below, alarms);	/* the interval is the test */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_pairs_have_the_p_that_counting_gives),
		cmocka_unit_test(signs_that_differ_are_counted_too),
		cmocka_unit_test(too_few_pairs_have_no_interval),
		cmocka_unit_test(what_has_no_difference_is_left_out),
		cmocka_unit_test(no_difference_at_all_is_certain),
		cmocka_unit_test(up_and_down_are_alike),
		cmocka_unit_test(many_quantities_are_corrected_together),
		cmocka_unit_test(a_mean_below_the_least_is_none),
		cmocka_unit_test(levels_are_what_they_are_said_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
