// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a report says of a capture, in every format. */
#include "tests/unit/reports.h"

#include <stdlib.h>

#include "render/clean.h"
#include "render/unit.h"
#include "util/scope.h"

#define MS 1000000ULL
#define OFF EVENT_OWNER_OFF_CPU
#define EMPTY EVENT_QUEUE_EMPTY

enum { A = 0x7f0000001000, B = 0x7f0000002000, C = 0x7f0000003000 };

static const char facts[] =
	"{\"tool\": {\"version\": \"1.2\", \"options\": \"-p 42\"},"
	" \"host\": {\"kernel\": \"6.1\", \"arch\": \"x86_64\", \"cpus\": 2},"
	" \"target\": [{\"pid\": 42, \"comm\": \"puma\", \"ruby\": \"3.3.8\","
	"   \"description\": \"ruby 3.3.8 (2025-04-09 revision b200bad6cd) [x86_64-linux-gnu]\","
	"   \"exe\": \"/usr/bin/ruby3.3\"}],"
	" \"capture\": {\"start\": \"2025-11-30T10:00:00Z\", \"methods\": {\"gvl\": \"watch\"}}}";

static const char totals[] =
	"{\"duration_ns\": 1000000000, \"stop\": \"duration\", \"events\": 8, \"records\": 13,"
	" \"methods\": {\"gvl\": \"sites\", \"close\": \"not measured\"},"
	" \"lost\": {\"ring\": 0, \"unseen_writer\": 0},"
	" \"cost\": {\"hits\": 12345, \"ns_per_hit\": 850.4, \"bpf_ns\": 99,"
	"   \"target_share\": 0.0105}}";

/* One second: A computes, B and C want to. */
static void feed_second(struct feed *f)
{
	struct event lock = { .kind = EVENT_LOCK, .thread = 0xbeef, .seq = 1, .lock = f->lock };

	feed_event(f, &lock);
	feed_text(f, EVENT_NAME, A, 101, "compute");
	feed_text(f, EVENT_NAME, B, 102, "worker 1");
	state(f, 5000 * MS, A);
	queue(f, 5100 * MS, B);
	queue(f, 5200 * MS, C);
	owner(f, 5700 * MS, B, OFF);
	feed(f, 5710 * MS, EVENT_ON_CPU, 0, 102, 0);
	owner(f, 5750 * MS, C, EMPTY);
	feed(f, 5760 * MS, EVENT_OFF_CPU, 0, 103, EVENT_PREEMPTED);
	feed(f, 5780 * MS, EVENT_ON_CPU, 0, 103, 0);
	owner(f, 5900 * MS, 0, EMPTY);
	end(f, 6000 * MS);
}

static void the_text_says_it_plainly(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	feed_second(&f);
	text = report_of(&f, facts, totals, 't');
	assert_string_equal(text,
"gvlscope 1.2: the GVL of a Ruby process\n"
"process   42 puma, ruby 3.3.8 (2025-04-09 revision b200bad6cd) [x86_64-linux-gnu], /usr/bin/ruby3.3\n"
"captured  1.00 s from 2025-11-30T10:00:00Z, ended by duration, 100 % of it seen\n"
"method    sites: probes on the instructions that write the lock's words\n"
"lost      nothing of 13 records\n"
"cost      1.1 % of the process's time, in 12,345 hits of 850 ns\n"
"\n"
"GVL, Ractor 1\n"
"\n"
"The lock was held 90.0 % of the time; on average 1.1 threads waited for it. Most of the waiting was\n"
"caused by thread compute (95.7 %).\n"
"\n"
"time        share   in all\n"
"held       90.0 %   900 ms  a thread owned the lock\n"
"contended  65.0 %   650 ms  of that: while at least one thread waited\n"
"off CPU     2.0 %  20.0 ms  of that: its owner was not running\n"
"hand-off    1.0 %  10.0 ms  of that: its new owner had yet to wake up\n"
"free       10.0 %   100 ms  nobody owned it\n"
"\n"
"each      count       rate   in all     mean      p50      p99      max\n"
"hold          3  3.0 per s   900 ms   300 ms   150 ms   700 ms   700 ms\n"
"wait          2  2.0 per s   1.15 s   575 ms   550 ms   600 ms   600 ms\n"
"hand-off      1  1.0 per s  10.0 ms  10.0 ms  10.0 ms  10.0 ms  10.0 ms\n"
"switch        2  2.0 per s\n"
"\n"
"thread          tid  holds     held   share  off CPU  waits  waited    blame   share\n"
"compute         101      1   700 ms  70.0 %     0 ns      0    0 ns   1.10 s  95.7 %\n"
"worker 1        102      1  50.0 ms   5.0 %     0 ns      1  600 ms  50.0 ms   4.3 %\n"
"0x7f0000003000    -      1   150 ms  15.0 %  20.0 ms      1  550 ms     0 ns     0 %\n");
	feed_release(&f);
}

