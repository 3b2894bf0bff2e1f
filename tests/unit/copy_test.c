// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Copies of memory, from their events; and what samples tell of a share. */
#include "tests/unit/closes.h"

#include <math.h>
#include <stdlib.h>

#include "event/copy.h"
#include "stat/share.h"

#define KIB 1024ULL
#define GIB (1ULL << 30)
#define EMPTY EVENT_QUEUE_EMPTY

enum { A = 0x1000, B = 0x2000, C = 0x3000, D = 0x4000, COPY = 0x500, CLEAR = 0x600 };
enum {
	HELD = COPY_HELD | COPY_BUFFER,
	FREE = COPY_BUFFER,
	SET = COPY_SET << COPY_OP_SHIFT,
	COMPARE = COPY_COMPARE << COPY_OP_SHIFT,
};

static const struct copy_site *only_site(const struct feed *f)
{
	IS(f->p.copies.nr_sites, 1);
	return &f->p.copies.sites[0];
}

static void a_copy_counts_with_its_bytes_and_time(void **s)
{
	const struct copy_site *site;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	copied(&f, 100, 30, 16 * KIB, HELD, COPY);
	copied(&f, 200, 50, 20 * KIB, HELD, COPY);
	site = only_site(&f);
	IS(site->count, 2);
	IS(site->bytes, 36 * KIB);
	IS(site->timed_bytes, 36 * KIB);
	IS(site->ns.count, 2);
	IS(site->ns.sum, 80);
	IS(site->ns.max, 50);
	IS(site->sizes[15], 2);		/* from 2^14 up to 2^15 */
	IS(f.p.copies.tallied, 0);
	feed_release(&f);
}

static void sites_are_told_apart_by_function_operation_and_lock(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	copied(&f, 100, 1, 1, HELD, COPY);
	copied(&f, 110, 1, 1, FREE, COPY);
	copied(&f, 120, 1, 1, HELD | SET, COPY);
	copied(&f, 130, 1, 1, COPY_HELD, COPY);
	copied(&f, 140, 1, 1, HELD, CLEAR);
	copied(&f, 150, 1, 1, HELD, 0);
	IS(f.p.copies.nr_sites, 6);
	f.target = 1;			/* where that address is another function */
	copied(&f, 160, 1, 1, HELD, COPY);
	IS(f.p.copies.nr_sites, 7);
	f.target = 0;
	copied(&f, 170, 1, 1, HELD, COPY);
	IS(f.p.copies.nr_sites, 7);
	IS(f.p.copies.sites[0].count, 2);
	feed_release(&f);
}

static void sizes_above_4_gib_are_whole(void **s)
{
	const struct copy_site *site;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	copied(&f, 100, 1, 5 * GIB + 7, HELD, COPY);
	copied(&f, 200, 1, 4 * GIB, HELD, COPY);
	tallied(&f, 300, 1000, 6 * GIB, 23, HELD, COPY);
	site = only_site(&f);
	IS(site->bytes, 15 * GIB + 7);
	IS(site->timed_bytes, 9 * GIB + 7);
	IS(site->sizes[33], 2);
	IS(site->sizes[23], 1000);
	feed_release(&f);
}

static void the_least_and_the_largest_size_have_slots(void **s)
{
	const struct copy_site *site;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	copied(&f, 100, 1, 0, HELD, COPY);
	copied(&f, 200, 1, 1, HELD, COPY);
	copied(&f, 300, 1, UINT64_MAX, HELD, COPY);
	tallied(&f, 400, 5, 0, UINT32_MAX, HELD, COPY);		/* of a damaged file */
	site = only_site(&f);
	IS(site->sizes[0], 1);
	IS(site->sizes[1], 1);
	IS(site->sizes[COPY_SLOTS - 1], 1 + 5);
	feed_release(&f);
}

static void a_tally_has_no_time(void **s)
{
	const struct copy_site *site;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	copied(&f, 100, 30, 16 * KIB, HELD, COPY);
	tallied(&f, 200, 7, 700, 7, HELD, COPY);
	tallied(&f, 300, 3, 90, 5, HELD, COPY);
	site = only_site(&f);
	IS(site->count, 11);
	IS(site->bytes, 16 * KIB + 790);
	IS(site->timed_bytes, 16 * KIB);
	IS(site->ns.count, 1);
	IS(site->sizes[7], 7);
	IS(site->sizes[5], 3);
	IS(f.p.copies.tallied, 10);
	feed_release(&f);
}

