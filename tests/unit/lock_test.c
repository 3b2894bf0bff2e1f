// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the figures of a lock are where the answer is known. */
#include "tests/unit/events.h"

#include <stdlib.h>

#define OFF EVENT_OWNER_OFF_CPU
#define EMPTY EVENT_QUEUE_EMPTY

enum { A = 0x1000, B = 0x2000, C = 0x3000, D = 0x4000 };

static void holds_and_free_time_add_up(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 100, 0);
	owner(&f, 110, A, EMPTY);
	owner(&f, 150, 0, EMPTY);
	owner(&f, 160, A, EMPTY);
	owner(&f, 190, 0, EMPTY);
	owner(&f, 195, B, EMPTY);
	end(&f, 200);
	l = feed_lock(&f);
	IS(l->totals.seen_ns, 100);
	IS(l->totals.free_ns, 25);
	IS(l->totals.hold.ns.count, 3);
	IS(l->totals.hold.ns.sum, 75);
	IS(l->totals.hold.ns.max, 40);
	IS(l->totals.hold.cut, 1);
	IS(l->totals.switches, 1);	/* A again is none, nobody in between is none */
	IS(l->totals.contended_ns, 0);
	IS(thread_at(l, A, 0)->hold_ns, 70);
	IS(thread_at(l, A, 0)->holds, 2);
	identities_hold(l);
	feed_release(&f);
}

static void an_owner_is_to_blame_for_all_who_wait(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	queue(&f, 10, B);
	queue(&f, 20, C);
	queue(&f, 25, C);		/* it waits already */
	owner(&f, 50, B, 0);		/* A had B waiting for 40 and C for 30 */
	owner(&f, 60, 0, 0);		/* B had C waiting for 10 */
	owner(&f, 65, C, EMPTY);	/* nobody is to blame for 5 */
	owner(&f, 80, 0, EMPTY);
	end(&f, 100);
	l = feed_lock(&f);
	IS(thread_at(l, A, 0)->blame_ns, 70);
	IS(thread_at(l, B, 0)->blame_ns, 10);
	IS(thread_at(l, C, 0)->blame_ns, 0);
	IS(l->totals.blame_ns, 80);
	IS(l->totals.unowned_wait_ns, 5);
	IS(l->totals.contended_ns, 50);
	IS(l->totals.wait.ns.count, 2);
	IS(l->totals.wait.ns.min, 40);
	IS(l->totals.wait.ns.max, 45);
	IS(l->totals.wait.cut, 0);
	IS(thread_at(l, C, 0)->wait_ns, 45);
	IS(thread_at(l, A, 0)->waits, 0);
	identities_hold(l);
	feed_release(&f);
}

/* Ruby gives each a quantum of 100 ms and names the next one before it wakes. */
static void four_threads_that_compute_share_the_lock(void **s)
{
	enum { QUANTUM = 100000000, QUANTA = 50, WAKE = 50000 };
	static const uint64_t threads[] = { A, B, C, D };
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	for (int i = 1; i < 4; i++)
		feed(&f, 0, EVENT_STATE_QUEUED, threads[i], 0, 0);
	for (int i = 1; i < QUANTA; i++) {
		uint64_t now = (uint64_t)i * QUANTUM;

		owner(&f, now, threads[i % 4], OFF);
		queue(&f, now, threads[(i - 1) % 4]);
		feed(&f, now + WAKE, EVENT_ON_CPU, 0, threads[i % 4], 0);
	}
	end(&f, (uint64_t)QUANTA * QUANTUM);
	l = feed_lock(&f);
	IS(l->totals.switches, 49);
	IS(l->totals.seen_ns, 5000000000);
	IS(l->totals.hold.ns.sum, 5000000000);
	IS(l->totals.contended_ns, 5000000000);
	IS(l->totals.blame_ns, 15000000000);
	IS(l->totals.wait.ns.sum, 15000000000);
	IS(l->totals.handoff.ns.count, 49);
	IS(l->totals.handoff.ns.sum, 49 * WAKE);
	IS(l->totals.offcpu_hold_ns, 0);
	IS(dist_quantile(&l->totals.handoff.ns, 500), WAKE);
	IS(dist_quantile(&l->totals.hold.ns, 500), QUANTUM);
	IS(thread_at(l, A, 0)->hold_ns, 1300000000);
	IS(thread_at(l, B, 0)->hold_ns, 1300000000);
	IS(thread_at(l, C, 0)->hold_ns, 1200000000);
	IS(thread_at(l, A, 0)->blame_ns, 3900000000);
	IS(thread_at(l, D, 0)->wait_ns, 3800000000);
	identities_hold(l);
	feed_release(&f);
}

