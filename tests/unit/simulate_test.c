// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Schedules worked by hand, in ms unless said otherwise; each comment shows who has the lock when. */
#include "schedules.h"

static void unchanged_is(struct told *t, uint64_t wait_ms)
{
	struct simulated r;

	run_unchanged(told_lock(t), &r);
	IS(r.wait_ns, wait_ms * MS);
	simulated_release(&r);
	told_release(t);
}

static const struct simulated_thread *thread(const struct simulated *r, uint64_t addr)
{
	for (uint32_t i = 0; i < r->nr_threads; i++)
		if (r->threads[i].thread->addr == addr)
			return &r->threads[i];
	fail_msg("thread %ju is not there", (uintmax_t)addr);
	return NULL;
}

/*
 *	0         10   12      20   25  30
 *	1 1 1 1 1 -    2 2 2 2 -    1 1 1
 */
TEST(two_threads_that_never_meet_do_not_wait)
{
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	owner(&t, 10 * MS, 0, 1);
	owner(&t, 12 * MS, 2, 2);
	owner(&t, 20 * MS, 0, 2);
	owner(&t, 25 * MS, 1, 1);
	end(&t, 30 * MS);
	unchanged_is(&t, 0);
}

/*
 *	0    5    10       18      25
 *	1 1 1 1 1 2 2 2 2 2 1 1 1 1 1
 *	     2 waits 5  1 (since 14) waits 4
 */
TEST(two_threads_that_alternate_wait_for_each_other)
{
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	queue(&t, 5 * MS, 2);
	owner(&t, 10 * MS, 2, 1);
	queue(&t, 14 * MS, 1);
	owner(&t, 18 * MS, 1, 2);
	end(&t, 25 * MS);
	unchanged_is(&t, 9);
}

static void three_in_line(struct told *t)
{
	told_init(t);
	state(t, 0, 1);
	queue(t, 5 * MS, 2);
	queue(t, 10 * MS, 3);
	queue(t, 20 * MS, 4);
	owner(t, 30 * MS, 2, 1);
	owner(t, 40 * MS, 3, 2);
	owner(t, 50 * MS, 4, 3);
	owner(t, 60 * MS, 0, 4);
	end(t, 70 * MS);
}

/*
 *	0      30  40  50  60  70
 *	1 1 1 1 2 2 3 3 4 4 -
 *	2 waits 5..30, 3 waits 10..40, 4 waits 20..50
 */
TEST(three_in_line_have_the_lock_in_order_of_arrival)
{
	struct told t;

	(void)unused;
	three_in_line(&t);
	unchanged_is(&t, 25 + 30 + 30);
}

/* 1 has the lock, 2 and 3 are in line at the begin. 4 queues at 5; it never has the lock. */
TEST(a_queue_at_the_begin_and_one_at_the_end_are_kept)
{
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	tell(&t, 0, EVENT_STATE_QUEUED, 2, 2, 0);
	tell(&t, 0, EVENT_STATE_QUEUED, 3, 3, 0);
	queue(&t, 5 * MS, 4);
	owner(&t, 10 * MS, 2, 1);
	owner(&t, 20 * MS, 3, 2);
	end(&t, 30 * MS);
	unchanged_is(&t, 10 + 20 + 25);
}

/* Both compute; each gives way after a quantum, and is in line a little before it gives the lock up. */
static void two_counters(struct told *t)
{
	told_init(t);
	state(t, 0, 1);
	queue(t, 0, 2);
	queue(t, 100 * MS, 1);
	yield_to(t, 101 * MS, 2, 1);
	queue(t, 201 * MS, 2);
	yield_to(t, 202 * MS, 1, 2);
	owner(t, 252 * MS, 2, 1);
	end(t, 302 * MS);
}

TEST(who_gives_way_is_in_line_before_it_gives_the_lock_up)
{
	struct told t;

	(void)unused;
	two_counters(&t);
	unchanged_is(&t, 101 + 102 + 51);
}

/*
 * Recorded, with the copy (c) held; 2 has waited since 5:
 *	0    10        60   70               320
 *	1 1 1 c c c c c 1 1 1 2 2 2 2 2 2 2 2
 * Without the lock 2 has it at 10. 1 wants it back at 60, and waits for a quantum:
 *	0    10               160  170        270
 *	1 1 1 2 2 2 2 2 2 2 2 2 1 1 1 2 2 2 2 2
 */
