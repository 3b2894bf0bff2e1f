// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What closes visited and took, and what blocking regions are, where the answer is known. */
#include "tests/unit/closes.h"

#include <stdlib.h>

#define EMPTY EVENT_QUEUE_EMPTY
#define RELEASED (EVENT_RELEASED | EMPTY)
#define ON_LIST (EVENT_ON_LIST | EVENT_RELEASED | EMPTY)

enum { A = 0x1000, B = 0x2000, C = 0x3000, D = 0x4000, TID = 101, FD = 7, READ = 0, FUTEX = 202 };

/* The visited of the last scan that was fed. */
static uint64_t last_visited(const struct feed *f)
{
	uint64_t *one = map_get(&f->p.closes.open, (uint64_t)f->target << 32 | TID | 1ULL << 63);

	assert_non_null(one);
	return ((const struct close_one *)*one)->visited;
}

/* D owns the lock; A and B are on the list, and a walk has told so. */
static void feed_list(struct feed *f)
{
	feed_init(f, WHOLE);
	state(f, 10, D);
	listed(f, 0, A);
	listed(f, 1, B);
	SCAN(f, .ts = 20, .dur = 1, .tid = TID, .flags = SCAN_WALKED | SCAN_BASE, .count = 2,
	     .sum = A + B);
	IS(last_visited(f), 2);
}

static uint64_t mismatches(const struct feed *f)
{
	return f->p.targets[f->target]->waiters.mismatches;
}

/* @thread releases the lock, which D takes. */
static void releases(struct feed *f, uint64_t ts, uint64_t thread, uint8_t flags)
{
	owner(f, ts, thread, EMPTY);
	owner(f, ts + 1, D, flags | EMPTY);
}

static void a_set_of_waiters_has_each_once(void **s)
{
	struct waiters w = { 0 };

	(void)s;
	assert_int_equal(waiters_set(&w, A, true), 0);
	assert_int_equal(waiters_set(&w, A, true), 0);
	assert_int_equal(waiters_set(&w, B, true), 0);
	assert_int_equal(waiters_set(&w, 0, true), 0);
	assert_int_equal(waiters_set(&w, C, false), 0);
	IS(w.on_list.nr_used, 2);
	IS(w.sum, A + B);
	assert_int_equal(waiters_set(&w, A, false), 0);
	assert_int_equal(waiters_set(&w, A, false), 0);
	IS(w.on_list.nr_used, 1);
	IS(w.sum, B);
	waiters_release(&w);
	IS(w.on_list.nr_used, 0);
}

static void nothing_is_known_of_the_list_before_a_walk(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, D);
	releases(&f, 12, A, ON_LIST);
	SCAN(&f, .ts = 20, .dur = 1, .tid = TID);
	IS(last_visited(&f), WAITERS_UNKNOWN);
	IS(f.p.closes.count, 1);
	IS(f.p.closes.visited_unknown, 1);
	IS(f.p.closes.visited.count, 0);
	SCAN(&f, .ts = 30, .dur = 1, .tid = TID, .flags = SCAN_WALKED, .count = 5, .sum = 99);
	IS(last_visited(&f), 5);		/* the walk counts, but tells not who */
	SCAN(&f, .ts = 40, .dur = 1, .tid = TID);
	IS(last_visited(&f), WAITERS_UNKNOWN);
	IS(mismatches(&f), 0);
	feed_release(&f);
}

static void a_walk_that_finds_nobody_begins_a_list_too(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, D);
	SCAN(&f, .ts = 20, .dur = 1, .tid = TID, .flags = SCAN_WALKED | SCAN_BASE);
	IS(last_visited(&f), 0);
	releases(&f, 25, A, ON_LIST);
	SCAN(&f, .ts = 30, .dur = 1, .tid = TID);
	IS(last_visited(&f), 1);
	feed_release(&f);
}