static void time_off_the_cpu_counts_after_the_handoff(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	feed(&f, 5, EVENT_OFF_CPU, 0, A, EVENT_PREEMPTED);
	feed(&f, 8, EVENT_ON_CPU, 0, A, 0);
	owner(&f, 10, B, OFF | EMPTY);
	feed(&f, 17, EVENT_ON_CPU, 0, B, 0);
	feed(&f, 30, EVENT_OFF_CPU, 0, B, 0);
	feed(&f, 34, EVENT_ON_CPU, 0, B, 0);
	feed(&f, 40, EVENT_OFF_CPU, 0, B, 0);
	owner(&f, 50, C, OFF | EMPTY);		/* ran, but nobody saw when */
	owner(&f, 55, 0, EMPTY);
	end(&f, 60);
	l = feed_lock(&f);
	IS(thread_at(l, A, 0)->offcpu_hold_ns, 3);
	IS(thread_at(l, B, 0)->offcpu_hold_ns, 14);
	IS(thread_at(l, B, 0)->handoff_ns, 7);
	IS(thread_at(l, C, 0)->handoff_ns, 5);
	IS(l->totals.handoff.ns.count, 2);
	IS(l->totals.handoff.ns.max, 7);
	IS(l->totals.handoff.cut, 0);
	identities_hold(l);
	feed_release(&f);
}

static void an_owner_off_the_cpu_at_first_sight_is_in_no_handoff(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed(&f, 0, EVENT_STATE, A, A, OFF);
	feed(&f, 30, EVENT_ON_CPU, 0, A, 0);
	end(&f, 100);
	l = feed_lock(&f);
	IS(l->totals.offcpu_hold_ns, 30);
	IS(l->totals.handoff.ns.count, 0);
	identities_hold(l);
	feed_release(&f);
}

/* The next owner's task gets its CPU while the event that names it is still being written. */
static void a_scheduler_event_may_overtake_the_owner(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, A, A, "a");
	feed_text(&f, EVENT_NAME, B, B, "b");
	state(&f, 0, A);
	feed(&f, 50, EVENT_ON_CPU, 0, B, 0);
	owner(&f, 49, B, OFF | EMPTY);
	owner(&f, 80, 0, EMPTY);
	owner(&f, 90, A, EMPTY);
	feed(&f, 100, EVENT_OFF_CPU, 0, B, 0);
	owner(&f, 100, B, EMPTY);
	feed(&f, 120, EVENT_ON_CPU, 0, B, 0);
	end(&f, 150);
	l = feed_lock(&f);
	IS(thread_at(l, A, 0)->offcpu_hold_ns, 0);
	IS(thread_at(l, B, 0)->offcpu_hold_ns, 20);
	IS(l->totals.handoff.ns.count, 1);
	IS(l->totals.handoff.ns.sum, 0);
	identities_hold(l);
	feed_release(&f);
}

static void what_is_seen_ends_before_lost_events(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	queue(&f, 10, B);
	feed(&f, 20, EVENT_OFF_CPU, 0, A, 0);	/* after it, anybody may have the lock */
	lose(&f, 3);
	owner(&f, 100, C, EMPTY);
	queue(&f, 110, A);
	owner(&f, 130, A, EMPTY);
	end(&f, 150);
	l = feed_lock(&f);
	IS(l->totals.gaps, 1);
	IS(l->totals.gap_events, 3);
	IS(l->totals.seen_ns, 60);
	IS(l->totals.queue_unknown, 0);
	IS(thread_at(l, A, 0)->hold_ns, 30);
	IS(thread_at(l, A, 0)->holds, 2);
	IS(thread_at(l, A, 0)->offcpu_hold_ns, 0);
	IS(thread_at(l, B, 0)->waits, 1);
	IS(thread_at(l, B, 0)->wait_ns, 0);
	IS(l->totals.wait.cut, 1);
	IS(l->totals.hold.cut, 2);
	IS(l->totals.switches, 1);		/* C is the first owner known after the gap */
	identities_hold(l);
	feed_release(&f);
}