static void copier_and_counter(struct told *t)
{
	told_init(t);
	state(t, 0, 1);
	queue(t, 5 * MS, 2);
	copied(t, 10 * MS, 60 * MS, 1, true);
	owner(t, 70 * MS, 2, 1);
	end(t, 320 * MS);
}

TEST(a_copy_moved_out_may_have_to_wait_for_a_rivals_quantum)
{
	struct simulate_options o;
	struct simulated r;
	struct told t;

	(void)unused;
	copier_and_counter(&t);
	run_unchanged(told_lock(&t), &r);
	IS(r.wait_ns, 65 * MS);
	IS(r.copy_blame_ns, 50 * MS);
	IS(r.held_copies, 1);
	IS(r.held_copy_ns, 50 * MS);
	IS(thread(&r, 1)->finish_ns, 70 * MS);
	simulated_release(&r);
	o = moved(t.s.locks[0], 1 << 20);
	run(t.s.locks[0], &o, &r);
	IS(r.changed_copies, 1);
	IS(r.free_copies, 1);
	IS(r.free_copy_ns, 50 * MS);
	IS(r.yields, 1);
	IS(r.wait_ns, (5 + 100 + 10) * MS);
	IS(r.copy_blame_ns, 0);
	IS(thread(&r, 1)->finish_ns, 170 * MS);
	IS(r.makespan_ns, 270 * MS);
	simulated_release(&r);
	told_release(&t);
}

/* The same with a quantum of 20: 1 waits from 60 to 80, 2 goes on from 90 to 270. */
TEST(a_quantum_of_another_length_is_kept)
{
	struct simulate_options o;
	struct simulated r;
	struct told t;

	(void)unused;
	copier_and_counter(&t);
	o = moved(told_lock(&t), 1 << 20);
	o.quantum_ns = 20 * MS;
	run(t.s.locks[0], &o, &r);
	IS(r.wait_ns, (5 + 20 + 10) * MS);
	IS(thread(&r, 1)->finish_ns, 90 * MS);
	IS(r.makespan_ns, 270 * MS);
	simulated_release(&r);
	told_release(&t);
}

TEST(a_copy_below_the_threshold_stays)
{
	struct simulate_options o;
	struct simulated r;
	struct told t;

	(void)unused;
	copier_and_counter(&t);
	o = moved(told_lock(&t), (1 << 20) + 1);
	run(t.s.locks[0], &o, &r);
	IS(r.changed_copies, 0);
	IS(r.wait_ns, 65 * MS);
	simulated_release(&r);
	told_release(&t);
}

/*
 * Held; 2 has waited since 5:
 *	0    10   30   40     60
 *	1 1 1 c c c 1 1 2 2 2 2
 * Without the lock, at 1 a transition (t). 2 gives the lock up when 1 wants it back:
 *	0    10 11     31 32    42
 *	1 1 1 t 2 2 2 2 t 1 1 1 1
 */
TEST(a_copy_moved_out_runs_while_another_has_the_lock)
{
	struct simulate_options o;
	struct simulated r;
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	queue(&t, 5 * MS, 2);
	copied(&t, 10 * MS, 30 * MS, 1, true);
	owner(&t, 40 * MS, 2, 1);
	owner(&t, 60 * MS, 0, 2);
	end(&t, 60 * MS);
	o = moved(told_lock(&t), 0);
	o.transition_ns = MS;
	run(t.s.locks[0], &o, &r);
	IS(r.wait_ns, 6 * MS);
	IS(r.makespan_ns, 42 * MS);
	IS(r.hold_ns, 42 * MS);
	IS(r.copying_ns, 20 * MS);
	simulated_release(&r);
	told_release(&t);
}

/* 1 has the lock, 2 waits for it from the begin; each copies. @at: 1 from, to; hand-over; 2 from, to; end. */
static void two_copiers(struct told *t, const uint64_t at[6])
{
	told_init(t);
	state(t, 0, 1);
	queue(t, 0, 2);
	copied(t, at[0] * MS, at[1] * MS, 1, true);
	owner(t, at[2] * MS, 2, 1);
	copied(t, at[3] * MS, at[4] * MS, 2, true);
	owner(t, at[5] * MS, 0, 2);
	end(t, at[5] * MS);
}

