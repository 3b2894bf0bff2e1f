// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a report says of copies. */
#include "tests/unit/closes.h"
#include "tests/unit/reports.h"

#define MS 1000000ULL
#define KIB 1024ULL
#define MIB (1ULL << 20)

#define FACTS(copy) "{\"capture\": {\"methods\": {\"gvl\": \"sites\", \"copy\": \"" copy "\"}}}"

enum { A = 0x1000, B = 0x2000, COPY = 0x500, CLEAR = 0x600, DUP = 0x700 };
enum {
	HELD = COPY_HELD | COPY_BUFFER,
	FREE = COPY_BUFFER,
	SET = COPY_SET << COPY_OP_SHIFT,
	COMPARE = COPY_COMPARE << COPY_OP_SHIFT,
};

static const char facts[] = FACTS("buffer, samples");
static const char totals[] = "{\"duration_ns\": 1000000000, \"lost\": {}}";

/* A holds the lock for a second. */
static void begin(struct feed *f)
{
	feed_init(f, WHOLE);
	feed_text(f, EVENT_SYMBOL, COPY, 0, "copy");
	feed_text(f, EVENT_SYMBOL, CLEAR, 0, "clear");
	feed_text(f, EVENT_SYMBOL, DUP, 0, "dup");
	state(f, 1000 * MS, A);
}

static json_t *copy_of(json_t *j)
{
	json_t *copy = json_object_get(j, "copy");

	if (!json_is_object(copy))
		fail_msg("no copy");
	return copy;
}

static void what_copies_cost_is_said_first(void **s)
{
	auto_free char *text = NULL, *markdown = NULL;
	struct feed f;

	(void)s;
	begin(&f);
	queue(&f, 1050 * MS, B);
	for (int i = 0; i < 10; i++)
		copied(&f, (1100 + 20 * i) * MS, 10 * MS, 16 * MIB, HELD, COPY);
	copied(&f, 1400 * MS, 50 * MS, 64 * MIB, FREE, COPY);
	copied(&f, 1500 * MS, 50 * MS, 256 * MIB, FREE, COPY);
	tallied(&f, 1600 * MS, 1000, 32000, 6, HELD | SET, CLEAR);
	end(&f, 2000 * MS);
	text = report_of(&f, facts, totals, 't');
	has(text,
"\nCopies\n"
"\n"
"With the lock held, 160 MiB were copied in 1,010 copies; with it released, 320 MiB in 2. Of those\n"
"with it held, 10 were timed, which took 100 ms at 1.6 GiB per s (10.0 % of all the time that it was\n"
"held). They caused 100 ms of the other threads' waiting (10.5 % of all that owners caused). Those\n"
"with it released took 100 ms at 3.1 GiB per s in all.\n"
"\n"
"Sizes: 1,000 below 64 B, 12 from 16 MiB.\n"
"\n"
"site              does  lock      count     bytes      each\n"
"IO::Buffer#copy   move  released      2   320 MiB   160 MiB\n"
"IO::Buffer#copy   move  held         10   160 MiB  16.0 MiB\n"
"IO::Buffer#clear  set   held      1,000  31.2 KiB    32.0 B\n"
"\n"
"timed            lock      count  in all  GiB/s      p50      p99      max   blame\n"
"IO::Buffer#copy  released      2  100 ms    3.1  50.0 ms  50.0 ms  50.0 ms       -\n"
"IO::Buffer#copy  held         10  100 ms    1.6  10.0 ms  10.0 ms  10.0 ms  100 ms\n");
	has(text, "\n1,000 of these were below --copy-min: how long they took is not known");
	markdown = report_of(&f, facts, totals, 'm');
	has(markdown, "\n## Copies\n");
	feed_release(&f);
}

static void a_copy_that_kept_nobody_waiting_is_said_to(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	begin(&f);
	copied(&f, 1100 * MS, 10 * MS, 16 * MIB, HELD, COPY);
	end(&f, 2000 * MS);
	text = report_of(&f, facts, totals, 't');
	has(text, "16.0 MiB were copied in 1 copy;");
	has(text, "Those with it held\ntook 10.0 ms at");
	has(text, "No thread waited for the\nlock meanwhile.");
	has_not(text, "--copy-min");
	feed_release(&f);
}

static void what_compares_is_no_copy(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j;

	(void)s;
	begin(&f);
	copied(&f, 1100 * MS, 10 * MS, 16 * MIB, HELD | COMPARE, 0);
	end(&f, 2000 * MS);
	text = report_of(&f, facts, totals, 't');
	has(text, "With the lock held, 0 B were copied in 0 copies");
	has(text, "\nIO::Buffer  compare  held ");
	has(text, "compare: copies nothing, and is not in the figures above");
	has_not(text, "Sizes:");
	j = json_of(&f, facts, totals);
	IS(number(json_object_get(copy_of(j), "held"), "count"), 0);
	IS(json_array_size(json_object_get(copy_of(j), "by")), 1);
	json_decref(j);
	feed_release(&f);
}