static void the_list_is_kept_from_releases(void **s)
{
	struct feed f;

	(void)s;
	feed_list(&f);
	releases(&f, 30, C, ON_LIST);		/* it blocks in IO */
	SCAN(&f, .ts = 40, .dur = 1, .tid = TID);
	IS(last_visited(&f), 3);
	releases(&f, 50, A, RELEASED);		/* its IO is over, now it sleeps */
	SCAN(&f, .ts = 60, .dur = 1, .tid = TID);
	IS(last_visited(&f), 2);
	owner(&f, 70, B, EMPTY);		/* who has the lock does not wait */
	SCAN(&f, .ts = 80, .dur = 1, .tid = TID);
	IS(last_visited(&f), 1);
	SCAN(&f, .ts = 90, .dur = 1, .tid = TID, .flags = SCAN_WALKED, .count = 1, .sum = C);
	IS(mismatches(&f), 0);
	IS(f.p.targets[0]->waiters.walks, 1);
	feed_release(&f);
}

static void a_walk_that_finds_others_is_a_mismatch(void **s)
{
	struct feed f;

	(void)s;
	feed_list(&f);
	SCAN(&f, .ts = 30, .dur = 1, .tid = TID, .flags = SCAN_WALKED, .count = 2, .sum = A + B);
	IS(mismatches(&f), 0);
	SCAN(&f, .ts = 40, .dur = 1, .tid = TID, .flags = SCAN_WALKED, .count = 2, .sum = A + C);
	IS(mismatches(&f), 1);
	SCAN(&f, .ts = 50, .dur = 1, .tid = TID, .flags = SCAN_WALKED, .count = 3, .sum = A + B);
	IS(mismatches(&f), 2);
	IS(last_visited(&f), 3);		/* a walk knows better */
	SCAN(&f, .ts = 60, .dur = 1, .tid = TID, .flags = SCAN_WALKED | SCAN_TRUNCATED, .count = 9);
	IS(mismatches(&f), 2);
	IS(last_visited(&f), 2);
	feed_release(&f);
}

static void a_scan_visits_those_that_it_takes_from_the_list(void **s)
{
	struct feed f;

	(void)s;
	feed_list(&f);
	matched(&f, A);
	SCAN(&f, .ts = 30, .dur = 1, .tid = TID, .nr = 1);
	IS(last_visited(&f), 2);
	SCAN(&f, .ts = 40, .dur = 1, .tid = TID);
	IS(last_visited(&f), 1);
	matched(&f, B);
	SCAN(&f, .ts = 50, .dur = 1, .tid = TID, .nr = 1, .flags = SCAN_WALKED, .count = 1, .sum = B);
	IS(mismatches(&f), 0);
	SCAN(&f, .ts = 60, .dur = 1, .tid = TID, .flags = SCAN_WALKED);
	IS(last_visited(&f), 0);
	IS(mismatches(&f), 0);
	IS(f.p.closes.matched.sum, 2);
	feed_release(&f);
}

static void a_walk_that_begins_the_list_has_those_that_match(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, D);
	listed(&f, 0, A);
	listed(&f, 1, B);
	matched(&f, B);
	SCAN(&f, .ts = 20, .dur = 1, .tid = TID, .nr = 1, .flags = SCAN_WALKED | SCAN_BASE,
	     .count = 2, .sum = A + B);
	IS(last_visited(&f), 2);
	SCAN(&f, .ts = 30, .dur = 1, .tid = TID);
	IS(last_visited(&f), 1);
	feed_release(&f);
}

static void a_walk_of_which_events_are_missing_begins_no_list(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, D);
	listed(&f, 0, A);
	SCAN(&f, .ts = 20, .dur = 1, .tid = TID, .flags = SCAN_WALKED | SCAN_BASE, .count = 2,
	     .sum = A + B);
	IS(last_visited(&f), 2);
	SCAN(&f, .ts = 30, .dur = 1, .tid = TID);
	IS(last_visited(&f), WAITERS_UNKNOWN);
	listed(&f, 0, A);
	listed(&f, 1, B);
	SCAN(&f, .ts = 40, .dur = 1, .tid = TID, .flags = SCAN_WALKED | SCAN_BASE | SCAN_TRUNCATED,
	     .count = 2, .sum = A + B);
	IS(last_visited(&f), WAITERS_UNKNOWN);
	feed_release(&f);
}

