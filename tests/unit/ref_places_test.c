// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/places.h"

#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ref/crew.h"

static void processors_are_taken_in_the_order_of_their_appearance(void **state)
{
	struct places p = { 0 };

	(void)state;
	for (size_t i = 0; i < 6; i++)
		places_add(&p, ((const uint16_t[]){ 8, 3, 8, 0, 1, 3 })[i]);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(places_on(&p, i, 4), ((const int[]){ 0, 1, 0, -1, 2, 1, -1 })[i]);
		assert_int_equal(places_on(&p, i, 2), ((const int[]){ 0, 1, 0, -1, 0, 1, -1 })[i]);
	}
}

static void more_threads_than_there_is_room_for_are_left_out(void **state)
{
	struct places p = { 0 };

	(void)state;
	for (int i = 0; i < 2 * PLACES_MAX; i++)
		places_add(&p, 1);
	assert_int_equal(p.nr, PLACES_MAX);
	assert_int_equal(places_on(&p, PLACES_MAX, 2), -1);
}

/* So many bursts, told apart by their processor. */
static void kept_evenly(uint32_t nr, uint32_t want, uint32_t step)
{
	struct placements *all = calloc(1, sizeof(*all));

	assert_non_null(all);
	for (uint32_t i = 0; i < nr; i++) {
		struct places p = { 0 };

		places_add(&p, i);
		placements_add(all, &p);
	}
	assert_int_equal(all->nr, want);
	for (uint32_t i = 0; i < all->nr; i++)
		assert_int_equal(all->at[i].cpus[0], i * step);
	free(all);
}

static void of_many_bursts_every_so_many_are_kept(void **state)
{
	(void)state;
	kept_evenly(1, 1, 1);
	kept_evenly(PLACEMENTS_MAX, PLACEMENTS_MAX, 1);
	kept_evenly(PLACEMENTS_MAX + 1, PLACEMENTS_MAX / 2 + 1, 2);
	kept_evenly(2 * PLACEMENTS_MAX, PLACEMENTS_MAX, 2);
	kept_evenly(10 * PLACEMENTS_MAX, PLACEMENTS_MAX * 10 / 16, 16);
}

/* The processor that another thread of ours last ran on: proc(5), "processor" of stat. */
static int cpu_of(int tid)
{
	char path[64], text[1024];
	const char *at = text;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	at = strrchr(text, ')');
	for (int field = 2; field < 39; field++) {
		at = strchr(at + 1, ' ');
		assert_non_null(at);
	}
	return atoi(at);
}

/* How many threads sleep on each processor: those that started after @last. Returns the last one. */
static int count_sleepers(uint32_t on[CPU_SETSIZE], int last)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	int newest = last;

	memset(on, 0, CPU_SETSIZE * sizeof(*on));
	assert_non_null(tasks);
	while ((entry = readdir(tasks))) {
		int tid = atoi(entry->d_name);

		if (tid <= last)
			continue;
		on[cpu_of(tid)]++;
		newest = tid > newest ? tid : newest;
	}
	closedir(tasks);
	return newest;
}

static void check_affinity(void *arg, struct ref_thread *me)
{
	uint32_t *nr = arg;
	cpu_set_t set;

	(void)me;
	if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 1)
		++*nr;
}

static void a_crew_begins_where_it_is_put_and_then_may_run_anywhere(void **state)
{
	struct places p = { .nr = 5, .cpus = { 7, 7, 2, 7, 2 } };
	uint32_t on[CPU_SETSIZE], nr = 0, first = CPU_SETSIZE, second = CPU_SETSIZE;
	struct ref_thread me;
	struct ref_lock l;
	int last;
	struct crew crew;
	struct err e;
	cpu_set_t set;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	if (CPU_COUNT(&set) < 2)
		skip();
	for (uint32_t cpu = CPU_SETSIZE; cpu-- > 0;) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		second = first;
		first = cpu;
	}
	assert_int_equal(ref_lock_init(&l, REF_LOCK_33, REF_QUANTUM_NS), 0);
	ref_thread_init(&me, &l);
	ref_lock_acquire(&l, &me);
	last = count_sleepers(on, 0);
	assert_int_equal(crew_start_at(&crew, &p, &l, 5, check_affinity, &nr, 0, &e), 0);
	count_sleepers(on, last);
	assert_int_equal(on[first], 3);
	assert_int_equal(on[second], 2);
	ref_lock_drop(&l, &me);
	crew_join(&crew);
	assert_int_equal(nr, 5);
	ref_thread_destroy(&me);
	ref_lock_destroy(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processors_are_taken_in_the_order_of_their_appearance),
		cmocka_unit_test(more_threads_than_there_is_room_for_are_left_out),
		cmocka_unit_test(of_many_bursts_every_so_many_are_kept),
		cmocka_unit_test(a_crew_begins_where_it_is_put_and_then_may_run_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