static void samples_tell_a_share_and_who(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	begin(&f);
	ticked(&f, 1100 * MS, 100, 20, 0);
	ticked(&f, 1200 * MS, 163, 61, DUP);
	end(&f, 2000 * MS);
	text = report_of(&f, facts, totals, 't');
	has(text,
"\nIO::Buffer copied nothing.\n"
"\n"
"Told one by one: IO::Buffer's. Large copies of Strings, Arrays and C extensions are only sampled;\n"
"`record --copies exact` tells each.\n"
"\n"
"By 263 clock ticks that found the lock's owner on a CPU, 30.8 % (25.5 % to 36.6 %, 95 %) of that\n"
"time went into the C library's routines for copying and filling memory.\n"
"\n"
"sampled    ticks   share\n"
"dup           61  23.2 %\n"
"Ruby code     20   7.6 %\n");
	feed_release(&f);
}

static void more_copying_than_ticks_is_all_of_them(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j, *sampled;

	(void)s;
	begin(&f);
	ticked(&f, 1100 * MS, 10, 30, DUP);
	text = report_of(&f, facts, totals, 't');
	has(text, ", 100 % (");
	j = json_of(&f, facts, totals);
	sampled = json_object_get(copy_of(j), "sampled");
	assert_true(json_real_value(json_object_get(sampled, "share")) == 1);
	IS(json_array_size(json_object_get(sampled, "by")), 1);
	json_decref(j);
	feed_release(&f);
}

static void what_was_followed_is_said(void **s)
{
	static const struct {
		const char *facts, *sentence;
	} known[] = {
		{ FACTS("buffer, samples"), "`record --copies exact` tells each." },
		{ FACTS("buffer, large, samples"),
		  "Told one by one: all of IO::Buffer's, and large copies of all else." },
		{ FACTS("large, samples"), "Told one by one: large copies of all else." },
		{ FACTS("samples"), "Copies were only sampled." },
	};
	struct feed f;

	(void)s;
	begin(&f);
	end(&f, 2000 * MS);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		auto_free char *text = report_of(&f, known[i].facts, totals, 't');

		has(text, "\nCopies\n");
		has(text, known[i].sentence);
		has(text, "\nNo clock tick found the lock's owner on a CPU");
	}
	feed_release(&f);
}

static void copies_that_were_not_measured_are_not_there(void **s)
{
	static const char *const without[] = { "{}", FACTS("not measured"), FACTS("") };
	struct feed f;

	(void)s;
	begin(&f);
	copied(&f, 1100 * MS, 10 * MS, 16 * MIB, HELD, COPY);
	end(&f, 2000 * MS);
	for (size_t i = 0; i < ARRAY_LEN(without); i++) {
		auto_free char *text = report_of(&f, without[i], totals, 't');
		json_t *j = json_of(&f, without[i], totals);

		has_not(text, "\nCopies\n");
		assert_null(json_object_get(j, "copy"));
		json_decref(j);
	}
	feed_release(&f);
}

static void lost_copies_are_told(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	begin(&f);
	end(&f, 2000 * MS);
	text = report_of(&f, facts, "{\"duration_ns\": 1000, \"lost\": {\"copies\": 3}}", 't');
	has(text, "3 copies, because a table of copies was full\n");
	feed_release(&f);
}

/* Many sites, large numbers, long names from outside. */
static void a_terminal_of_100_columns_is_enough_for_copies(void **s)
{
	auto_free char *text = NULL;
	char name[EVENT_TEXT_MAX + 1];
	struct feed f;
	json_t *j;

	(void)s;
	begin(&f);
	queue(&f, 1050 * MS, B);
	for (uint64_t i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "\033%0120ju", (uintmax_t)i);
		feed_text(&f, EVENT_SYMBOL, 0x10000 + i, 0, name);
		copied(&f, (1100 + 20000 * i) * MS, 10000 * MS, 999 * MIB << 10, HELD, 0x10000 + i);
		tallied(&f, 1200 * MS, 1234567, 1234567, 1, HELD, 0x10000 + i);
		ticked(&f, 1200 * MS, 1000000, 100000, 0x10000 + i);
	}
	text = report_of(&f, facts, totals, 't');
	assert_in_range(widest(text), 80, 100);
	has_not(text, "\033");
	has(text, "\nAnd 10 more, with fewer bytes (use -f json).\n");
	has(text, "\nAnd 10 more (use -f json).\n");
	j = json_of(&f, facts, totals);
	IS(json_array_size(json_object_get(copy_of(j), "by")), 20);
	json_decref(j);
	feed_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_copies_cost_is_said_first),
		cmocka_unit_test(a_copy_that_kept_nobody_waiting_is_said_to),
		cmocka_unit_test(what_compares_is_no_copy),
		cmocka_unit_test(samples_tell_a_share_and_who),
		cmocka_unit_test(more_copying_than_ticks_is_all_of_them),
		cmocka_unit_test(what_was_followed_is_said),
		cmocka_unit_test(copies_that_were_not_measured_are_not_there),
		cmocka_unit_test(lost_copies_are_told),
		cmocka_unit_test(a_terminal_of_100_columns_is_enough_for_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