/*
 * A trap takes 2, its event is in the middle; a hold with a copy has three:
 *	0  10   30 40 45   65 70
 *	1 1 c c c 1 2 2 c c c 2
 * Without them:
 *	0  9    27 34 38   56 58
 */
TEST(what_probes_added_to_copies_can_be_taken_out)
{
	struct simulate_options o;
	struct simulated r;
	struct told t;

	(void)unused;
	two_copiers(&t, (const uint64_t[]){ 10, 30, 40, 45, 65, 70 });
	o = simulate_options(told_lock(&t));
	episode_untrace(t.s.locks[0]->episodes, 2 * MS);
	run(t.s.locks[0], &o, &r);
	IS(r.hold_ns, 58 * MS);
	IS(r.wait_ns, 34 * MS);
	IS(r.copying_ns, 2 * 18 * MS);
	IS(r.held_copy_ns, 2 * 18 * MS);
	IS(r.burst_crowd, 2);
	IS(r.placements.nr, 2);
	IS(r.placements.at[1].nr, 1);
	IS(r.placements.at[1].cpus[0], 3);
	simulated_release(&r);
	episode_untrace(t.s.locks[0]->episodes, 100 * MS);
	run(t.s.locks[0], &o, &r);
	IS(r.hold_ns, 0);
	simulated_release(&r);
	told_release(&t);
}

/*
 * Held, one after the other: 0 c 30, 30 c 90. Without the lock both begin at 0 and have 3/4 of the speed each
 * until 1 is done, at 40; 2, of whose 60 then 30 are done, is at 70.
 */
TEST(copies_at_the_same_time_share_bandwidth)
{
	struct simulate_options o;
	struct simulated r;
	struct told t;

	(void)unused;
	two_copiers(&t, (const uint64_t[]){ 0, 30, 30, 30, 90, 90 });
	o = moved(told_lock(&t), 0);
	o.sharing = (struct sharing){ .bandwidth_1 = 2e9, .bandwidth_all = 3e9 };
	run(t.s.locks[0], &o, &r);
	IS(thread(&r, 1)->finish_ns, 40 * MS);
	IS(thread(&r, 2)->finish_ns, 70 * MS);
	IS(r.wait_ns, 0);
	IS(r.free_copy_ns, (40 + 70) * MS);
	IS(r.placements.nr, 1);
	IS(r.placements.at[0].nr, 2);
	IS(r.placements.at[0].cpus[0], 2);
	IS(r.placements.at[0].cpus[1], 3);
	simulated_release(&r);

	/* one processor: 30 each by 60, then 30 more */
	o.sharing = (struct sharing){ .cpus = 1 };
	run(t.s.locks[0], &o, &r);
	IS(thread(&r, 1)->finish_ns, 60 * MS);
	IS(r.makespan_ns, 90 * MS);
	simulated_release(&r);
	told_release(&t);
}

/*
 * Recorded, the copy without the lock:
 *	0    10 11       31 32   40
 *	1 1 1       (2: 15..25)  1 1 1
 * With it, the transitions around it saved, 2 waits from 15 to 38:
 *	0    10       30     38      48
 *	1 1 1 c c c c c 1 1 1 2 2 2 2
 */
TEST(a_copy_moved_in_is_time_with_the_lock)
{
	struct simulate_options o;
	struct simulated r;
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	owner(&t, 10 * MS, 0, 1);
	owner(&t, 15 * MS, 2, 2);
	owner(&t, 25 * MS, 0, 2);
	copied(&t, 11 * MS, 31 * MS, 1, false);
	owner(&t, 32 * MS, 1, 1);
	owner(&t, 40 * MS, 0, 1);
	end(&t, 40 * MS);
	run_unchanged(told_lock(&t), &r);
	IS(r.free_copies, 1);
	simulated_release(&r);
	o = moved(t.s.locks[0], SIZE_MAX);
	o.transition_ns = MS;
	run(t.s.locks[0], &o, &r);
	IS(r.changed_copies, 1);
	IS(r.wait_ns, 23 * MS);
	IS(r.copy_blame_ns, 15 * MS);
	IS(r.held_copy_ns, 20 * MS);
	IS(r.makespan_ns, 48 * MS);
	simulated_release(&r);
	told_release(&t);
}

