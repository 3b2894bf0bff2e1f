// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The BPF programs themselves, compiled natively, against a kernel that is played here. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"

#define __TARGET_ARCH_x86
#include "bpf/lock.bpf.c"

#undef NULL
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/stub/kernel.h"

/* Ruby's structures, as far as the programs read them; offsets as in the configuration below. */
struct fake_thread;
static struct fake_ractor {
	uint64_t mutex[5];
	struct fake_thread *owner;
	uint64_t flags;
	void *queue[2];		/* next, prev */
} ractor, newborn;
static struct fake_thread {
	struct fake_ractor *ractor;
	void *node[2];
	uint32_t tid;
} thread_a = { .ractor = &ractor, .tid = THREAD_A }, thread_b = { .ractor = &ractor, .tid = THREAD_B };

static int setup(void **state)
{
	uint32_t tgid = TGID, id = 0;
	struct lock_key key = { .addr = (uintptr_t)&ractor.owner, .tgid = TGID };
	struct target_cfg cfg = {
		.source = SOURCE_SITES, .generation = 3,
		.queue = offsetof(struct fake_ractor, queue) - offsetof(struct fake_ractor, owner),
		.thread_queue_node = offsetof(struct fake_thread, node),
		.thread_native = -1, .native_tid = -1,
		.thread_tid = offsetof(struct fake_thread, tid),
		.thread_ractor = offsetof(struct fake_thread, ractor),
		.ractor_owner = offsetof(struct fake_ractor, owner),
		.lock = 0, .lock_addr = key.addr,
	};
	struct lock_state fresh = {
		.addr = key.addr, .owner = OWNER_UNKNOWN, .tgid = TGID,
	};

	(void)state;
	world_clear();
	ractor.owner = NULL;
	ractor.queue[0] = ractor.queue[1] = ractor.queue;
	bpf_map_update_elem(&targets, &tgid, &cfg, BPF_ANY);
	bpf_map_update_elem(&lock_ids, &key, &id, BPF_ANY);
	bpf_map_update_elem(&locks, &id, &fresh, BPF_ANY);
	nr_locks = 1;
	return 0;
}

static struct lock_state *lock(uint32_t id)
{
	return bpf_map_lookup_elem(&locks, &id);
}

/* Task @tid makes @owner the owner of @r; the probe stands behind the store. */
static void own(struct fake_ractor *r, struct fake_thread *owner, uint32_t tid)
{
	struct pt_regs regs = { .bx = (uintptr_t)r };

	world.tid = tid;
	world.now += 10;
	world.cookie = SITE_COOKIE_PLACED(SITE_COOKIE(offsetof(struct pt_regs, bx) / 8,
						      SITE_VALUE_MEMORY, WORD_OWNER,
						      offsetof(struct fake_ractor, owner)), 7, 3);
	r->owner = owner;
	site_hit(&regs);
}

/* @th queues; the probe is on the store itself, which has the new tail in rsi. */
static void queue(struct fake_thread *th)
{
	struct pt_regs regs = { .di = (uintptr_t)ractor.queue, .si = (uintptr_t)th->node };

	world.tid = th->tid;
	world.now += 10;
	world.cookie = SITE_COOKIE_PLACED(SITE_COOKIE(offsetof(struct pt_regs, di) / 8,
						      offsetof(struct pt_regs, si) / 8,
						      WORD_QUEUE, 8), 8, 3);
	site_hit(&regs);
	ractor.queue[0] = ractor.queue[1] = th->node;
}

static void an_owner_change_is_told_with_its_number(void **state)
{
	(void)state;
	own(&ractor, &thread_a, THREAD_A);
	assert_int_equal(last()->kind, EVENT_OWNER);
	assert_int_equal(last()->thread, (uintptr_t)&thread_a);
	assert_int_equal(last()->seq, 1);
	assert_int_equal(last()->tid, THREAD_A);
	assert_int_equal(last()->ts_ns, 10);
	assert_int_equal(last()->flags, EVENT_QUEUE_EMPTY);
	own(&ractor, NULL, THREAD_A);
	assert_int_equal(last()->thread, 0);
	assert_int_equal(last()->seq, 2);
}

static void an_owner_that_is_named_before_it_runs_is_off_the_cpu(void **state)
{
	struct task_struct task = { .pid = THREAD_B, .tgid = TGID }, other = { .tgid = 1 };

	(void)state;
	own(&ractor, &thread_a, THREAD_A);
	queue(&thread_b);
	sched_switch(false, &task, &other);
	own(&ractor, &thread_b, THREAD_A);
	assert_int_equal(last()->flags, EVENT_OWNER_OFF_CPU);
	sched_switch(false, &other, &task);
	assert_int_equal(last()->kind, EVENT_ON_CPU);
	assert_int_equal(last()->tid, THREAD_B);
	sched_switch(true, &task, &other);
	assert_int_equal(last()->kind, EVENT_OFF_CPU);
	assert_int_equal(last()->flags, EVENT_PREEMPTED);
}

