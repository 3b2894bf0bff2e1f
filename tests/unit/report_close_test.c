// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a report says of closes and of blocking regions. */
#include "tests/unit/closes.h"
#include "tests/unit/reports.h"

#define MS 1000000ULL
#define US 1000ULL
#define EMPTY EVENT_QUEUE_EMPTY
#define RELEASED (EVENT_RELEASED | EMPTY)

enum { A = 0x1000, B = 0x2000, TID = 101, FD = 7 };
enum { READ = 0, CLOSE = 3, NANOSLEEP = 35, FUTEX = 202 };	/* as x86-64 numbers them */

static const char facts[] =
	"{\"host\": {\"kernel\": \"6.1\", \"arch\": \"x86_64\", \"cpus\": 2},"
	" \"target\": [{\"pid\": 42}], \"capture\": {\"methods\": {\"gvl\": \"sites\","
	" \"close\": \"recovered\", \"block\": \"calls\"}}}";
static const char facts_without[] =
	"{\"capture\": {\"methods\": {\"gvl\": \"sites\", \"close\": \"not measured\","
	" \"block\": \"not measured\"}}}";
static const char totals[] = "{\"duration_ns\": 1000000000, \"lost\": {}}";

static void begin(struct feed *f)
{
	feed_init(f, WHOLE);
	feed_text(f, EVENT_NAME, A, TID, "closer");
	state(f, 1000 * MS, A);
}

static void known_list(struct feed *f, uint32_t nr)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++) {
		listed(f, i, B + i);
		sum += B + i;
	}
	SCAN(f, .ts = 1000 * MS, .tid = TID, .fd = 0, .flags = SCAN_WALKED | SCAN_BASE, .count = nr,
	     .sum = sum);
}

/* One close each of @scan_ns, @wait_ns and @call_ns, for @times; somebody is interrupted by each. */
static void closes(struct feed *f, int times, uint64_t scan_ns, uint64_t wait_ns, uint64_t call_ns,
		   uint8_t flags)
{
	for (int i = 0; i < times; i++) {
		uint64_t t = (1100 + 10 * i) * MS;

		SCAN(f, .ts = t, .dur = scan_ns, .tid = TID, .fd = FD, .nr = 1);
		call_close(f, t + scan_ns + wait_ns, call_ns, TID, FD, flags);
	}
}

static json_t *part_of(json_t *j, const char *key)
{
	json_t *part = json_object_get(j, key);

	if (!json_is_object(part))
		fail_msg("no %s", key);
	return part;
}

/* What must hold if each close was completed. */
static void parts_add_up(json_t *j)
{
	json_t *c = part_of(j, "close");

	IS(number(part_of(c, "total_ns"), "sum"),
	   number(part_of(c, "scan_ns"), "sum") + number(part_of(c, "wait_ns"), "sum") +
	   number(part_of(c, "syscall_ns"), "sum") + number(c, "other_ns"));
	IS(number(part_of(c, "total_ns"), "count"), number(c, "count"));
}

/* The JSON says @cost, and the text @sentence. */
static void costs(struct feed *f, const char *cost, const char *sentence)
{
	auto_free char *text = report_of(f, facts, totals, 't');
	auto_free char *markdown = report_of(f, facts, totals, 'm');
	json_t *j = json_of(f, facts, totals);

	assert_string_equal(json_string_value(json_object_get(part_of(j, "close"), "cost_is")), cost);
	has(text, "\nIO#close\n");
	has(text, sentence);
	has(markdown, "\n## IO\\#close\n");
	parts_add_up(j);
	json_decref(j);
}

static void the_scan_is_named_where_it_costs_most(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	begin(&f);
	closes(&f, 10, 3 * MS, 1 * MS, 500 * US, CLOSE_HELD);
	costs(&f, "scan",
"10 closes took 45.0 ms in all. Most of it (66.7 %) went into the scan: each close looks at every\n"
"thread that blocks in IO; Ruby 4.0 keeps a list per IO. Scan 66.7 %, waiting 22.2 %, close(2) 11.1 %\n"
"(11.1 % with the lock held), the rest 0 %.\n");
	feed_release(&f);
	begin(&f);
	known_list(&f, 70);
	closes(&f, 1, 3 * MS, 1 * MS, 500 * US, 0);
	text = report_of(&f, facts, totals, 't');
	has(text, "every\nthread that blocks in IO, 70.5 on average; Ruby 4.0 keeps a list per IO.");
	feed_release(&f);
}

