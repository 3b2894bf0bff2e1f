// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which thread is which, and which lock is whose. */
#include "tests/unit/events.h"

#include <stdlib.h>

#define EMPTY EVENT_QUEUE_EMPTY

enum { A = 0x1000, B = 0x2000, T1 = 101, T2 = 102, T3 = 103 };

static void a_thread_has_the_name_it_was_given(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, A, T1, "first");
	state(&f, 0, A);
	owner(&f, 10, B, EMPTY);
	feed_text(&f, EVENT_NAME, B, T2, "second");
	feed_text(&f, EVENT_NAME, A, T1, "renamed");
	feed_text(&f, EVENT_NAME, 0, T1, "only its task's");
	end(&f, 20);
	l = feed_lock(&f);
	assert_string_equal(thread_at(l, A, 0)->name, "renamed");
	assert_string_equal(thread_at(l, B, 0)->name, "second");
	IS(thread_at(l, A, 0)->tid, T1);
	IS(thread_at(l, B, 0)->tid, T2);
	feed_release(&f);
}

static void a_thread_without_a_name_has_that_of_its_task(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, 0, T1, "task");
	feed_text(&f, EVENT_NAME, A, T1, "");
	state(&f, 0, A);
	owner(&f, 10, B, EMPTY);
	feed_text(&f, EVENT_NAME, B, T2, "");
	feed_text(&f, EVENT_EXIT, 0, T2, "comm");
	end(&f, 20);
	l = feed_lock(&f);
	assert_string_equal(thread_at(l, A, 0)->name, "task");
	assert_string_equal(thread_at(l, B, 0)->name, "comm");
	feed_release(&f);
}

static void an_address_is_a_new_thread_after_its_task_ended(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, A, T1, "first");
	state(&f, 0, A);
	owner(&f, 10, 0, EMPTY);
	feed_text(&f, EVENT_EXIT, 0, T1, "ruby");
	owner(&f, 30, A, EMPTY);
	feed_text(&f, EVENT_NAME, A, T2, "second");
	owner(&f, 35, 0, EMPTY);
	end(&f, 40);
	l = feed_lock(&f);
	assert_string_equal(thread_at(l, A, 0)->name, "first");
	assert_string_equal(thread_at(l, A, 1)->name, "second");
	IS(thread_at(l, A, 0)->hold_ns, 10);
	IS(thread_at(l, A, 1)->hold_ns, 5);
	IS(l->totals.switches, 1);
	identities_hold(l);
	feed_release(&f);
}

static void an_address_that_another_task_runs_is_a_new_thread(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, A, T1, "first");
	state(&f, 0, A);
	owner(&f, 10, 0, EMPTY);
	feed_text(&f, EVENT_NAME, A, T2, "second");
	owner(&f, 30, A, EMPTY);
	end(&f, 40);
	l = feed_lock(&f);
	IS(thread_at(l, A, 0)->tid, T1);
	IS(thread_at(l, A, 1)->tid, T2);
	assert_string_equal(thread_at(l, A, 1)->name, "second");
	IS(thread_at(l, A, 1)->hold_ns, 10);
	feed_release(&f);
}

static void a_hold_belongs_to_one_thread_to_its_end(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, A, T1, "first");
	feed_text(&f, EVENT_NAME, B, T3, "b");
	state(&f, 0, A);
	queue(&f, 5, B);
	feed_text(&f, EVENT_NAME, A, T2, "second");	/* too late: it has the lock already */
	feed_text(&f, EVENT_NAME, B, T1, "other");
	owner(&f, 20, B, EMPTY);
	end(&f, 40);
	l = feed_lock(&f);
	IS(thread_at(l, A, 0)->hold_ns, 20);
	IS(thread_at(l, B, 0)->wait_ns, 15);
	IS(l->totals.queue_mismatch, 0);
	identities_hold(l);
	feed_release(&f);
}

static void a_thread_named_without_a_task_moves_between_tasks(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed(&f, 0, EVENT_STATE, A, T1, 0);
	feed_text(&f, EVENT_NAME, A, 0, "m:n");
	owner(&f, 10, B, EMPTY);
	feed_text(&f, EVENT_EXIT, 0, T1, "ruby");
	owner(&f, 15, A, EMPTY);
	end(&f, 40);
	l = feed_lock(&f);
	IS(thread_at(l, A, 0)->holds, 2);
	IS(thread_at(l, A, 0)->tid, 0);
	assert_string_equal(thread_at(l, A, 0)->name, "m:n");
	feed_release(&f);
}

static void who_takes_a_free_lock_wrote_its_word(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, 0);
	feed(&f, 10, EVENT_OWNER, A, T1, EMPTY);
	feed(&f, 20, EVENT_OWNER, B, T1, EMPTY);	/* handed over: T1 is not B's */
	feed(&f, 30, EVENT_OWNER, 0, T2, EMPTY);
	end(&f, 40);
	l = feed_lock(&f);
	IS(thread_at(l, A, 0)->tid, T1);
	IS(thread_at(l, B, 0)->tid, 0);
	feed_release(&f);
}