static void a_switch_that_was_not_told_is_dated_by_the_cpu_time(void **state)
{
	struct task_struct task = { .pid = THREAD_A, .tgid = TGID, .se = { 500 } }, other = { .tgid = 1 };

	(void)state;
	own(&ractor, &thread_a, THREAD_A);
	sched_switch(true, &task, &other);
	world.now = 1000;
	task.se.sum_exec_runtime = 700;
	sched_switch(true, &task, &other);
	assert_int_equal(world.nr_records, 4);
	assert_int_equal(world.records[2].rec.kind, EVENT_ON_CPU);
	assert_int_equal(world.records[2].rec.ts_ns, 800);
	assert_int_equal(last()->kind, EVENT_OFF_CPU);

	world.current.se.sum_exec_runtime = 710;
	own(&ractor, NULL, THREAD_A);	/* it runs again */
	assert_int_equal(world.nr_records, 6);
	assert_int_equal(world.records[4].rec.kind, EVENT_ON_CPU);
	assert_int_equal(world.records[4].rec.ts_ns, 1000);
	assert_int_equal(last()->kind, EVENT_OWNER);
}

static void switches_of_who_does_not_own_are_not_told(void **state)
{
	struct task_struct task = { .pid = THREAD_B, .tgid = TGID }, other = { .tgid = 1 };

	(void)state;
	own(&ractor, &thread_b, THREAD_B);
	own(&ractor, NULL, THREAD_B);
	world.nr_records = 0;
	sched_switch(false, &task, &other);
	sched_switch(false, &other, &task);
	assert_int_equal(world.nr_records, 0);
	own(&ractor, &thread_b, THREAD_A);	/* but it is known that it runs */
	assert_int_equal(last()->flags & EVENT_OWNER_OFF_CPU, 0);
}

static void the_same_owner_again_is_no_event_but_is_counted(void **state)
{
	(void)state;
	own(&ractor, &thread_a, THREAD_A);
	own(&ractor, &thread_a, THREAD_A);
	assert_int_equal(world.nr_records, 1);
	assert_int_equal(lock(0)->same, 1);
	assert_int_equal(lock(0)->seq, 1);
}

static void an_owner_read_from_memory_meets_its_event_without_harm(void **state)
{
	(void)state;
	lock(0)->owner = (uintptr_t)&thread_a;
	lock(0)->from_memory = 1;
	own(&ractor, &thread_a, THREAD_A);
	assert_int_equal(world.nr_records, 0);
	assert_int_equal(lock(0)->same, 0);
	own(&ractor, &thread_a, THREAD_A);
	assert_int_equal(lock(0)->same, 1);
}

static void a_full_ring_leaves_a_step_in_the_numbers(void **state)
{
	uint32_t stat = STAT_LOST_RING;

	(void)state;
	own(&ractor, &thread_a, THREAD_A);
	world.ring_is_full = true;
	own(&ractor, NULL, THREAD_A);
	queue(&thread_b);
	world.ring_is_full = false;
	own(&ractor, &thread_b, THREAD_B);
	assert_int_equal(last()->seq, 4);
	assert_int_equal(*(uint64_t *)bpf_map_lookup_elem(&stats, &stat), 2);
}

static void a_queue_entry_names_the_thread_and_the_last_ones_leaving_is_none(void **state)
{
	struct pt_regs regs = { .di = (uintptr_t)ractor.queue, .si = (uintptr_t)ractor.queue };

	(void)state;
	own(&ractor, &thread_a, THREAD_A);
	queue(&thread_b);
	assert_int_equal(last()->kind, EVENT_QUEUE);
	assert_int_equal(last()->thread, (uintptr_t)&thread_b);
	assert_int_equal(last()->seq, 2);
	site_hit(&regs);	/* the tail is the head again */
	assert_int_equal(world.nr_records, 2);
}

static void another_structures_store_is_no_event(void **state)
{
	struct fake_ractor elsewhere = { .queue = { elsewhere.queue, elsewhere.queue } };
	struct fake_thread stranger = { .ractor = &ractor };
	uint32_t site = 7;

	(void)state;
	own(&elsewhere, &stranger, THREAD_A);	/* its owner belongs to another */
	own(&elsewhere, NULL, THREAD_A);
	assert_int_equal(world.nr_records, 0);
	assert_int_equal(((struct site_count *)bpf_map_lookup_elem(&site_counts, &site))->hits, 2);
	assert_int_equal(((struct site_count *)bpf_map_lookup_elem(&site_counts, &site))->matched, 0);
}