static void the_scan_of_an_ios_own_list_is_not_said_to_be_mended(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	begin(&f);
	SCAN(&f, .ts = 1100 * MS, .dur = MS, .tid = TID, .fd = FD, .count = 8,
	     .flags = SCAN_PER_IO | SCAN_WALKED);
	call_close(&f, 1101 * MS, 1, TID, FD, 0);
	for (int i = 0; i < 3; i++) {
		SCAN(&f, .ts = (1102 + i) * MS, .tid = TID, .fd = FD,
		     .flags = SCAN_PER_IO | SCAN_WALKED | SCAN_UNTIMED);
		call_close(&f, (1102 + i) * MS, 1, TID, FD, 0);
	}
	text = report_of(&f, facts, totals, 't');
	has(text, "went into the scan for waiting threads, 2.0 on\naverage.");
	has(text, "(Ruby 4.0 and later): 3 of 4 closes found nobody to visit.");
	has_not(text, "Ruby 4.0 keeps");
	feed_release(&f);
}

static void waiting_is_named_where_it_costs_most(void **s)
{
	struct feed f;

	(void)s;
	begin(&f);
	closes(&f, 4, 1 * MS, 5 * MS, 1 * MS, 0);
	costs(&f, "wait",
"4 closes took 28.0 ms in all. Most of it (71.4 %) went into waiting until the 4 threads that they\n"
"interrupted had left: each must wake up and get the lock first.");
	feed_release(&f);
}

static void close_2_is_named_where_it_costs_most(void **s)
{
	struct feed f;

	(void)s;
	begin(&f);
	closes(&f, 1, 1 * MS, 1 * MS, 8 * MS, 0);
	costs(&f, "syscall", "1 close took 10.0 ms in all. Most of it (80.0 %) went into close(2), the "
	      "system call, without the\nlock: other threads could run.");
	feed_release(&f);
	begin(&f);
	closes(&f, 1, 1 * MS, 1 * MS, 8 * MS, CLOSE_HELD);
	costs(&f, "syscall", "went into close(2), the system call; 100 % of that\nwith the lock held: "
	      "no other thread could run.");
	feed_release(&f);
}

static void the_rest_is_named_where_it_costs_most(void **s)
{
	struct feed f;

	(void)s;
	begin(&f);
	SCAN(&f, .ts = 1100 * MS, .dur = 1 * MS, .tid = TID, .fd = FD);
	call_close(&f, 1110 * MS, 1 * MS, TID, FD, 0);
	costs(&f, "other", "went into what lies between scan and close(2):\n"
	      "writing of buffered output, and Ruby's own work.");
	feed_release(&f);
}

static void what_the_probes_took_names_nothing(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	begin(&f);
	SCAN(&f, .ts = 1100 * MS, .dur = 1 * MS, .tid = TID, .fd = FD);
	call_close(&f, 1103 * MS, 10000, TID, FD, 0);
	text = report_of(&f, facts, "{\"cost\": {\"uprobe_ns\": 900000}}", 't');
	has(text, "(64.5 %) went into what lies");
	has(text, "without what the probes took");
	free(text);
	text = report_of(&f, facts, "{\"cost\": {\"uprobe_ns\": 999000}}", 't');
	has(text, "went into close(2)");
	feed_release(&f);
}