static void after_lost_events_the_list_is_not_known(void **s)
{
	struct feed f;

	(void)s;
	feed_list(&f);
	lose(&f, 3);
	owner(&f, 30, D, EMPTY);
	SCAN(&f, .ts = 40, .dur = 1, .tid = TID);
	IS(last_visited(&f), WAITERS_UNKNOWN);
	listed(&f, 0, C);
	SCAN(&f, .ts = 50, .dur = 1, .tid = TID, .flags = SCAN_WALKED | SCAN_BASE, .count = 1,
	     .sum = C);
	SCAN(&f, .ts = 60, .dur = 1, .tid = TID);
	IS(last_visited(&f), 1);
	end(&f, 70);				/* a window of the budget ends */
	state(&f, 80, D);
	SCAN(&f, .ts = 90, .dur = 1, .tid = TID);
	IS(last_visited(&f), WAITERS_UNKNOWN);
	IS(mismatches(&f), 0);
	feed_release(&f);
}

static void each_process_has_its_own_list(void **s)
{
	struct feed f;

	(void)s;
	feed_list(&f);
	f.target = f.lock = 1;
	state(&f, 30, D);
	SCAN(&f, .ts = 40, .dur = 1, .tid = TID);
	IS(last_visited(&f), WAITERS_UNKNOWN);
	f.target = f.lock = 0;
	SCAN(&f, .ts = 50, .dur = 1, .tid = TID);
	IS(last_visited(&f), 2);
	feed_release(&f);
}

static void the_list_of_an_io_tells_itself(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, D);
	matched(&f, A);
	matched(&f, B);
	SCAN(&f, .ts = 20, .dur = 1, .tid = TID, .nr = 2, .flags = SCAN_PER_IO | SCAN_WALKED,
	     .count = 3, .sum = A + B + C);
	IS(last_visited(&f), 3);
	SCAN(&f, .ts = 30, .tid = TID, .flags = SCAN_PER_IO | SCAN_WALKED | SCAN_UNTIMED);
	IS(last_visited(&f), 0);
	IS(f.p.closes.per_io, 2);
	IS(f.p.closes.count, 2);
	IS(f.p.closes.scan.count, 1);		/* the other was not timed */
	IS(f.p.closes.visited_unknown, 0);
	IS(mismatches(&f), 0);
	SCAN(&f, .ts = 40, .dur = 1, .tid = TID, .count = 9,
	     .flags = SCAN_PER_IO | SCAN_WALKED | SCAN_TRUNCATED);
	IS(last_visited(&f), WAITERS_UNKNOWN);
	feed_release(&f);
}

static void a_close_is_scan_wait_and_call(void **s)
{
	struct feed f;
	const struct closes *c = &f.p.closes;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 1, D);
	SCAN(&f, .ts = 100, .dur = 20, .tid = TID, .fd = FD, .nr = 1);
	call_close(&f, 150, 7, TID, FD, CLOSE_HELD);
	SCAN(&f, .ts = 200, .dur = 10, .tid = TID, .fd = FD);		/* nobody is interrupted */
	call_close(&f, 215, 3, TID, FD, 0);
	end(&f, 300);
	feed_lock(&f);
	IS(c->count, 2);
	IS(c->scan.sum, 30);
	IS(c->wait.sum, 30);
	IS(c->wait.count, 2);
	IS(c->call.sum, 10);
	IS(c->held_ns, 7);
	IS(c->other_ns, 5);
	IS(c->total.sum, 75);
	IS(c->total.max, 57);
	IS(c->total.sum, c->scan.sum + c->wait.sum + c->call.sum + c->other_ns);
	IS(c->orphans, 0);
	IS(c->unfinished, 0);
	IS(c->worst[0].start_ns, 100);
	IS(c->worst[0].wait_ns, 30);
	IS(c->worst[0].thread, D);
	IS(c->worst[1].total_ns, 18);
	feed_release(&f);
}