static void a_copy_is_where_it_begins_and_a_tally_where_it_is_taken(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, (struct lock_window){ 1000, 2000 });
	copied(&f, 999, 500, 1, HELD, COPY);
	copied(&f, 1000, 10, 2, HELD, COPY);
	copied(&f, 1999, 500, 4, HELD, COPY);
	copied(&f, 2000, 10, 8, HELD, COPY);
	tallied(&f, 999, 1, 16, 5, HELD, COPY);
	tallied(&f, 1500, 1, 32, 6, HELD, COPY);
	tallied(&f, 2000, 1, 64, 7, HELD, COPY);
	ticked(&f, 999, 5, 1, COPY);
	ticked(&f, 1500, 50, 10, COPY);
	ticked(&f, 2000, 500, 100, COPY);
	IS(only_site(&f)->bytes, 2 + 4 + 32);
	IS(f.p.copies.tallied, 1);
	IS(f.p.copies.ticks, 50);
	IS(f.p.copies.copy_ticks, 10);
	feed_release(&f);
}

/* B waits for all of it, C from its middle on, D came later. */
static void a_copy_is_to_blame_for_those_in_the_queue(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	queue(&f, 50, B);
	queue(&f, 150, C);
	copied(&f, 100, 100, 16 * KIB, HELD, COPY);
	IS(only_site(&f)->blame_ns, 100 + 50);
	queue(&f, 300, D);
	copied(&f, 290, 10, 16 * KIB, HELD, COPY);
	IS(only_site(&f)->blame_ns, 150 + 2 * 10);
	feed_lock(&f);
	feed_release(&f);
}

static void without_the_lock_nothing_is_to_blame(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	queue(&f, 50, B);
	copied(&f, 100, 100, 16 * KIB, FREE, COPY);
	IS(only_site(&f)->blame_ns, 0);
	feed_release(&f);
}

static void where_the_queue_is_not_known_nothing_is_to_blame(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	f.lock = 3;			/* nobody has told of it */
	copied(&f, 100, 100, 16 * KIB, HELD, COPY);
	f.lock = 0;
	copied(&f, 200, 100, 16 * KIB, HELD, COPY);
	state(&f, 1000, A);
	queue(&f, 1010, B);
	end(&f, 1020);
	copied(&f, 1030, 100, 16 * KIB, HELD, COPY);
	IS(only_site(&f)->count, 3);
	IS(only_site(&f)->blame_ns, 0);
	feed_release(&f);
}

static void ticks_add_up_by_function(void **s)
{
	const struct copies *c;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	c = &f.p.copies;
	ticked(&f, 100, 1000, 100, COPY);
	ticked(&f, 200, 500, 7, CLEAR);
	ticked(&f, 300, 500, 30, COPY);
	ticked(&f, 400, 10, 0, 0);
	IS(c->ticks, 2010);
	IS(c->copy_ticks, 137);
	IS(c->nr_sampled, 2);
	IS(c->sampled[0].count, 130);
	IS(c->sampled[1].count, 7);
	IS(c->nr_sites, 0);
	IS(c->tallied, 0);
	feed_release(&f);
}

static void a_tally_of_a_later_version_is_skipped(void **s)
{
	struct event ev = { .kind = EVENT_TALLY, .ts_ns = 100, .fd = 99, .count = 5, .dur_ns = 5 };
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	feed_event(&f, &ev);
	ev.fd = -1;
	feed_event(&f, &ev);
	IS(f.p.copies.nr_sites, 0);
	IS(f.p.copies.ticks + f.p.copies.copy_ticks + f.p.copies.tallied, 0);
	feed_release(&f);
}