static void after_a_gap_nothing_is_seen_until_the_owner_is_known(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	owner(&f, 10, 0, EMPTY);
	lose(&f, 1);
	queue(&f, 50, B);
	queue(&f, 60, C);
	owner(&f, 70, B, 0);		/* C is queued, and maybe others */
	owner(&f, 100, C, EMPTY);
	end(&f, 110);
	l = feed_lock(&f);
	IS(l->totals.seen_ns, 10 + 40);
	IS(l->totals.queue_unknown, 1);
	IS(l->totals.queue_mismatch, 0);
	IS(l->totals.gap_events, 1);
	IS(l->totals.wait.ns.count, 1);	/* B's was over when sight came back */
	IS(thread_at(l, C, 0)->wait_ns, 30);
	IS(l->totals.wait.cut, 1);
	IS(l->totals.blame_ns, 30);
	identities_hold(l);
	feed_release(&f);
}

static void nothing_is_known_between_end_and_state(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	queue(&f, 10, B);
	end(&f, 20);
	owner(&f, 30, B, EMPTY);
	owner(&f, 40, 0, EMPTY);
	state(&f, 100, C);
	feed(&f, 100, EVENT_STATE_QUEUED, A, 0, 0);
	owner(&f, 120, A, EMPTY);
	end(&f, 130);
	l = feed_lock(&f);
	IS(l->totals.seen_ns, 20 + 30);
	IS(l->totals.hold.ns.count, 3);
	IS(l->totals.hold.cut, 3);
	IS(l->totals.gap_events, 0);
	IS(thread_at(l, B, 0)->hold_ns, 0);
	IS(thread_at(l, B, 0)->wait_ns, 10);
	IS(thread_at(l, A, 0)->wait_ns, 20);
	IS(l->totals.wait.cut, 2);
	identities_hold(l);
	feed_release(&f);
}

static void a_state_without_end_closes_at_the_last_event(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	owner(&f, 40, B, EMPTY);
	owner(&f, 60, A, EMPTY);
	lose(&f, 2);
	state(&f, 100, C);
	end(&f, 105);
	l = feed_lock(&f);
	IS(l->totals.seen_ns, 60 + 5);
	IS(l->totals.gaps, 1);
	IS(l->totals.gap_events, 2);
	identities_hold(l);
	feed_release(&f);
}

static void a_stream_that_just_stops_is_seen_up_to_its_last_event(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	owner(&f, 40, B, EMPTY);
	feed(&f, 50, EVENT_OFF_CPU, 0, B, 0);
	l = feed_lock(&f);
	IS(l->totals.seen_ns, 40);
	IS(l->totals.hold.ns.count, 2);
	IS(l->totals.hold.cut, 2);
	identities_hold(l);
	feed_release(&f);
}

static void events_that_a_state_contains_are_not_counted_again(void **s)
{
	struct feed f;
	const struct lock *l;
	struct event late = { .kind = EVENT_OWNER, .ts_ns = 99, .thread = A, .seq = 7 };
	struct event st = { .kind = EVENT_STATE, .ts_ns = 100, .thread = B, .seq = 8 };

	(void)s;
	feed_init(&f, WHOLE);
	feed_event(&f, &st);
	feed_event(&f, &late);
	late.seq = 8;
	feed_event(&f, &late);
	f.seq[0] = 8;
	owner(&f, 120, A, EMPTY);
	end(&f, 130);
	l = feed_lock(&f);
	IS(l->totals.stale_events, 2);
	IS(l->totals.gap_events, 0);
	IS(l->totals.switches, 1);
	IS(thread_at(l, B, 0)->hold_ns, 20);
	identities_hold(l);
	feed_release(&f);
}

static void a_lock_born_while_traced_is_seen_from_its_first_owner(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	owner(&f, 40, B, EMPTY);
	feed(&f, 45, EVENT_LOCK, 0xbeef, 0, 0);
	owner(&f, 50, 0, EMPTY);
	end(&f, 70);
	l = feed_lock(&f);
	IS(l->addr, 0xbeef);
	IS(l->totals.seen_ns, 30);
	IS(l->totals.hold.ns.sum, 10);
	IS(l->totals.hold.cut, 0);
	IS(l->totals.gap_events, 0);
	identities_hold(l);
	feed_release(&f);
}