static void the_json_has_every_figure(void **s)
{
	struct feed f;
	json_t *j, *lock, *capture, *thread;

	(void)s;
	feed_init(&f, WHOLE);
	feed_second(&f);
	feed(&f, 6100 * MS, EVENT_FORK, 77, 101, 0);
	j = json_of(&f, facts, totals);
	assert_string_equal(json_string_value(json_object_get(j, "schema")), "gvlscope.report/1");
	capture = json_object_get(j, "capture");
	IS(number(capture, "duration_ns"), 1000 * MS);
	IS(number(capture, "events"), 8);
	assert_true(json_number_value(json_object_get(capture, "seen_share")) == 1);
	assert_true(json_is_true(json_object_get(capture, "complete")));
	assert_string_equal(json_string_value(json_object_get(json_object_get(capture, "methods"),
							      "gvl")), "sites");
	IS(number(json_array_get(json_object_get(capture, "life"), 0), "child"), 77);
	IS(number(json_array_get(json_object_get(capture, "life"), 0), "pid"), 42);
	lock = json_array_get(json_object_get(json_object_get(j, "gvl"), "locks"), 0);
	IS(number(lock, "pid"), 42);
	IS(number(lock, "ractor"), 1);
	IS(number(lock, "seen_ns"), 1000 * MS);
	IS(number(json_object_get(lock, "hold_ns"), "sum") + number(lock, "free_ns"), 1000 * MS);
	IS(number(json_object_get(lock, "hold_ns"), "cut"), 1);
	IS(number(json_object_get(lock, "wait_ns"), "sum"),
	   number(lock, "blame_ns") + number(lock, "unowned_wait_ns"));
	IS(json_array_size(json_object_get(lock, "threads")), 3);
	thread = json_array_get(json_object_get(lock, "threads"), 2);
	assert_string_equal(json_string_value(json_object_get(thread, "thread")), "0x7f0000003000");
	assert_string_equal(json_string_value(json_object_get(thread, "name")), "");
	IS(number(thread, "offcpu_hold_ns"), 20 * MS);
	json_decref(j);
	feed_release(&f);
}

/* Each figure of the JSON, printed as the text prints it, is in the text, and in the markdown. */
static void all_formats_say_the_same(void **s)
{
	static const char *const shares[] = { "free_ns", "contended_ns", "offcpu_hold_ns" };
	static const char *const dists[] = { "hold_ns", "wait_ns", "handoff_ns" };
	static const char *const parts[] = { "sum", "mean", "p50", "p99", "max" };
	static const char *const per_thread[] = { "hold_ns", "wait_ns", "blame_ns",
						  "offcpu_hold_ns" };
	auto_free char *text = NULL, *markdown = NULL;
	json_t *j, *lock, *thread;
	struct feed f;
	size_t i;

	(void)s;
	feed_init(&f, WHOLE);
	feed_second(&f);
	text = report_of(&f, facts, totals, 't');
	markdown = report_of(&f, facts, totals, 'm');
	j = json_of(&f, facts, totals);
	lock = json_array_get(json_object_get(json_object_get(j, "gvl"), "locks"), 0);
	for (i = 0; i < ARRAY_LEN(shares); i++) {
		has(text, unit_ns(number(lock, shares[i])).text);
		has(markdown, unit_ns(number(lock, shares[i])).text);
	}
	for (i = 0; i < ARRAY_LEN(dists) * ARRAY_LEN(parts); i++) {
		json_t *d = json_object_get(lock, dists[i / ARRAY_LEN(parts)]);
		uint64_t ns = number(d, parts[i % ARRAY_LEN(parts)]);

		has(text, unit_ns(ns).text);
		has(markdown, unit_ns(ns).text);
	}
	json_array_foreach(json_object_get(lock, "threads"), i, thread) {
		for (size_t k = 0; k < ARRAY_LEN(per_thread); k++) {
			has(text, unit_ns(number(thread, per_thread[k])).text);
			has(markdown, unit_ns(number(thread, per_thread[k])).text);
		}
	}
	json_decref(j);
	feed_release(&f);
}