static void parts_of_closes_in_several_tasks_are_not_mixed(void **s)
{
	struct feed f;
	const struct closes *c = &f.p.closes;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 1, D);
	SCAN(&f, .ts = 100, .dur = 10, .tid = TID, .fd = FD);
	SCAN(&f, .ts = 120, .dur = 10, .tid = TID + 1, .fd = FD);
	f.target = 1;
	SCAN(&f, .ts = 140, .dur = 10, .tid = TID, .fd = FD);
	call_close(&f, 150, 5, TID, FD, 0);
	f.target = 0;
	call_close(&f, 160, 5, TID + 1, FD, 0);
	call_close(&f, 170, 5, TID, FD, 0);
	feed_lock(&f);
	IS(c->total.count, 3);
	IS(c->total.min, 15);
	IS(c->total.max, 75);
	IS(c->total.sum, 15 + 45 + 75);
	IS(c->orphans, 0);
	feed_release(&f);
}

static void a_call_on_another_descriptor_ends_no_close(void **s)
{
	struct feed f;
	const struct closes *c = &f.p.closes;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 1, D);
	call_close(&f, 90, 5, TID, FD, 0);		/* File.open's, say: no scan before it */
	SCAN(&f, .ts = 100, .dur = 10, .tid = TID, .fd = FD);
	call_close(&f, 120, 5, TID, FD + 1, CLOSE_HELD);
	call_close(&f, 130, 5, TID, FD, 0);
	call_close(&f, 140, 5, TID, FD, CLOSE_HELD);
	feed_lock(&f);
	IS(c->call.count, 1);
	IS(c->held_ns, 0);
	IS(c->total.sum, 35);
	feed_release(&f);
}

static void a_close_left_by_an_exception_is_an_orphan(void **s)
{
	struct feed f;
	const struct closes *c = &f.p.closes;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 1, D);
	SCAN(&f, .ts = 100, .dur = 10, .tid = TID, .fd = FD, .nr = 1);
	SCAN(&f, .ts = 500, .dur = 20, .tid = TID, .fd = FD);		/* so the first was left */
	call_close(&f, 530, 5, TID, FD, 0);
	SCAN(&f, .ts = 600, .dur = 10, .tid = TID + 1, .fd = FD, .nr = 1);
	feed_text(&f, EVENT_EXIT, 0, TID + 1, "ended");
	SCAN(&f, .ts = 700, .dur = 10, .tid = TID, .fd = FD, .nr = 1);
	feed_lock(&f);
	IS(c->orphans, 2);
	IS(c->unfinished, 1);
	IS(c->count, 4);
	IS(c->scan.sum, 50);
	IS(c->total.count, 1);
	IS(c->total.sum, 35);
	IS(c->wait.sum, 0);
	IS(c->nr_worst, 1);
	feed_release(&f);
}

static void what_needs_no_call_is_no_orphan(void **s)
{
	struct feed f;
	const struct closes *c = &f.p.closes;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 1, D);
	for (int fd = 0; fd < 3; fd++)
		SCAN(&f, .ts = 100, .dur = 10, .tid = TID, .fd = fd);
	SCAN(&f, .ts = 200, .dur = 30, .tid = TID, .fd = FD, .flags = SCAN_ALONE);
	SCAN(&f, .ts = 300, .dur = 20, .tid = TID, .fd = FD, .flags = SCAN_ALONE);
	feed_text(&f, EVENT_EXIT, 0, TID, "ended");
	SCAN(&f, .ts = 400, .dur = 5, .tid = TID, .fd = FD, .flags = SCAN_ALONE);
	feed_lock(&f);
	IS(c->orphans, 0);
	IS(c->unfinished, 0);
	IS(c->count, 6);
	IS(c->scan.sum, 85);
	IS(c->total.count, 0);
	IS(c->nr_worst, 6);
	IS(c->worst[0].total_ns, 30);
	feed_release(&f);
}