static void a_ractor_is_found_by_its_first_owner(void **state)
{
	struct fake_thread first = { .ractor = &newborn, .tid = 200 };

	(void)state;
	newborn.queue[0] = newborn.queue[1] = newborn.queue;
	own(&newborn, &first, 200);
	assert_int_equal(last()->lock, 1);
	assert_int_equal(last()->seq, 1);
	assert_int_equal(lock(1)->addr, (uintptr_t)&newborn.owner);
	own(&newborn, NULL, 200);
	assert_int_equal(last()->lock, 1);
	assert_int_equal(last()->seq, 2);
}

static void only_the_generation_in_use_counts(void **state)
{
	uint32_t tgid = TGID;
	struct target_cfg *cfg = bpf_map_lookup_elem(&targets, &tgid);

	(void)state;
	cfg->generation = 4;
	own(&ractor, &thread_a, THREAD_A);
	assert_int_equal(world.nr_records, 0);
	cfg->generation = 3;
	cfg->source = SOURCE_WATCH;
	own(&ractor, &thread_a, THREAD_A);
	assert_int_equal(world.nr_records, 0);
}

static void a_watchpoints_hit_tells_and_teaches(void **state)
{
	struct bpf_perf_event_data ctx = { .regs.ip = 0x1234, .addr = (uintptr_t)&ractor.owner };
	struct writer_key key = { .ip = 0x1234, .tgid = TGID, .word = WORD_OWNER };
	uint32_t tgid = TGID;

	(void)state;
	((struct target_cfg *)bpf_map_lookup_elem(&targets, &tgid))->source = SOURCE_WATCH;
	world.cookie = WORD_OWNER;
	world.tid = THREAD_A;
	ractor.owner = &thread_a;
	watch_hit(&ctx);
	assert_int_equal(last()->kind, EVENT_OWNER);
	ractor.owner = NULL;
	watch_hit(&ctx);
	assert_int_equal(last()->thread, 0);
	assert_int_equal(*(uint64_t *)bpf_map_lookup_elem(&writers, &key), 2);
}

static void an_ended_task_is_forgotten_and_told(void **state)
{
	struct task_struct task = { .pid = THREAD_A, .tgid = TGID, .comm = "worker" };
	struct task_key key = { .tgid = TGID, .tid = THREAD_A };

	(void)state;
	own(&ractor, &thread_a, THREAD_A);
	assert_non_null(bpf_map_lookup_elem(&tasks, &key));
	sched_process_exit(&task);
	assert_null(bpf_map_lookup_elem(&tasks, &key));
	assert_int_equal(last()->kind, EVENT_EXIT);
	assert_string_equal(world.records[world.nr_records - 1].exit.comm, "worker");
}

static void after_exec_nothing_is_taken_for_a_lock(void **state)
{
	struct task_struct task = { .pid = TGID, .tgid = TGID };

	(void)state;
	sched_process_exec(&task);
	assert_int_equal(last()->kind, EVENT_EXEC);
	world.nr_records = 0;
	own(&ractor, &thread_a, THREAD_A);
	assert_int_equal(world.nr_records, 0);
}

static void forks_are_told_where_they_are_followed(void **state)
{
	struct task_struct parent = { .pid = TGID, .tgid = TGID }, child = { .pid = 300, .tgid = 300 };
	uint32_t tgid = TGID;

	(void)state;
	sched_process_fork(&parent, &child);
	assert_int_equal(world.nr_records, 0);
	((struct target_cfg *)bpf_map_lookup_elem(&targets, &tgid))->flags = TARGET_FOLLOW;
	sched_process_fork(&parent, &child);
	assert_int_equal(last()->kind, EVENT_FORK);
	assert_int_equal(last()->thread, 300);
	child.tgid = TGID;	/* a thread */
	sched_process_fork(&parent, &child);
	assert_int_equal(world.nr_records, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, setup)
		T(an_owner_change_is_told_with_its_number),
		T(an_owner_that_is_named_before_it_runs_is_off_the_cpu),
		T(a_switch_that_was_not_told_is_dated_by_the_cpu_time),
		T(switches_of_who_does_not_own_are_not_told),
		T(the_same_owner_again_is_no_event_but_is_counted),
		T(an_owner_read_from_memory_meets_its_event_without_harm),
		T(a_full_ring_leaves_a_step_in_the_numbers),
		T(a_queue_entry_names_the_thread_and_the_last_ones_leaving_is_none),
		T(another_structures_store_is_no_event),
		T(a_ractor_is_found_by_its_first_owner),
		T(only_the_generation_in_use_counts),
		T(a_watchpoints_hit_tells_and_teaches),
		T(an_ended_task_is_forgotten_and_told),
		T(after_exec_nothing_is_taken_for_a_lock),
		T(forks_are_told_where_they_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
