// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stat/sample.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void is_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("got %.17g, want %.17g", got, want);
}

static void add(struct sample *s, double v)
{
	assert_int_equal(sample_add(s, v), 0);
}

static struct sample sample_of(const double *values, size_t nr)
{
	struct sample s = { 0 };

	for (size_t i = 0; i < nr; i++)
		add(&s, values[i]);
	return s;
}

static double uniform(uint64_t *state)
{
	return (random_next(state) >> 11) * 0x1p-53;
}

static double normal(uint64_t *state)
{
	return sqrt(-2 * log(1 - uniform(state))) * cos(2 * M_PI * uniform(state));
}

static void an_empty_sample_has_no_figure(void **state)
{
	struct sample s = { 0 };
	struct figure f;

	(void)state;
	assert_int_equal(sample_figure(&s, &f), 0);
	assert_int_equal(f.nr, 0);
	is_near(f.value, 0, 0);
	is_near(sample_median(&s), 0, 0);
	is_near(sample_mean(&s), 0, 0);
}

static void one_value_is_all_of_its_figure(void **state)
{
	struct sample s = { 0 };
	struct figure f;

	(void)state;
	add(&s, 42.5);
	assert_int_equal(sample_figure(&s, &f), 0);
	assert_int_equal(f.nr, 1);
	for (size_t i = 0; i < 5; i++)
		is_near(((const double[]){ f.value, f.low, f.high, f.min, f.max })[i], 42.5, 0);
	sample_release(&s);
}

static void median_mean_and_limits_are_exact(void **state)
{
	struct sample odd = sample_of((const double[]){ 9, -1, 4, 4, 100 }, 5);
	struct sample even = sample_of((const double[]){ 8, 2, 6, 1 }, 4);
	struct figure f;

	(void)state;
	is_near(sample_median(&odd), 4, 0);
	is_near(sample_mean(&odd), 23.2, 1e-12);
	is_near(sample_median(&even), 4, 0);
	is_near(odd.values[0], 9, 0);	/* still in order of measurement */
	assert_int_equal(sample_figure(&odd, &f), 0);
	is_near(f.value, 4, 0);
	is_near(f.min, -1, 0);
	is_near(f.max, 100, 0);
	assert_true(f.min <= f.low && f.low <= f.value && f.value <= f.high && f.high <= f.max);
	sample_release(&odd);
	sample_release(&even);
}

/* 6 done at 1, 3 and 6 takes 6 + 2 + 1; the figure is that of all work, and not the mean of 10 / 3. */
static void a_speed_is_that_of_all_work(void **state)
{
	struct sample s = sample_of((const double[]){ 3, 6, 1 }, 3), none = { 0 };
	struct figure f;

	(void)state;
	assert_int_equal(sample_speed(&s, &f), 0);
	is_near(f.value, 2, 1e-12);
	is_near(f.min, 1, 0);
	is_near(f.max, 6, 0);
	assert_true(f.min <= f.low && f.low < f.value && f.value < f.high && f.high <= f.max);
	assert_int_equal(sample_speed(&none, &f), 0);
	assert_int_equal(f.nr, 0);
	sample_release(&s);
}

/*
 * The median of 101 drawn with replacement is the value at rank k (0-based) or below with the chance that at
 * least 51 of 101 draws are among the k + 1 smallest. By the binomial distribution that passes 2.5 % at
 * rank 40, and 97.5 % at rank 60.
 */
static void the_interval_is_where_theory_puts_it(void **state)
{
	struct sample s = { 0 };
	struct figure f;

	(void)state;
	for (int i = 0; i < 101; i++)
		add(&s, i * 37 % 101);
	assert_int_equal(sample_figure(&s, &f), 0);
	is_near(f.value, 50, 0);
	is_near(f.low, 40, 1);
	is_near(f.high, 60, 1);
	sample_release(&s);
}

/* Of @nr log-normal values each, in 1,000 samples: how often the interval has their median, 1. */
static int covered(size_t nr, uint64_t seed)
{
	int hits = 0;

	for (int i = 0; i < 1000; i++) {
		struct sample s = { 0 };
		struct figure f;

		for (size_t k = 0; k < nr; k++)
			add(&s, exp(normal(&seed)));
		assert_int_equal(sample_figure(&s, &f), 0);
		hits += f.low <= 1 && 1 <= f.high;
		sample_release(&s);
	}
	return hits;
}

static void the_interval_has_the_median_in_95_of_100_samples(void **state)
{
	static const size_t sizes[] = { 9, 20, 41 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		int hits = covered(sizes[i], 7 + i);

		if (hits < 925 || hits > 980)
			fail_msg("%zu values: %d of 1,000 intervals have the median", sizes[i], hits);
	}
}