static void sites_come_by_bytes(void **s)
{
	const struct copy_site **sites;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	sites = copies_sorted(&f.p.copies);
	assert_non_null(sites);
	free(sites);
	copied(&f, 100, 1, 200, HELD, COPY);
	copied(&f, 200, 1, 5 * GIB, FREE, COPY);
	tallied(&f, 300, 9, 900, 7, HELD, CLEAR);
	sites = copies_sorted(&f.p.copies);
	assert_non_null(sites);
	IS(sites[0]->bytes, 5 * GIB);
	IS(sites[1]->bytes, 900);
	IS(sites[2]->bytes, 200);
	free(sites);
	feed_release(&f);
}

static void to_compare_is_not_to_copy(void **s)
{
	(void)s;
	assert_true(copy_is_copy(&(struct copy_site){ .flags = HELD }));
	assert_true(copy_is_copy(&(struct copy_site){ .flags = HELD | SET }));
	assert_true(copy_is_copy(&(struct copy_site){ .flags = COPY_STRING << COPY_OP_SHIFT }));
	assert_false(copy_is_copy(&(struct copy_site){ .flags = HELD | COMPARE }));
}

static void is_near(const char *what, double got, double want)
{
	if (!(fabs(got - want) < 0.00005))
		fail_msg("%s: got %.6f, want %.6f", what, got, want);
}

/* The first four as in Newcombe, Statistics in Medicine 17 (1998), table I, method 3. */
static void a_share_has_wilsons_interval(void **s)
{
	static const struct {
		uint64_t hits, total;
		double value, low, high;
	} known[] = {
		{ 81, 263, 0.307985, 0.2553, 0.3662 }, { 15, 148, 0.101351, 0.0624, 0.1605 },
		{ 0, 20, 0, 0, 0.1611 }, { 1, 29, 0.034483, 0.0061, 0.1718 },
		{ 5, 10, 0.5, 0.2366, 0.7634 }, { 20, 20, 1, 0.8389, 1 },
	};
	char what[32];

	(void)s;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct share got = share_of(known[i].hits, known[i].total);

		snprintf(what, sizeof(what), "%ju of %ju", (uintmax_t)known[i].hits,
			 (uintmax_t)known[i].total);
		is_near(what, got.value, known[i].value);
		is_near(what, round(got.low * 1e4) / 1e4, known[i].low);
		is_near(what, round(got.high * 1e4) / 1e4, known[i].high);
	}
}

static void without_samples_the_share_may_be_anything(void **s)
{
	struct share got = share_of(0, 0);

	(void)s;
	is_near("value", got.value, 0);
	is_near("low", got.low, 0);
	is_near("high", got.high, 1);
}

static void an_interval_stays_between_nothing_and_all(void **s)
{
	(void)s;
	for (uint64_t total = 1; total < 1ULL << 60; total = 3 * total + 1)
		for (int i = 0; i < 3; i++) {
			uint64_t hits = i == 0 ? 0 : i == 1 ? total / 2 : total;
			struct share got = share_of(hits, total);

			assert_true(got.low >= 0 && got.low <= got.value + 1e-12);
			assert_true(got.high <= 1 && got.high >= got.value - 1e-12);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_counts_with_its_bytes_and_time),
		cmocka_unit_test(sites_are_told_apart_by_function_operation_and_lock),
		cmocka_unit_test(sizes_above_4_gib_are_whole),
		cmocka_unit_test(the_least_and_the_largest_size_have_slots),
		cmocka_unit_test(a_tally_has_no_time),
		cmocka_unit_test(a_copy_is_where_it_begins_and_a_tally_where_it_is_taken),
		cmocka_unit_test(a_copy_is_to_blame_for_those_in_the_queue),
		cmocka_unit_test(without_the_lock_nothing_is_to_blame),
		cmocka_unit_test(where_the_queue_is_not_known_nothing_is_to_blame),
		cmocka_unit_test(ticks_add_up_by_function),
		cmocka_unit_test(a_tally_of_a_later_version_is_skipped),
		cmocka_unit_test(sites_come_by_bytes),
		cmocka_unit_test(to_compare_is_not_to_copy),
		cmocka_unit_test(a_share_has_wilsons_interval),
		cmocka_unit_test(without_samples_the_share_may_be_anything),
		cmocka_unit_test(an_interval_stays_between_nothing_and_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