static void a_name_is_better_than_a_guess(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, 0);
	feed(&f, 10, EVENT_OWNER, A, T1, EMPTY);	/* 3.3: T1 only woke it */
	feed_text(&f, EVENT_NAME, A, T2, "a");
	owner(&f, 20, 0, EMPTY);
	feed(&f, 30, EVENT_OWNER, B, T1, EMPTY);
	end(&f, 40);
	l = feed_lock(&f);
	IS(thread_at(l, A, 0)->tid, T2);
	IS(thread_at(l, A, 0)->holds, 1);
	IS(thread_at(l, B, 0)->tid, 0);
	feed_release(&f);
}

static void locks_and_targets_are_kept_apart(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	for (int i = 0; i < 3; i++) {
		f.lock = i;
		f.target = i / 2;	/* two Ractors in the first */
		feed_text(&f, EVENT_NAME, A, T1 + i / 2, i / 2 ? "second" : "first");
		state(&f, 0, A);
	}
	for (int i = 0; i < 3; i++) {
		f.lock = i;
		f.target = i / 2;
		owner(&f, 10 + i, 0, EMPTY);
	}
	f.target = 0;
	feed(&f, 30, EVENT_EXEC, 0, T1, 0);
	for (int i = 0; i < 3; i++) {
		const struct lock *l;

		f.lock = i;
		l = f.p.locks[i];
		IS(l->target, i / 2);
		IS(thread_at(l, A, 0)->hold_ns, 10 + i);
		assert_string_equal(thread_at(l, A, 0)->name, i / 2 ? "second" : "first");
		identities_hold(l);
		assert_int_equal(l->phase, i / 2 ? LOCK_SEEN : LOCK_ENDED);
	}
	IS(f.p.locks[0]->totals.seen_ns, 30);
	feed_release(&f);
}

static void threads_come_by_blame(void **s)
{
	const struct thread **threads;
	struct feed f;
	size_t nr;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, 0x9000, T3, "did nothing");
	state(&f, 0, A);
	owner(&f, 50, B, EMPTY);
	queue(&f, 60, A);
	owner(&f, 70, A, EMPTY);
	end(&f, 75);
	threads = profile_threads(feed_lock(&f), &nr);
	assert_non_null(threads);
	IS(nr, 2);
	IS(threads[0]->addr, B);
	free(threads);
	feed_release(&f);
}

/* Threads that come and go, at few addresses, as a server that starts one a request has them. */
static void short_lives_are_rows_of_their_own(void **s)
{
	enum { NR = 50000 };
	const struct thread **threads;
	struct feed f;
	size_t nr;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	owner(&f, 0, 0, EMPTY);
	for (uint64_t i = 0; i < NR; i++) {
		uint64_t addr = 0x10000 + i % 16 * 0x1000;

		feed_text(&f, EVENT_NAME, addr, 1000 + i, "short");
		owner(&f, i * 10, addr, EMPTY);
		owner(&f, i * 10 + 5, 0, EMPTY);
		feed_text(&f, EVENT_EXIT, 0, 1000 + i, "ruby");
	}
	threads = profile_threads(feed_lock(&f), &nr);
	assert_non_null(threads);
	IS(nr, NR + 1);
	identities_hold(feed_lock(&f));
	free(threads);
	feed_release(&f);
}

/* What a hostile file may hold: any kind, any lock, any thread, any time. */
static void any_events_leave_the_identities_true(void **s)
{
	(void)s;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t r = seed;
		struct feed f;

		feed_init(&f, (struct lock_window){ seed % 3 * 500, seed % 2 ? UINT64_MAX : 9000 });
		for (uint64_t i = 0; i < 2000; i++) {
			struct event ev = { 0 };

			r = r * 6364136223846793005ULL + 1442695040888963407ULL;
			ev.kind = (r >> 60) % (EVENT_KIND_END + 1);
			if (ev.kind == EVENT_GONE && i % 16)
				ev.kind = EVENT_OWNER;
			ev.ts_ns = i * 7 + (r >> 33) % 64;
			ev.thread = (r >> 40) % 6;
			ev.tid = (r >> 44) % 6;
			ev.lock = (r >> 48) % 3;
			ev.target = r >> 50 & 1;
			ev.flags = r >> 20;
			ev.seq = i + (r >> 52) % 4;
			ev.text_len = 1;
			ev.text[0] = r >> 25;
			feed_event(&f, &ev);
		}
		for (f.lock = 0; f.lock < 3; f.lock++)
			identities_hold(feed_lock(&f));
		feed_release(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_has_the_name_it_was_given),
		cmocka_unit_test(a_thread_without_a_name_has_that_of_its_task),
		cmocka_unit_test(an_address_is_a_new_thread_after_its_task_ended),
		cmocka_unit_test(an_address_that_another_task_runs_is_a_new_thread),
		cmocka_unit_test(a_hold_belongs_to_one_thread_to_its_end),
		cmocka_unit_test(a_thread_named_without_a_task_moves_between_tasks),
		cmocka_unit_test(who_takes_a_free_lock_wrote_its_word),
		cmocka_unit_test(a_name_is_better_than_a_guess),
		cmocka_unit_test(locks_and_targets_are_kept_apart),
		cmocka_unit_test(threads_come_by_blame),
		cmocka_unit_test(short_lives_are_rows_of_their_own),
		cmocka_unit_test(any_events_leave_the_identities_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