/* 3.1: 2 is told at 10 and takes the lock at 14. Between, 3 has it from 11 to 12. */
TEST(in_3_1_the_lock_is_free_until_who_was_woken_takes_it)
{
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	queue(&t, 5 * MS, 2);
	owner(&t, 10 * MS, 0, 1);
	owner(&t, 11 * MS, 3, 3);
	owner(&t, 12 * MS, 0, 3);
	owner(&t, 14 * MS, 2, 2);
	owner(&t, 20 * MS, 0, 2);
	end(&t, 20 * MS);
	IS(told_lock(&t)->design, REF_LOCK_31);
	unchanged_is(&t, 9);
}

/* 3.1: of 2 and 3, in line since 5 and 6, the later is awake first when the lock is free for the second time. */
TEST(in_3_1_a_later_one_may_take_the_lock_out_of_turn)
{
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	queue(&t, 5 * MS, 2);
	queue(&t, 6 * MS, 3);
	owner(&t, 10 * MS, 0, 1);
	owner(&t, 11 * MS, 4, 4);
	owner(&t, 12 * MS, 0, 4);
	owner(&t, 13 * MS, 3, 3);
	owner(&t, 14 * MS, 0, 3);
	owner(&t, 16 * MS, 2, 2);
	end(&t, 20 * MS);
	unchanged_is(&t, 7 + 11);
}

/*
 * 1 waits to be woken by 2 (join), which does that when its copy is over. 3 has the lock while 2 copies, once the
 * copy is moved out:
 *	0    10           40    50   70  75
 *	2 2 2 c c c c c c 2 2 2 3 3 3 1 1
 *	       3 waits since 5, 1 since 49
 */
TEST(who_is_woken_by_an_owner_is_woken_when_that_comes_to_it)
{
	struct simulate_options o;
	struct simulated r;
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 2);
	queue(&t, 5 * MS, 3);
	copied(&t, 10 * MS, 40 * MS, 2, true);
	tell(&t, 49 * MS, EVENT_QUEUE, 1, 2, 0);
	owner(&t, 50 * MS, 3, 2);
	owner(&t, 70 * MS, 1, 3);
	owner(&t, 75 * MS, 0, 1);
	end(&t, 75 * MS);
	run_unchanged(told_lock(&t), &r);
	IS(r.wait_ns, (45 + 21) * MS);
	simulated_release(&r);
	/* 2 0..10, 3 10..30, free, 2 40..50 wakes 1 at 49, 1 50..55; 2 then does nothing for 25, as recorded */
	o = moved(t.s.locks[0], 0);
	run(t.s.locks[0], &o, &r);
	IS(r.wait_ns, (5 + 1) * MS);
	IS(r.makespan_ns, 55 * MS);
	IS(r.span_ns, 75 * MS);
	IS(r.free_ns, 30 * MS);
	simulated_release(&r);
	told_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_threads_that_never_meet_do_not_wait),
		cmocka_unit_test(two_threads_that_alternate_wait_for_each_other),
		cmocka_unit_test(three_in_line_have_the_lock_in_order_of_arrival),
		cmocka_unit_test(a_queue_at_the_begin_and_one_at_the_end_are_kept),
		cmocka_unit_test(who_gives_way_is_in_line_before_it_gives_the_lock_up),
		cmocka_unit_test(a_copy_moved_out_may_have_to_wait_for_a_rivals_quantum),
		cmocka_unit_test(a_quantum_of_another_length_is_kept),
		cmocka_unit_test(a_copy_below_the_threshold_stays),
		cmocka_unit_test(a_copy_moved_out_runs_while_another_has_the_lock),
		cmocka_unit_test(what_probes_added_to_copies_can_be_taken_out),
		cmocka_unit_test(copies_at_the_same_time_share_bandwidth),
		cmocka_unit_test(a_copy_moved_in_is_time_with_the_lock),
		cmocka_unit_test(in_3_1_the_lock_is_free_until_who_was_woken_takes_it),
		cmocka_unit_test(in_3_1_a_later_one_may_take_the_lock_out_of_turn),
		cmocka_unit_test(who_is_woken_by_an_owner_is_woken_when_that_comes_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
