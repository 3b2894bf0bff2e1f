// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What becomes of a trace's events: segments. */
#include "schedules.h"

static const struct segment *segment(const struct episode *ep, uint64_t thread, uint32_t n)
{
	for (uint32_t i = 0; i < ep->nr_threads; i++) {
		uint32_t at = ep->threads[i].first;

		if (ep->threads[i].thread->addr != thread)
			continue;
		while (n-- && at != SCHEDULE_NONE)
			at = ep->segments[at].next;
		assert_int_not_equal(at, SCHEDULE_NONE);
		return &ep->segments[at];
	}
	fail_msg("thread %ju is not there", (uintmax_t)thread);
	return NULL;
}

TEST(a_segment_is_time_without_the_lock_waiting_and_work)
{
	const struct segment *s;
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 100, 1);
	queue(&t, 105, 2);
	owner(&t, 110, 2, 1);
	owner(&t, 118, 0, 2);
	owner(&t, 125, 2, 2);
	owner(&t, 127, 0, 2);
	end(&t, 130);
	s = segment(told_lock(&t)->episodes, 2, 0);
	IS(s->off_ns, 5);
	IS(s->wait_ns, 5);
	IS(s->work_ns, 8);
	assert_int_equal(s->flags, SEGMENT_QUEUED | SEGMENT_INSIDE);
	s = segment(t.s.locks[0]->episodes, 2, 1);
	IS(s->off_ns, 7);
	IS(s->wait_ns, 0);
	IS(s->work_ns, 2);
	assert_int_equal(s->flags, 0);
	s = segment(t.s.locks[0]->episodes, 2, 2);
	IS(s->off_ns, 3);
	assert_int_equal(s->flags, SEGMENT_TAIL);
	told_release(&t);
}

TEST(the_time_until_the_owner_runs_is_no_work)
{
	const struct segment *s;
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	queue(&t, 5, 2);
	tell(&t, 10, EVENT_OWNER, 2, 1, EVENT_RELEASED | EVENT_OWNER_OFF_CPU);
	tell(&t, 14, EVENT_ON_CPU, 0, 2, 0);
	copied(&t, 15, 18, 2, true);
	owner(&t, 20, 0, 2);
	end(&t, 20);
	s = segment(told_lock(&t)->episodes, 2, 0);
	IS(s->latency_ns, 4);
	IS(s->work_ns, 6);
	IS(t.s.locks[0]->latency_ns, 4);
	IS(t.s.locks[0]->episodes->acts[s->act].at_ns, 1);
	IS(t.s.locks[0]->episodes->acts[s->act].dur_ns, 3);
	told_release(&t);
}

TEST(lost_events_begin_another_episode)
{
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	owner(&t, 10, 2, 1);
	t.seq += 3;
	owner(&t, 50, 3, 2);
	owner(&t, 60, 0, 3);
	end(&t, 70);
	IS(told_lock(&t)->episodes->span_ns, 10);
	assert_non_null(t.s.locks[0]->episodes->next);
	IS(t.s.locks[0]->episodes->next->begin_ns, 50);
	IS(t.s.locks[0]->episodes->next->span_ns, 20);
	told_release(&t);
}

TEST(copies_of_unknown_tasks_and_without_a_time_are_counted_as_left_out)
{
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	copied(&t, 2, 4, 9, false);
	tell(&t, 5, EVENT_COPY, 0, 1, COPY_HELD | COPY_UNTIMED);
	tell(&t, 6, EVENT_COPY, 0, 1, COPY_HELD | COPY_COMPARE << COPY_OP_SHIFT);
	end(&t, 10);
	IS(told_lock(&t)->copies_left_out, 2);
	IS(t.s.locks[0]->episodes->nr_acts, 0);
	told_release(&t);
}

/* A file can say anything: these flags are the schedule's own. */
TEST(flags_that_no_copy_has_are_not_taken_over)
{
	struct told t;

	(void)unused;
	told_init(&t);
	state(&t, 0, 1);
	tell(&t, 5, EVENT_COPY, 0, 1, COPY_HELD | COPY_BUFFER | ACT_WAKE | ACT_END);
	end(&t, 10);
	IS(told_lock(&t)->episodes->nr_acts, 1);
	IS(t.s.locks[0]->episodes->acts[0].flags, COPY_HELD | COPY_BUFFER);
	told_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_is_time_without_the_lock_waiting_and_work),
		cmocka_unit_test(the_time_until_the_owner_runs_is_no_work),
		cmocka_unit_test(lost_events_begin_another_episode),
		cmocka_unit_test(copies_of_unknown_tasks_and_without_a_time_are_counted_as_left_out),
		cmocka_unit_test(flags_that_no_copy_has_are_not_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