static void a_close_is_where_its_scan_begins(void **s)
{
	struct feed f;
	const struct closes *c = &f.p.closes;

	(void)s;
	feed_init(&f, (struct lock_window){ 100, 200 });
	state(&f, 1, D);
	SCAN(&f, .ts = 99, .dur = 10, .tid = TID, .fd = FD);		/* begins before it */
	call_close(&f, 120, 5, TID, FD, CLOSE_HELD);
	SCAN(&f, .ts = 130, .dur = 10, .tid = TID, .fd = FD);
	call_close(&f, 150, 5, TID, FD, CLOSE_HELD);
	SCAN(&f, .ts = 199, .dur = 10, .tid = TID, .fd = FD);		/* ends behind it */
	call_close(&f, 220, 5, TID, FD, CLOSE_HELD);
	SCAN(&f, .ts = 200, .dur = 10, .tid = TID, .fd = FD);
	SCAN(&f, .ts = 210, .dur = 10, .tid = TID, .fd = FD);		/* an orphan outside */
	foreign(&f, 99, "a.rb:1", "b.rb:2");
	foreign(&f, 100, "a.rb:1", "b.rb:2");
	foreign(&f, 200, "a.rb:1", "b.rb:2");
	feed_lock(&f);
	IS(c->count, 2);
	IS(c->scan.sum, 20);
	IS(c->total.sum, 25 + 26);
	IS(c->held_ns, 10);
	IS(c->other_ns, 10 + 11);
	IS(c->nr_worst, 2);
	IS(c->orphans, 0);
	IS(c->unfinished, 0);
	IS(c->foreign, 1);
	feed_release(&f);
}

static void the_worst_closes_come_in_order(void **s)
{
	static const uint64_t ns[] = { 50, 10, 90, 20, 80, 30, 70, 40, 60, 100, 5, 95 };
	static const uint64_t want[CLOSES_WORST] = { 100, 95, 90, 80, 70, 60, 50, 40 };
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 1, D);
	for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++) {
		SCAN(&f, .ts = 1000 * (i + 1), .dur = 1, .tid = TID, .fd = 10 + i);
		call_close(&f, 1000 * (i + 1) + 1, ns[i] - 1, TID, 10 + i, 0);
	}
	feed_lock(&f);
	IS(f.p.closes.nr_worst, CLOSES_WORST);
	for (size_t i = 0; i < CLOSES_WORST; i++)
		IS(f.p.closes.worst[i].total_ns, want[i]);
	IS(f.p.closes.worst[0].fd, 19);
	feed_release(&f);
}

static void foreign_waiters_are_counted_by_both_places(void **s)
{
	struct feed f;
	const struct closes *c = &f.p.closes;
	char name[32];

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 1, D);
	foreign(&f, 10, "a.rb:1", "b.rb:2");
	foreign(&f, 20, "a.rb:1", "b.rb:3");
	foreign(&f, 30, "a.rb:1", "b.rb:2");
	foreign(&f, 40, "a.rb:9", "b.rb:2");
	IS(c->foreign, 4);
	IS(c->nr_places, 3);
	assert_string_equal(c->places[0].closer, "a.rb:1");
	assert_string_equal(c->places[0].waiter, "b.rb:2");
	IS(c->places[0].count, 2);
	assert_string_equal(c->places[2].closer, "a.rb:9");
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "c.rb:%d", i);
		foreign(&f, 50, name, "?");
	}
	IS(c->foreign, 104);
	assert_true(c->nr_places > CLOSES_PLACES);
	foreign(&f, 60, "a.rb:1", "b.rb:2");
	IS(c->places[0].count, 3);
	feed_lock(&f);
	feed_release(&f);
}

static const struct block_group *group(const struct feed *f, uint32_t nr, enum file_kind file)
{
	const struct blocks *b = &f->p.blocks;

	for (size_t i = 0; i < b->nr_groups; i++)
		if (b->groups[i].call == nr && b->groups[i].file == file)
			return &b->groups[i];
	fail_msg("no group of call %u on file kind %d", nr, file);
	return NULL;
}

static uint64_t nr_regions(const struct feed *f)
{
	uint64_t nr_short;
	struct dist all;

	assert_int_equal(blocks_sum(&f->p.blocks, &all, &nr_short), 0);
	nr_short = all.count;
	dist_release(&all);
	return nr_short;
}