static void distributions_and_the_longest_closes_are_shown(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j, *worst;

	(void)s;
	begin(&f);
	known_list(&f, 50);
	closes(&f, 7, 1 * MS, 2 * MS, 3 * MS, 0);
	SCAN(&f, .ts = 1500 * MS, .dur = 1 * MS, .tid = TID, .fd = 9);
	call_close(&f, 1501 * MS, 17 * MS, TID, 9, 0);
	text = report_of(&f, facts, totals, 't');
	has(text,
"each close  count   in all      p50      p90      p99      max\n"
"visited         9      457       51       51       51       51  threads looked at\n"
"matched         9        7        1        1        1        1  of them: interrupted\n"
"scan            9  8.00 ms  1.00 ms  1.00 ms  1.00 ms  1.00 ms  looking at them\n"
"wait            8  14.0 ms  2.00 ms  2.00 ms  2.00 ms  2.00 ms  until those had left\n");
	has(text,
"\nThe longest, and when since the capture began:\n"
"\n"
"thread  tid      at  fd  visited  matched     scan     wait  close(2)    total\n"
"closer  101  500 ms   9       50        0  1.00 ms     0 ns   17.0 ms  18.0 ms\n"
"closer  101  100 ms   7       51        1  1.00 ms  2.00 ms   3.00 ms  6.00 ms\n");
	j = json_of(&f, facts, totals);
	worst = json_object_get(part_of(j, "close"), "worst");
	IS(json_array_size(worst), 8);
	IS(number(json_array_get(worst, 0), "ts_ns"), 1500 * MS);
	IS(number(json_array_get(worst, 0), "total_ns"), 18 * MS);
	IS(number(json_array_get(worst, 0), "pid"), 42);
	assert_true(json_is_true(json_object_get(part_of(j, "close"), "visited_exact")));
	json_decref(j);
	feed_release(&f);
}

static void what_ruby_4_will_do_otherwise_is_a_warning(void **s)
{
	auto_free char *text = NULL, *markdown = NULL;
	char deep[EVENT_TEXT_MAX + 1];
	struct feed f;
	json_t *j, *at;

	(void)s;
	snprintf(deep, sizeof(deep), "/srv/app/%0*d/lib/worker.rb:1234", 80, 0);
	begin(&f);
	closes(&f, 1, 1 * MS, 1 * MS, 1 * MS, 0);
	foreign(&f, 1200 * MS, "app.rb:7", "reader.rb:12");
	foreign(&f, 1200 * MS, "app.rb:7", "reader.rb:12");
	foreign(&f, 1200 * MS, "app.rb:\033[1m9", deep);
	text = report_of(&f, facts, totals, 't');
	has(text,
"WARNING: 3 threads were interrupted although they waited through another IO object on the same\n"
"descriptor: from Ruby 4.0 they are not interrupted, and go on waiting.\n"
"\n"
"closed at        waited at                                   count\n"
"app.rb:7         reader.rb:12                                    2\n"
"app.rb:\\x1b[1m9  ...00000000000000000000/lib/worker.rb:1234      1\n");
	markdown = report_of(&f, facts, totals, 'm');
	has(markdown, "| app.rb:7 | reader.rb:12 | 2 |");
	has_not(markdown, "\033");
	j = json_of(&f, facts, totals);
	IS(number(part_of(j, "close"), "foreign"), 3);
	at = json_object_get(part_of(j, "close"), "foreign_at");
	IS(json_array_size(at), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(at, 1), "waiter")), deep);
	json_decref(j);
	feed_release(&f);
}

static void what_is_not_certain_is_said(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j;

	(void)s;
	begin(&f);
	SCAN(&f, .ts = 1010 * MS, .dur = 1 * MS, .tid = TID, .fd = FD);	/* left */
	known_list(&f, 2);
	SCAN(&f, .ts = 1030 * MS, .dur = 1 * MS, .tid = TID, .fd = 1, .flags = SCAN_WALKED, .count = 2,
	     .sum = B + B);
	SCAN(&f, .ts = 1020 * MS, .dur = 1 * MS, .tid = TID, .fd = FD);	/* not over */
	text = report_of(&f, facts, "{\"duration_ns\": 1000, \"lost\": {\"closes\": 3,"
			 " \"truncated_walk\": 4}}", 't');
	has(text, "1 close ended in an exception before close(2)");
	has(text, "1 close had not ended when tracing did");
	has(text, "How many threads 1 close visited is not known");
	has(text, "not exact: 1 of 1 walks over the list");
	has(text, "3 closes, because the table of closes was full or memory could not be read\n");
	has(text, "4 walks over a list of waiters, ended early because it was too long\n");
	j = json_of(&f, facts, totals);
	assert_true(json_is_false(json_object_get(part_of(j, "close"), "visited_exact")));
	IS(number(part_of(j, "close"), "orphans"), 1);
	IS(number(part_of(j, "close"), "unfinished"), 1);
	IS(number(part_of(j, "close"), "visited_unknown"), 1);
	json_decref(j);
	feed_release(&f);
}