static void a_high_cost_names_its_remedy(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	feed_second(&f);
	text = report_of(&f, facts, "{\"duration_ns\": 1000000000, \"lost\": {},"
			 " \"cost\": {\"hits\": 100, \"ns_per_hit\": 5000, \"target_share\": 0.25}}", 't');
	has(text, "25.0 % of the process's time, in 100 hits of 5.00 us; record --budget PCT bounds it");
	feed_release(&f);
}

static void a_cut_file_says_that_losses_are_unknown(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j;

	(void)s;
	feed_init(&f, WHOLE);
	feed_second(&f);
	text = report_of(&f, facts, NULL, 't');
	has(text, "INCOMPLETE: the file ends early");
	has(text, "lost      not known");
	has(text, "cost      not known");
	has(text, "method    watch");
	j = json_of(&f, facts, NULL);
	assert_true(json_is_false(json_object_get(json_object_get(j, "capture"), "complete")));
	assert_true(json_is_true(json_object_get(json_object_get(j, "lost"), "unknown")));
	json_decref(j);
	feed_release(&f);
}

static void losses_are_named(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	lose(&f, 1234);
	owner(&f, 10 * MS, B, EMPTY);
	end(&f, 20 * MS);
	text = report_of(&f, facts, "{\"duration_ns\": 20000000, \"lost\": {\"ring\": 1240,"
			 " \"worse\": 3, \"none\": 0, \"silly\": \"text\"}}", 't');
	has(text, "50.0 % of it seen");
	has(text, "lost      1,240 events, because the buffer was full");
	has(text, "\n          3 worse\n");
	has(text, "\n          1,234 lock events, missing in the sequence\n");
	has_not(text, "none");
	has_not(text, "silly");
	feed_release(&f);
}

static void an_empty_capture_says_so(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	struct err e;
	struct report r;
	json_t *j;

	(void)s;
	feed_init(&f, WHOLE);
	assert_int_equal(report_init(&r, &(struct report_source){ .facts = facts, .totals = totals,
				     .is_complete = true, .profile = &f.p }, &e), 0);
	assert_int_equal(r.nr_locks, 0);
	IS(r.duration_ns, 1000 * MS);
	report_release(&r);
	feed(&f, 10, EVENT_STATE_END, 0, 0, 0);
	text = report_of(&f, facts, totals, 't');
	has(text, "Nothing of it was seen.");
	j = json_of(&f, facts, totals);
	json_decref(j);
	feed_release(&f);
}

static void a_window_is_reported_as_one(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j;

	(void)s;
	feed_init(&f, (struct lock_window){ 5500 * MS, 5800 * MS });
	feed_second(&f);
	text = report_of(&f, facts, totals, 't');
	has(text, "window    only what is between 5500000000 and 5800000000 ns");
	has(text, "captured  300 ms from");
	has(text, "100 % of it seen");
	has(text, "free          0 %     0 ns");
	j = json_of(&f, facts, totals);
	IS(number(json_object_get(j, "capture"), "duration_ns"), 300 * MS);
	IS(number(json_object_get(json_object_get(j, "capture"), "window"), "to_ns"), 5800 * MS);
	json_decref(j);
	feed_release(&f);
}

static double seen_share(struct feed *f, const char *with_facts)
{
	json_t *j = json_of(f, with_facts, NULL);
	double share = json_number_value(json_object_get(json_object_get(j, "capture"),
							 "seen_share"));

	json_decref(j);
	return share;
}