static void sequence_numbers_may_wrap(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	f.seq[0] = UINT32_MAX - 1;
	state(&f, 0, A);
	owner(&f, 10, B, EMPTY);
	owner(&f, 20, C, EMPTY);
	lose(&f, 1);
	owner(&f, 30, A, EMPTY);
	end(&f, 40);
	l = feed_lock(&f);
	IS(l->totals.gap_events, 1);
	IS(l->totals.seen_ns, 30);
	IS(l->totals.stale_events, 0);
	feed_release(&f);
}

static void time_on_a_lock_never_goes_back(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 100, A);
	queue(&f, 120, B);
	owner(&f, 115, B, EMPTY);
	owner(&f, 118, 0, EMPTY);
	owner(&f, 130, A, EMPTY);
	feed(&f, 125, EVENT_OFF_CPU, 0, A, 0);
	feed(&f, 124, EVENT_ON_CPU, 0, A, 0);
	end(&f, 129);
	l = feed_lock(&f);
	IS(l->totals.seen_ns, 30);
	IS(l->totals.free_ns, 10);
	IS(l->totals.wait.ns.count, 1);
	IS(l->totals.wait.ns.sum, 0);
	IS(l->totals.hold.ns.count, 3);
	identities_hold(l);
	feed_release(&f);
}

static void an_empty_queue_proves_that_threads_left_it_unseen(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, A);
	queue(&f, 10, B);
	queue(&f, 10, C);
	owner(&f, 30, B, EMPTY);
	owner(&f, 40, A, 0);		/* somebody is queued whom no event named */
	owner(&f, 50, B, 0);		/* and still is: one finding, not two */
	end(&f, 60);
	l = feed_lock(&f);
	IS(l->totals.queue_mismatch, 2);
	IS(thread_at(l, C, 0)->wait_ns, 20);
	IS(l->totals.wait.cut, 1);
	identities_hold(l);
	feed_release(&f);
}

static void a_thread_whose_task_ends_waits_no_longer(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, B, B, "b");
	state(&f, 0, A);
	queue(&f, 10, B);
	feed(&f, 15, EVENT_EXIT, 0, B, 0);
	owner(&f, 20, C, EMPTY);
	end(&f, 60);
	l = feed_lock(&f);
	IS(l->totals.queue_mismatch, 1);
	IS(thread_at(l, B, 0)->wait_ns, 5);
	IS(l->totals.blame_ns, 5);
	identities_hold(l);
	feed_release(&f);
}

static void a_killed_target_loses_nothing(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	feed_text(&f, EVENT_NAME, B, B, "b");
	state(&f, 0, A);
	queue(&f, 10, B);
	feed(&f, 15, EVENT_EXIT, 0, B, 0);
	feed(&f, 16, EVENT_EXIT, 0, A, 0);
	feed(&f, 20, EVENT_GONE, 0, 0, 0);
	owner(&f, 30, C, EMPTY);
	l = feed_lock(&f);
	IS(l->totals.queue_mismatch, 0);
	IS(l->totals.seen_ns, 20);
	IS(f.p.nr_life, 1);
	identities_hold(l);
	feed_release(&f);
}

static void a_window_counts_what_lies_in_it(void **s)
{
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, (struct lock_window){ 25, 62 });
	state(&f, 0, A);
	queue(&f, 10, B);
	owner(&f, 20, B, OFF | EMPTY);		/* ends before: A's hold, B's wait */
	feed(&f, 28, EVENT_ON_CPU, 0, B, 0);
	queue(&f, 30, A);
	owner(&f, 50, A, EMPTY);
	feed(&f, 60, EVENT_OFF_CPU, 0, A, 0);
	feed(&f, 70, EVENT_ON_CPU, 0, A, 0);
	owner(&f, 80, C, EMPTY);
	end(&f, 90);
	l = feed_lock(&f);
	IS(l->totals.seen_ns, 37);
	IS(l->totals.hold.ns.count, 2);
	IS(l->totals.hold.cut, 2);
	IS(thread_at(l, B, 0)->hold_ns, 25);
	IS(thread_at(l, A, 0)->hold_ns, 12);
	IS(thread_at(l, A, 0)->holds, 1);
	IS(thread_at(l, A, 0)->offcpu_hold_ns, 2);
	IS(l->totals.handoff.ns.sum, 3);
	IS(l->totals.handoff.cut, 1);
	IS(l->totals.switches, 1);
	IS(thread_at(l, B, 0)->waits, 0);
	IS(l->totals.wait.ns.count, 1);
	IS(thread_at(l, C, 0)->holds, 0);
	identities_hold(l);
	feed_release(&f);
}