static void what_was_not_measured_is_not_there(void **s)
{
	static const char why[] = "{\"capture\": {\"methods\": {\"close\": \"the scan of IO#close was not "
				  "found\", \"block\": \"not measured\"}}}";
	static const char *const odd[] = { "{}", "{\"capture\": {\"methods\": {\"close\": 5}}}",
					   "{\"capture\": {\"methods\": {\"close\": \"\"}}}" };
	auto_free char *text = NULL, *with_reason = NULL, *by_call = NULL;
	struct feed f;
	json_t *j;

	(void)s;
	begin(&f);
	closes(&f, 1, 1 * MS, 1 * MS, 1 * MS, 0);
	text = report_of(&f, facts_without, totals, 't');
	has_not(text, "IO#close");
	has_not(text, "Blocking regions");
	j = json_of(&f, facts_without, totals);
	assert_null(json_object_get(j, "close"));
	assert_null(json_object_get(j, "block"));
	json_decref(j);
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		auto_free char *other = report_of(&f, odd[i], totals, 't');

		has_not(other, "IO#close");
	}
	with_reason = report_of(&f, why, totals, 't');
	has(with_reason, "\nIO#close\n\nNot measured: the scan of IO#close was not found.\n");
	has_not(with_reason, "Blocking regions");
	by_call = report_of(&f, facts_without, totals, 'T');
	has(by_call, "\nBlocking regions\n\nNot measured.\n");
	feed_release(&f);
}

static void where_nothing_happened_one_line_says_so(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j;

	(void)s;
	begin(&f);
	end(&f, 2000 * MS);
	text = report_of(&f, facts, totals, 't');
	has(text, "\n\nIO#close\n\nNo IO was closed.\n"
		  "\nBlocking regions\n\nNo thread released the lock to block.\n");
	j = json_of(&f, facts, totals);
	IS(number(part_of(j, "close"), "count"), 0);
	IS(number(part_of(j, "block"), "count"), 0);
	parts_add_up(j);
	json_decref(j);
	feed_release(&f);
}

/* A releases the lock at @t for call @nr, and wants it again after @ns. */
static void region(struct feed *f, uint64_t t, uint64_t ns, uint32_t nr, enum file_kind file)
{
	owner(f, t, B, RELEASED);
	if (nr != BLOCK_NO_CALL)
		call(f, A, nr, file);
	queue(f, t + ns, A);
	owner(f, t + ns + 10 * US, A, EMPTY);
}

static void blocking_regions_come_by_time(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j, *by, *one;
	uint64_t count = 0, ns = 0, is_short = 0;
	size_t i;

	(void)s;
	begin(&f);
	region(&f, 1100 * MS, 5 * US, CLOSE, FILE_PIPE);
	region(&f, 1110 * MS, 20 * US, CLOSE, FILE_PIPE);
	region(&f, 1200 * MS, 50 * MS, READ, FILE_SOCKET);
	region(&f, 1300 * MS, 2 * MS, BLOCK_NO_CALL, FILE_NONE);
	text = report_of(&f, facts, totals, 't');
	has(text,
"Blocking regions\n"
"\n"
"Threads released the lock 4 times for a call that may block, or to compute without it: for 52.0 ms,\n"
"summed over threads. 1 of these regions (25.0 %) was shorter than 10.0 us: the lock was released for\n"
"nothing. After them, threads waited for the lock for 40.0 us.\n"
"\n"
"call   file    count  short   in all      p50      p99      max\n"
"read   socket      1      0  50.0 ms  50.0 ms  50.0 ms  50.0 ms\n"
"cpu    -           1      0  2.00 ms  2.00 ms  2.00 ms  2.00 ms\n"
"close  pipe        2      1  25.0 us  5.00 us  20.0 us  20.0 us\n"
"\n"
"cpu: without a system call, it only computed.\n");
	j = json_of(&f, facts, totals);
	by = json_object_get(part_of(j, "block"), "by");
	json_array_foreach(by, i, one) {
		count += number(one, "count");
		ns += number(part_of(one, "ns"), "sum");
		is_short += number(one, "short");
	}
	IS(count, number(part_of(j, "block"), "count"));
	IS(ns, number(part_of(part_of(j, "block"), "ns"), "sum"));
	IS(is_short, number(part_of(j, "block"), "short"));
	IS(number(part_of(j, "block"), "wait_ns"), 40 * US);
	json_decref(j);
	feed_release(&f);
}

