// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "util/err.h"
#include "util/map.h"
#include "util/parse.h"
#include "util/scope.h"

static void a_map_keeps_what_was_put_and_not_removed(void **state)
{
	enum { KEYS = 4096 };
	static uint64_t want[KEYS];	/* 0: absent */
	uint64_t seed = 1;
	struct map m;

	(void)state;
	map_init(&m);
	for (int i = 0; i < 100000; i++) {
		uint64_t key;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		key = seed >> 40 & (KEYS - 1);
		if (key == 0)
			continue;
		if (seed >> 63) {
			assert_int_equal(map_put(&m, key << 4, i + 1), 0);
			want[key] = i + 1;
		} else {
			assert_int_equal(map_remove(&m, key << 4), want[key] != 0);
			want[key] = 0;
		}
	}
	for (uint64_t key = 1; key < KEYS; key++) {
		uint64_t *got = map_get(&m, key << 4);

		assert_int_equal(got ? *got : 0, want[key]);
	}
	map_release(&m);
}

static void times_are_read_as_people_type_them(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "5", 5000000000 }, { "5s", 5000000000 }, { "200ms", 200000000 },
		{ "1.5s", 1500000000 }, { "10us", 10000 }, { "7ns", 7 }, { "2m", 120000000000 },
		{ "1h", 3600000000000 },
	};
	static const char *const bad[] = { "", "s", "-1s", "5x", "5 s", "1e30s", "nan", "inf" };
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(parse_time(good[i].text, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(parse_time(bad[i], &ns), -EINVAL);
}

static void sizes_and_numbers_are_read_whole_or_not_at_all(void **state)
{
	uint64_t n;
	double d;

	(void)state;
	assert_int_equal(parse_size("16M", &n), 0);
	assert_int_equal(n, 16 << 20);
	assert_int_equal(parse_size("16MB", &n), -EINVAL);
	assert_int_equal(parse_u64("18446744073709551615", &n), 0);
	assert_int_equal(parse_u64("18446744073709551616", &n), -EINVAL);
	assert_int_equal(parse_u64("-1", &n), -EINVAL);
	assert_int_equal(parse_u64("12x", &n), -EINVAL);
	assert_int_equal(parse_double("2.5", &d), 0);
	assert_int_equal(parse_double("2.5%", &d), -EINVAL);
}

static void every_reason_has_an_id_of_its_own(void **state)
{
	(void)state;
	for (enum reason a = REASON_NONE; a < REASON_COUNT; a++) {
		assert_non_null(reason_id(a));
		assert_non_null(reason_remedy(a));
		for (enum reason b = a + 1; b < REASON_COUNT; b++)
			assert_string_not_equal(reason_id(a), reason_id(b));
	}
}

static void an_error_is_cut_to_fit_and_may_be_ignored(void **state)
{
	struct err e;
	char text[2 * sizeof(e.msg)];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(err_set(&e, REASON_USAGE, -EINVAL, "%s", text), -EINVAL);
	assert_int_equal(strlen(e.msg), sizeof(e.msg) - 1);
	assert_int_equal(err_set(NULL, REASON_USAGE, -EINVAL, "%s", text), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_keeps_what_was_put_and_not_removed),
		cmocka_unit_test(times_are_read_as_people_type_them),
		cmocka_unit_test(sizes_and_numbers_are_read_whole_or_not_at_all),
		cmocka_unit_test(every_reason_has_an_id_of_its_own),
		cmocka_unit_test(an_error_is_cut_to_fit_and_may_be_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