static void windows_add_up_to_the_whole(void **s)
{
	static const uint64_t edges[] = { 0, 25, 62, 75, UINT64_MAX };
	uint64_t seen = 0, held = 0, blame = 0, switches = 0;

	(void)s;
	for (int i = 0; i < 4; i++) {
		struct feed f;
		const struct lock *l;

		feed_init(&f, (struct lock_window){ edges[i], edges[i + 1] });
		state(&f, 0, A);
		queue(&f, 10, B);
		owner(&f, 25, B, EMPTY);
		queue(&f, 30, A);
		owner(&f, 62, A, EMPTY);
		owner(&f, 80, C, EMPTY);
		end(&f, 90);
		l = feed_lock(&f);
		identities_hold(l);
		seen += l->totals.seen_ns;
		held += l->totals.hold.ns.sum;
		blame += l->totals.blame_ns;
		switches += l->totals.switches;
		feed_release(&f);
	}
	IS(seen, 90);
	IS(held, 90);
	IS(blame, 15 + 32);
	IS(switches, 3);
}

/* With a queue that is searched this would take minutes. */
static void ten_thousand_threads_may_wait(void **s)
{
	enum { NR = 10000, TURNS = 300000 };
	struct feed f;
	const struct lock *l;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 0, 16);
	for (uint64_t i = 1; i < NR; i++)
		queue(&f, 0, 16 + i * 16);
	for (uint64_t i = 1; i <= TURNS; i++) {
		owner(&f, i * 10, 16 + i % NR * 16, 0);
		queue(&f, i * 10, 16 + (i - 1) % NR * 16);
	}
	end(&f, (TURNS + 1) * 10);
	l = feed_lock(&f);
	IS(l->totals.hold.ns.count, TURNS + 1);
	IS(l->totals.switches, TURNS);
	IS(l->totals.blame_ns, (TURNS + 1) * 10ULL * (NR - 1));
	IS(l->totals.queue_mismatch, 0);
	identities_hold(l);
	feed_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_and_free_time_add_up),
		cmocka_unit_test(an_owner_is_to_blame_for_all_who_wait),
		cmocka_unit_test(four_threads_that_compute_share_the_lock),
		cmocka_unit_test(time_off_the_cpu_counts_after_the_handoff),
		cmocka_unit_test(an_owner_off_the_cpu_at_first_sight_is_in_no_handoff),
		cmocka_unit_test(a_scheduler_event_may_overtake_the_owner),
		cmocka_unit_test(what_is_seen_ends_before_lost_events),
		cmocka_unit_test(after_a_gap_nothing_is_seen_until_the_owner_is_known),
		cmocka_unit_test(nothing_is_known_between_end_and_state),
		cmocka_unit_test(a_state_without_end_closes_at_the_last_event),
		cmocka_unit_test(a_stream_that_just_stops_is_seen_up_to_its_last_event),
		cmocka_unit_test(events_that_a_state_contains_are_not_counted_again),
		cmocka_unit_test(a_lock_born_while_traced_is_seen_from_its_first_owner),
		cmocka_unit_test(sequence_numbers_may_wrap),
		cmocka_unit_test(time_on_a_lock_never_goes_back),
		cmocka_unit_test(an_empty_queue_proves_that_threads_left_it_unseen),
		cmocka_unit_test(a_thread_whose_task_ends_waits_no_longer),
		cmocka_unit_test(a_killed_target_loses_nothing),
		cmocka_unit_test(a_window_counts_what_lies_in_it),
		cmocka_unit_test(windows_add_up_to_the_whole),
		cmocka_unit_test(ten_thousand_threads_may_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
