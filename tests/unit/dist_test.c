// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stat/dist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t next_random(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void add(struct dist *d, uint64_t v)
{
	assert_int_equal(dist_add(d, v), 0);
}

static void an_empty_one_is_all_zero(void **state)
{
	struct dist d;

	(void)state;
	dist_init(&d);
	assert_int_equal(d.count, 0);
	assert_int_equal(dist_mean(&d), 0);
	assert_int_equal(dist_quantile(&d, 500), 0);
	dist_release(&d);
}

static void one_value_is_every_quantile(void **state)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 129, 1000003, 1ULL << 63, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct dist d = { 0 };

		add(&d, values[i]);
		for (unsigned int q = 0; q <= 1000; q += 125)
			assert_int_equal(dist_quantile(&d, q), values[i]);
		assert_int_equal(d.min, values[i]);
		assert_int_equal(d.max, values[i]);
		assert_int_equal(dist_mean(&d), values[i]);
		dist_release(&d);
	}
}

static void small_values_are_exact(void **state)
{
	struct dist d = { 0 };

	(void)state;
	for (uint64_t v = 0; v < 100; v++)
		add(&d, v);
	assert_int_equal(dist_quantile(&d, 500), 49);
	assert_int_equal(dist_quantile(&d, 900), 89);
	assert_int_equal(dist_quantile(&d, 990), 98);
	assert_int_equal(dist_quantile(&d, 999), 99);
	assert_int_equal(dist_mean(&d), 50);	/* 49.5 */
	dist_release(&d);
}

/* Values spread over @bits octaves. */
static void quantiles_of(uint64_t seed, int bits)
{
	enum { NR = 20011 };
	static const unsigned int permille[] = { 1, 250, 500, 900, 990, 999, 1000 };
	uint64_t *v = malloc(NR * sizeof(*v)), sum = 0;
	struct dist d = { 0 };

	assert_non_null(v);
	for (int i = 0; i < NR; i++) {
		v[i] = next_random(&seed) >> (64 - 1 - next_random(&seed) % bits);
		sum += v[i];
		add(&d, v[i]);
	}
	qsort(v, NR, sizeof(*v), by_value);
	assert_int_equal(d.count, NR);
	assert_int_equal(d.sum, sum);
	assert_int_equal(d.min, v[0]);
	assert_int_equal(d.max, v[NR - 1]);
	for (size_t i = 0; i < sizeof(permille) / sizeof(*permille); i++) {
		uint64_t want = v[(NR * permille[i] + 999) / 1000 - 1];
		uint64_t got = dist_quantile(&d, permille[i]);
		uint64_t off = got > want ? got - want : want - got;

		if (off > want / 100)
			fail_msg("p%u of %d bits: got %ju, want %ju", permille[i], bits,
				 (uintmax_t)got, (uintmax_t)want);
	}
	dist_release(&d);
	free(v);
}

static void quantiles_are_within_one_percent(void **state)
{
	(void)state;
	for (int bits = 1; bits < 64; bits += 3)
		quantiles_of(88172645463325252ULL + bits, bits);
}

static void merging_is_adding_all(void **state)
{
	struct dist parts[2] = { { 0 } }, all = { 0 }, empty = { 0 };
	uint64_t seed = 42;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		uint64_t v = next_random(&seed) >> (seed % 60);

		add(&parts[i % 3 == 0], v);
		add(&all, v);
	}
	assert_int_equal(dist_merge(&parts[0], &parts[1]), 0);
	assert_int_equal(dist_merge(&parts[0], &empty), 0);
	assert_int_equal(dist_merge(&empty, &parts[0]), 0);
	for (unsigned int q = 0; q <= 1000; q++) {
		assert_int_equal(dist_quantile(&parts[0], q), dist_quantile(&all, q));
		assert_int_equal(dist_quantile(&empty, q), dist_quantile(&all, q));
	}
	assert_int_equal(empty.count, all.count);
	assert_int_equal(empty.sum, all.sum);
	assert_int_equal(empty.min, all.min);
	assert_int_equal(empty.max, all.max);
	dist_release(&parts[0]);
	dist_release(&parts[1]);
	dist_release(&all);
	dist_release(&empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_one_is_all_zero),
		cmocka_unit_test(one_value_is_every_quantile),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(quantiles_are_within_one_percent),
		cmocka_unit_test(merging_is_adding_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