static void what_can_be_seen_of_a_process_is_its_life(void **s)
{
	static const char two[] = "{\"target\": [{\"pid\": 42}, {\"pid\": 77}]}";
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	feed(&f, 500, EVENT_FORK, 77, 101, 0);
	f.lock = f.target = 1;
	state(&f, 600, A);			/* 100 after its birth */
	feed(&f, 900, EVENT_GONE, 0, 0, 0);
	f.lock = f.target = 0;
	end(&f, 1000);
	assert_true(seen_share(&f, two) == 1300.0 / 1400);
	assert_true(seen_share(&f, "{}") == 1300.0 / 1900);
	feed_release(&f);
}

static void outside_names_can_do_no_harm(void **s)
{
	static const char *const names[] = { "\033]0;owned\a", "a|b\n| c", "<script>", "\xff\xfe",
					     "\xc2\x9b" "2J", "\"}],\"" };
	struct feed f;

	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		auto_free char *text = NULL, *markdown = NULL;
		json_t *j;

		feed_init(&f, WHOLE);
		feed_text(&f, EVENT_NAME, A, 101, names[i]);
		state(&f, 0, A);
		queue(&f, 10, B);
		end(&f, 20);
		text = report_of(&f, facts, totals, 't');
		markdown = report_of(&f, facts, totals, 'm');
		for (const char *c = text; *c; c++)
			assert_true(*c == '\n' || clean_length(c) || (*c & 0xc0) == 0x80);
		has(text, clean(names[i]).text);
		if (names[i][0] == 'a')
			has(markdown, "| a\\|b\\\\x0a\\| c |");
		has_not(markdown, "<script");
		j = json_of(&f, facts, totals);
		json_decref(j);
		feed_release(&f);
	}
}

static void anything_may_stand_in_the_facts(void **s)
{
	static const char *const odd[] = {
		"{}", "{\"tool\": 1, \"host\": [], \"target\": {}, \"capture\": null}",
		"{\"target\": [1, null, {\"pid\": \"x\"}, {\"pid\": -5, \"ruby\": 3}]}",
		"{\"target\": [{\"pid\": 9223372036854775807}]}",
		"{\"tool\": {\"version\": {}}, \"capture\": {\"start\": 5, \"methods\": []}}",
		"{\"capture\": {\"methods\": {\"gvl\": 7}, \"start\": \"\\u001b[2J\"}}",
		"{\"duration_ns\": -1, \"stop\": 3, \"lost\": [], \"cost\": 1, \"events\": \"x\"}",
		"{\"duration_ns\": 1e999, \"lost\": {\"ring\": -1, \"x\": {}}, \"cost\": {}}",
		"{\"cost\": {\"target_share\": \"x\", \"hits\": -1}}",
		"{\"cost\": {\"target_share\": -5.5, \"hits\": 3, \"ns_per_hit\": 1e300}}",
		"{\"duration_ns\": 9223372036854775807, \"target\": [], \"methods\": {}}",
	};

	(void)s;
	for (size_t i = 0; i < ARRAY_LEN(odd) * ARRAY_LEN(odd); i++) {
		const char *a = odd[i / ARRAY_LEN(odd)], *b = odd[i % ARRAY_LEN(odd)];
		struct feed f;

		if (strstr(a, "1e999") || strstr(b, "1e999"))
			continue;	/* not a number jansson takes */
		feed_init(&f, WHOLE);
		feed_second(&f);
		for (const char *format = "tm"; *format; format++) {
			auto_free char *text = report_of(&f, a, b, *format);

			has(text, "90.0 %");
			has_not(text, "\033");
		}
		json_decref(json_of(&f, a, b));
		feed_release(&f);
	}
}

static void facts_that_are_no_object_are_damage(void **s)
{
	static const char *const bad[] = { "", "[]", "5", "{", "{\"a\": 1} x", "{\"a\":1,\"a\":2}",
					   "{\"a\": 1e999}" };
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		for (int in_totals = 0; in_totals < 2; in_totals++) {
			struct report r;
			struct err e = { 0 };

			assert_true(report_init(&r, &(struct report_source){
				.facts = in_totals ? facts : bad[i],
				.totals = in_totals ? bad[i] : totals, .profile = &f.p }, &e) < 0);
			assert_int_equal(e.reason, REASON_TRACE_DAMAGED);
			report_release(&r);
		}
	}
	feed_release(&f);
}