static void a_region_ends_when_its_thread_wants_the_lock(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	owner(&f, 100, B, RELEASED);		/* A releases */
	call(&f, A, READ, FILE_PIPE);
	queue(&f, 300, A);
	owner(&f, 350, A, EMPTY);		/* B was preempted, say */
	owner(&f, 400, 0, RELEASED);
	call(&f, A, READ, FILE_PIPE);
	owner(&f, 450, A, EMPTY);		/* at once */
	feed_lock(&f);
	IS(f.p.blocks.nr_groups, 1);
	IS(group(&f, READ, FILE_PIPE)->ns.count, 2);
	IS(group(&f, READ, FILE_PIPE)->ns.max, 200);
	IS(group(&f, READ, FILE_PIPE)->ns.sum, 250);
	IS(f.p.blocks.wait_ns, 50);
	feed_release(&f);
}

static void preemption_is_no_region(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	owner(&f, 100, B, 0);
	queue(&f, 110, A);
	call(&f, A, READ, FILE_PIPE);
	owner(&f, 200, A, 0);
	queue(&f, 210, B);
	owner(&f, 300, B, EMPTY);
	feed_lock(&f);
	IS(nr_regions(&f), 0);
	IS(f.p.blocks.wait_ns, 0);
	feed_release(&f);
}

static void a_region_without_a_call_only_computed(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	call(&f, A, READ, FILE_PIPE);		/* with the lock: not of the region */
	owner(&f, 100, 0, RELEASED);
	owner(&f, 300, A, EMPTY);
	feed_lock(&f);
	IS(group(&f, BLOCK_NO_CALL, FILE_NONE)->ns.sum, 200);
	feed_release(&f);
}

static void a_later_call_says_more(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	owner(&f, 100, 0, RELEASED);
	call(&f, A, FUTEX, FILE_NONE);
	call(&f, A, READ, FILE_SOCKET);
	owner(&f, 300, A, EMPTY);
	owner(&f, 400, 0, RELEASED);
	call(&f, A, READ, FILE_KIND_END);	/* of a later version of the format */
	owner(&f, 500, A, EMPTY);
	feed_lock(&f);
	IS(f.p.blocks.nr_groups, 2);
	IS(group(&f, READ, FILE_SOCKET)->ns.count, 1);
	IS(group(&f, READ, FILE_NONE)->ns.count, 1);
	feed_release(&f);
}

static void a_region_has_the_function_that_it_runs(void **s)
{
	const struct block_group *g;
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	runs(&f, 0x500, "read_internal");
	owner(&f, 100, 0, RELEASED);
	call(&f, A, READ, FILE_PIPE);
	owner(&f, 300, A, EMPTY);
	owner(&f, 400, 0, RELEASED);		/* of its own, not the last one's */
	call(&f, A, READ, FILE_PIPE);
	owner(&f, 500, A, EMPTY);
	feed_lock(&f);
	IS(f.p.blocks.nr_groups, 2);
	g = &f.p.blocks.groups[0];
	IS(g->ns.sum, 200);
	assert_string_equal(profile_function(&f.p, g->function), "read_internal");
	assert_null(profile_function(&f.p, f.p.blocks.groups[1].function));
	feed_release(&f);
}

static void short_regions_are_those_below_ten_microseconds(void **s)
{
	static const uint64_t ns[] = { 1, 9999, 10000, 10001 };
	struct feed f;
	uint64_t t = 1000;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++, t += 100000) {
		owner(&f, t, 0, RELEASED);
		owner(&f, t + ns[i], A, EMPTY);
	}
	feed_lock(&f);
	IS(group(&f, BLOCK_NO_CALL, FILE_NONE)->ns.count, 4);
	IS(group(&f, BLOCK_NO_CALL, FILE_NONE)->is_short, 2);
	feed_release(&f);
}