static void functions_are_shown_where_they_are_known(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j;

	(void)s;
	begin(&f);
	runs(&f, 0x500, "zstream_\033run");
	region(&f, 1100 * MS, 5 * MS, BLOCK_NO_CALL, FILE_NONE);
	region(&f, 1200 * MS, 2 * MS, READ, FILE_PIPE);
	text = report_of(&f, facts, totals, 't');
	has(text, "\nfunction         call  file  count  short   in all ");
	has(text, "\nzstream_\\x1brun  cpu   -         1      0  5.00 ms ");
	has(text, "\n-                read  pipe      1      0  2.00 ms ");
	j = json_of(&f, facts, totals);
	assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(
		part_of(j, "block"), "by"), 0), "function")), "zstream_\\x1brun");
	json_decref(j);
	feed_release(&f);
}

static void by_call_lists_all_of_them_and_no_threads(void **s)
{
	auto_free char *text = NULL, *by_call = NULL;
	struct feed f;

	(void)s;
	begin(&f);
	for (uint32_t i = 0; i < 13; i++)
		region(&f, (1100 + 10 * i) * MS, (13 - i) * 100 * US, 500000 + i, FILE_FILE);
	text = report_of(&f, facts, totals, 't');
	has(text, "\nthread ");
	has(text, "\ncall 500009  file ");
	has_not(text, "call 500010");
	has(text, "\nAnd 3 more, 3 times, 600 us in all (--by call lists all).\n");
	by_call = report_of(&f, facts, totals, 'T');
	has_not(by_call, "\nthread ");
	has(by_call, "\ncall 500012  file ");
	has_not(by_call, "(--by call");
	feed_release(&f);
}

/* Many waiters, large numbers, long names. */
static void a_terminal_of_100_columns_is_enough(void **s)
{
	auto_free char *text = NULL;
	char name[EVENT_TEXT_MAX + 1];
	struct feed f;

	(void)s;
	begin(&f);
	feed_text(&f, EVENT_NAME, A, TID, "a thread that has quite a long name");
	runs(&f, 0x500, "libsomething-3.1.so.3.1.2+0x123456");
	snprintf(name, sizeof(name), "/%0120d:1", 0);
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t t = (2000 + 1000 * i) * MS;

		SCAN(&f, .ts = t, .dur = 123 * MS, .tid = 4000000, .fd = 1000000, .nr = 10000,
		     .flags = SCAN_WALKED, .count = 32768);
		call_close(&f, t + 400 * MS, 123 * MS, 4000000, 1000000, 0);
		region(&f, t, 999 * MS, 500000, FILE_EVENTFD);
		foreign(&f, t, name, name);
	}
	text = report_of(&f, facts, totals, 't');
	assert_in_range(widest(text), 80, 100);
	feed_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scan_is_named_where_it_costs_most),
		cmocka_unit_test(the_scan_of_an_ios_own_list_is_not_said_to_be_mended),
		cmocka_unit_test(waiting_is_named_where_it_costs_most),
		cmocka_unit_test(close_2_is_named_where_it_costs_most),
		cmocka_unit_test(the_rest_is_named_where_it_costs_most),
		cmocka_unit_test(what_the_probes_took_names_nothing),
		cmocka_unit_test(distributions_and_the_longest_closes_are_shown),
		cmocka_unit_test(what_ruby_4_will_do_otherwise_is_a_warning),
		cmocka_unit_test(what_is_not_certain_is_said),
		cmocka_unit_test(what_was_not_measured_is_not_there),
		cmocka_unit_test(where_nothing_happened_one_line_says_so),
		cmocka_unit_test(blocking_regions_come_by_time),
		cmocka_unit_test(functions_are_shown_where_they_are_known),
		cmocka_unit_test(by_call_lists_all_of_them_and_no_threads),
		cmocka_unit_test(a_terminal_of_100_columns_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