/* Many Ractors, many threads, long names, large numbers. */
static void a_terminal_of_100_columns_is_enough(void **s)
{
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	for (f.lock = 0; f.lock < FEED_LOCKS; f.lock++) {
		f.target = f.lock;
		state(&f, 0, 0);
		for (uint64_t i = 1; i <= 50; i++) {
			char name[EVENT_TEXT_MAX + 1];

			snprintf(name, sizeof(name), "a thread that has quite a long name, %ju",
				 (uintmax_t)i);
			feed_text(&f, EVENT_NAME, i << 12, 4000000 + i, name);
			for (uint64_t k = 0; k < 1000; k++) {
				owner(&f, (i * 2000 + k) * (300000 * MS), i << 12, EMPTY);
				queue(&f, (i * 2000 + k) * (300000 * MS), 51 << 12);
				owner(&f, (i * 2000 + k) * (300000 * MS) + 10, 0, EMPTY);
			}
		}
		end(&f, 102000 * (300000 * MS));
	}
	f.lock = 0;
	text = report_of(&f, facts, totals, 't');
	assert_in_range(widest(text), 80, 100);
	has(text, "And 31 more threads (use -f json).");
	has(text, "a thread that h");
	feed_release(&f);
}

static void locks_with_most_waiting_come_first(void **s)
{
	auto_free char *text = NULL;
	struct feed f;
	json_t *j, *locks;

	(void)s;
	feed_init(&f, WHOLE);
	for (int i = 0; i < 20; i++) {
		struct event lock = { .kind = EVENT_LOCK, .lock = i, .thread = 64 + i,
				      .seq = i + 1 };
		struct event st = { .kind = EVENT_STATE, .lock = i, .thread = A };
		struct event q = { .kind = EVENT_STATE_QUEUED, .lock = i, .thread = B };
		struct event stop = { .kind = EVENT_STATE_END, .lock = i, .ts_ns = 100 + i };

		feed_event(&f, &lock);
		feed_event(&f, &st);
		feed_event(&f, &q);
		feed_event(&f, &stop);
	}
	text = report_of(&f, facts, totals, 't');
	has(text, "\nGVL, Ractor 20\n");
	has(text, "\nGVL, Ractor 13\n");
	has_not(text, "\nGVL, Ractor 12\n");
	has(text, "And 12 more locks");
	j = json_of(&f, facts, totals);
	locks = json_object_get(json_object_get(j, "gvl"), "locks");
	IS(json_array_size(locks), 20);
	IS(number(json_array_get(locks, 0), "ractor"), 20);
	IS(number(json_array_get(locks, 19), "ractor"), 1);
	json_decref(j);
	feed_release(&f);
}

static void who_is_to_blame_is_named_only_if_somebody_stands_out(void **s)
{
	static const uint64_t threads[] = { A, B, C, 0x7f0000004000 };
	auto_free char *text = NULL;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	for (int i = 1; i < 4; i++)
		feed(&f, 0, EVENT_STATE_QUEUED, threads[i], 0, 0);
	for (uint64_t i = 1; i < 40; i++) {
		owner(&f, i * 100 * MS, threads[i % 4], 0);
		queue(&f, i * 100 * MS, threads[(i - 1) % 4]);
	}
	end(&f, 4000 * MS);
	text = report_of(&f, facts, totals, 't');
	has(text, "on average 3.0 threads waited");
	has(text, "4 threads, none of which stands out");
	feed_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_says_it_plainly),
		cmocka_unit_test(the_json_has_every_figure),
		cmocka_unit_test(all_formats_say_the_same),
		cmocka_unit_test(a_high_cost_names_its_remedy),
		cmocka_unit_test(a_cut_file_says_that_losses_are_unknown),
		cmocka_unit_test(losses_are_named),
		cmocka_unit_test(an_empty_capture_says_so),
		cmocka_unit_test(a_window_is_reported_as_one),
		cmocka_unit_test(what_can_be_seen_of_a_process_is_its_life),
		cmocka_unit_test(outside_names_can_do_no_harm),
		cmocka_unit_test(anything_may_stand_in_the_facts),
		cmocka_unit_test(facts_that_are_no_object_are_damage),
		cmocka_unit_test(a_terminal_of_100_columns_is_enough),
		cmocka_unit_test(locks_with_most_waiting_come_first),
		cmocka_unit_test(who_is_to_blame_is_named_only_if_somebody_stands_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