static void a_region_is_where_it_ends(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, (struct lock_window){ 1000, 2000 });
	state(&f, 10, A);
	owner(&f, 100, 0, RELEASED);
	owner(&f, 900, A, EMPTY);
	owner(&f, 950, 0, RELEASED);		/* 100 of it are in the window */
	owner(&f, 1100, A, EMPTY);
	owner(&f, 1200, B, RELEASED);
	queue(&f, 1900, A);
	owner(&f, 2500, A, EMPTY);		/* waits for 100 in the window */
	owner(&f, 2600, 0, RELEASED);
	owner(&f, 2700, A, EMPTY);
	feed_lock(&f);
	IS(nr_regions(&f), 2);
	IS(group(&f, BLOCK_NO_CALL, FILE_NONE)->ns.sum, 100 + 700);
	IS(f.p.blocks.wait_ns, 100);
	feed_release(&f);
}

static void a_region_with_lost_events_in_it_does_not_count(void **s)
{
	struct feed f;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	owner(&f, 100, 0, RELEASED);
	lose(&f, 2);
	owner(&f, 300, A, EMPTY);
	owner(&f, 400, 0, RELEASED);
	end(&f, 450);
	state(&f, 500, 0);
	owner(&f, 600, A, EMPTY);
	owner(&f, 700, 0, RELEASED);		/* has not ended */
	feed_lock(&f);
	IS(nr_regions(&f), 0);
	feed_release(&f);
}

static void groups_come_by_time(void **s)
{
	static const uint64_t ns[] = { 100, 300, 200 };
	const struct block_group **groups;
	struct feed f;
	uint64_t t = 1000;

	(void)s;
	feed_init(&f, WHOLE);
	state(&f, 10, A);
	for (uint32_t i = 0; i < 3; i++, t += 1000) {
		owner(&f, t, 0, RELEASED);
		call(&f, A, i, FILE_FILE);
		owner(&f, t + ns[i], A, EMPTY);
	}
	feed_lock(&f);
	groups = blocks_sorted(&f.p.blocks);
	assert_non_null(groups);
	IS(groups[0]->ns.sum, 300);
	IS(groups[1]->ns.sum, 200);
	IS(groups[2]->ns.sum, 100);
	free(groups);
	feed_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_of_waiters_has_each_once),
		cmocka_unit_test(nothing_is_known_of_the_list_before_a_walk),
		cmocka_unit_test(a_walk_that_finds_nobody_begins_a_list_too),
		cmocka_unit_test(the_list_is_kept_from_releases),
		cmocka_unit_test(a_walk_that_finds_others_is_a_mismatch),
		cmocka_unit_test(a_scan_visits_those_that_it_takes_from_the_list),
		cmocka_unit_test(a_walk_that_begins_the_list_has_those_that_match),
		cmocka_unit_test(a_walk_of_which_events_are_missing_begins_no_list),
		cmocka_unit_test(after_lost_events_the_list_is_not_known),
		cmocka_unit_test(each_process_has_its_own_list),
		cmocka_unit_test(the_list_of_an_io_tells_itself),
		cmocka_unit_test(a_close_is_scan_wait_and_call),
		cmocka_unit_test(parts_of_closes_in_several_tasks_are_not_mixed),
		cmocka_unit_test(a_call_on_another_descriptor_ends_no_close),
		cmocka_unit_test(a_close_left_by_an_exception_is_an_orphan),
		cmocka_unit_test(what_needs_no_call_is_no_orphan),
		cmocka_unit_test(a_close_is_where_its_scan_begins),
		cmocka_unit_test(the_worst_closes_come_in_order),
		cmocka_unit_test(foreign_waiters_are_counted_by_both_places),
		cmocka_unit_test(a_region_ends_when_its_thread_wants_the_lock),
		cmocka_unit_test(preemption_is_no_region),
		cmocka_unit_test(a_region_without_a_call_only_computed),
		cmocka_unit_test(a_later_call_says_more),
		cmocka_unit_test(a_region_has_the_function_that_it_runs),
		cmocka_unit_test(short_regions_are_those_below_ten_microseconds),
		cmocka_unit_test(a_region_is_where_it_ends),
		cmocka_unit_test(a_region_with_lost_events_in_it_does_not_count),
		cmocka_unit_test(groups_come_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