static void the_same_sample_gives_the_same_figures(void **state)
{
	struct figure first, again;
	struct sample s = { 0 };
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < 50; i++)
		add(&s, normal(&seed));
	assert_int_equal(sample_figure(&s, &first), 0);
	assert_int_equal(sample_figure(&s, &again), 0);
	assert_memory_equal(&first, &again, sizeof(first));
	sample_release(&s);
}

static void a_ratio_is_that_of_the_pairs(void **state)
{
	struct sample a = sample_of((const double[]){ 1, 10, 0, 100, 5 }, 5);
	struct sample b = sample_of((const double[]){ 2, 30, 7, 200 }, 4);
	struct figure f;

	(void)state;
	assert_int_equal(sample_ratio(&a, &b, &f), 0);
	assert_int_equal(f.nr, 3);		/* no pair for 5, none over 0 */
	is_near(f.value, 2, 1e-12);
	is_near(f.min, 2, 1e-12);
	is_near(f.max, 3, 1e-12);
	sample_release(&b);
	assert_int_equal(sample_ratio(&a, &b, &f), 0);
	assert_int_equal(f.nr, 0);
	sample_release(&a);
}

/* Noise that both of a pair have, as when the machine is busy for a while, is not in their ratio. */
static void pairs_cancel_what_they_share(void **state)
{
	struct sample a = { 0 }, b = { 0 };
	struct figure ratio, alone;
	uint64_t seed = 11;

	(void)state;
	for (int i = 0; i < 30; i++) {
		double shared = exp(normal(&seed));

		add(&a, 100 * shared);
		add(&b, 162 * shared * (1 + 0.01 * normal(&seed)));
	}
	assert_int_equal(sample_ratio(&a, &b, &ratio), 0);
	assert_int_equal(sample_figure(&a, &alone), 0);
	is_near(ratio.value, 1.62, 0.02);
	assert_true(ratio.high - ratio.low < 0.05);
	assert_true(alone.high - alone.low > 30);
	sample_release(&a);
	sample_release(&b);
}

static void an_exact_line_is_found(void **state)
{
	const double x[] = { 10, 100, 1000, 10000 }, y[] = { 32, 302, 3002, 30002 };
	struct fit fit;

	(void)state;
	assert_int_equal(sample_fit(x, y, 4, &fit), 0);
	is_near(fit.slope, 3, 1e-9);
	is_near(fit.intercept, 2, 1e-6);
	is_near(fit.low, 3, 1e-9);
	is_near(fit.high, 3, 1e-9);
}

static void the_slope_of_noisy_points_is_in_its_interval(void **state)
{
	enum { NR = 200 };
	double x[NR], y[NR];
	uint64_t seed = 5;
	struct fit fit;

	(void)state;
	for (int i = 0; i < NR; i++) {
		x[i] = i % 20;
		y[i] = 7 + 2.5 * x[i] + normal(&seed);
	}
	assert_int_equal(sample_fit(x, y, NR, &fit), 0);
	is_near(fit.slope, 2.5, 0.05);
	is_near(fit.intercept, 7, 0.5);
	assert_true(fit.low < 2.5 && 2.5 < fit.high);
	/* a standard error is 1 / sqrt(200 * 33.25) */
	is_near(fit.high - fit.low, 2 * 1.96 * 0.01226, 0.01);
}

static void points_above_each_other_have_no_slope(void **state)
{
	const double x[] = { 0.1, 0.1, 0.1 }, y[] = { 1, 2, 3 };
	struct fit fit;

	(void)state;
	assert_int_equal(sample_fit(x, y, 3, &fit), -EINVAL);
	assert_int_equal(sample_fit(x, y, 1, &fit), -EINVAL);
	assert_int_equal(sample_fit(x, y, 0, &fit), -EINVAL);
}

/* The published first values of splitmix64 for the seed 1234567. */
static void random_numbers_are_splitmix64(void **state)
{
	static const uint64_t want[] = {
		6457827717110365317U, 3203168211198807973U, 9817491932198370423U,
	};
	uint64_t seed = 1234567;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_true(random_next(&seed) == want[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_sample_has_no_figure),
		cmocka_unit_test(one_value_is_all_of_its_figure),
		cmocka_unit_test(median_mean_and_limits_are_exact),
		cmocka_unit_test(a_speed_is_that_of_all_work),
		cmocka_unit_test(the_interval_is_where_theory_puts_it),
		cmocka_unit_test(the_interval_has_the_median_in_95_of_100_samples),
		cmocka_unit_test(the_same_sample_gives_the_same_figures),
		cmocka_unit_test(a_ratio_is_that_of_the_pairs),
		cmocka_unit_test(pairs_cancel_what_they_share),
		cmocka_unit_test(an_exact_line_is_found),
		cmocka_unit_test(the_slope_of_noisy_points_is_in_its_interval),
		cmocka_unit_test(points_above_each_other_have_no_slope),
		cmocka_unit_test(random_numbers_are_splitmix64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
