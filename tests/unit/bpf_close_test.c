// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The BPF programs on IO#close and system calls, compiled natively, against a kernel that is played here. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"

#define __TARGET_ARCH_x86
#include "bpf/close.bpf.c"
#define LICENSE call_license
#include "bpf/call.bpf.c"

#undef NULL
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/stub/kernel.h"

enum { CALL_CLOSE = 3, CALL_DUP2 = 33, CALL_FUTEX = 202, CALL_READ = 0, CALL_MMAP = 9 };

/* Ruby's structures, as far as the programs read them; offsets as in the configuration below. */
struct fake_node {
	struct fake_node *next, *prev;
};
struct fake_frame {
	uint64_t pc, iseq, self;
};
struct fake_ec {
	struct fake_frame *cfp;
	struct fake_thread *thread;
};
struct fake_thread {
	struct fake_ec *ec;
};
struct fake_waiter {		/* up to 3.4, and from 4.0 with an ec */
	struct fake_node node;
	struct fake_thread *thread;
	struct fake_ec *ec;
	int32_t fd;
};
struct fake_io {
	uint64_t flags;		/* RBasic of the object that stands for it ... */
	struct fake_io *io;	/* ... and this is itself */
	uint32_t mode;
	uint64_t fd;
	struct fake_node waiters;
	uint64_t fork_gen, closing_ec;
};

static struct fake_io io_one = { .flags = T_FILE, .io = &io_one, .fd = 7 };
static struct fake_io io_two = { .flags = T_FILE, .io = &io_two, .fd = 7 };
static struct fake_frame closer_frame, waiter_frames[3];
static struct fake_thread closer, threads[3];
static struct fake_ec closer_ec = { &closer_frame, &closer };
static struct fake_ec ecs[3] = { { &waiter_frames[0], &threads[0] }, { &waiter_frames[1], &threads[1] },
				 { &waiter_frames[2], &threads[2] } };
static struct fake_waiter waiters[3];
static struct fake_node all, busy;
static uint64_t vm_fork_gen, stack[4];
static uint32_t nr_ractors;

static void list_init(struct fake_node *head)
{
	head->next = head->prev = head;
}

static void list_add(struct fake_node *head, struct fake_waiter *w)
{
	w->node.next = head->next;
	w->node.prev = head;
	head->next->prev = &w->node;
	head->next = &w->node;
}

static void list_del(struct fake_waiter *w)
{
	w->node.next->prev = w->node.prev;
	w->node.prev->next = w->node.next;
}

static struct target_cfg *target(void)
{
	uint32_t tgid = TGID;

	return bpf_map_lookup_elem(&targets, &tgid);
}

static struct walk_due *due(void)
{
	uint32_t id = 0;

	return bpf_map_lookup_elem(&walks, &id);
}

static int setup(void **state)
{
	uint32_t tgid = TGID, id = 0;
	struct target_cfg cfg = {
		.source = SOURCE_SITES, .flags = TARGET_CLOSE | TARGET_BLOCK, .waiters = (uintptr_t)&all,
		.vm_fork_gen = (uintptr_t)&vm_fork_gen,
		.vm_ractor_count = (uintptr_t)&nr_ractors, .walk_share = 200,
		.close = {
			.waiter_thread = offsetof(struct fake_waiter, thread), .waiter_ec = -1,
			.waiter_fd = offsetof(struct fake_waiter, fd), .waiter_busy = -1,
			.file_io = offsetof(struct fake_io, io), .io_mode = offsetof(struct fake_io, mode),
			.thread_ec = offsetof(struct fake_thread, ec),
			.ec_thread = offsetof(struct fake_ec, thread),
			.cfp_iseq = offsetof(struct fake_frame, iseq),
			.cfp_self = offsetof(struct fake_frame, self), .cfp_size = sizeof(struct fake_frame),
			.io_fd = offsetof(struct fake_io, fd), .io_waiters = offsetof(struct fake_io, waiters),
			.io_fork_gen = offsetof(struct fake_io, fork_gen),
			.io_closing_ec = offsetof(struct fake_io, closing_ec),
		},
	};
	struct lock_state lock = { .owner = (uintptr_t)&closer, .owner_tid = THREAD_A, .tgid = TGID };
	struct task_key key = { .tgid = TGID, .tid = THREAD_A };
	struct task_state self = { .lock = 1, .on_cpu = 1 };

	(void)state;
	world_clear();
	bpf_map_update_elem(&targets, &tgid, &cfg, BPF_ANY);
	bpf_map_update_elem(&locks, &id, &lock, BPF_ANY);
	bpf_map_update_elem(&tasks, &key, &self, BPF_ANY);
	nr_ractors = 1;
	world.tid = THREAD_A;
	closer.ec = &closer_ec;
	closer_frame = (struct fake_frame){ .pc = 11, .iseq = 12, .self = (uintptr_t)&io_one };
	list_init(&all);
	list_init(&busy);
	list_init(&io_one.waiters);
	io_one.closing_ec = io_one.fork_gen = vm_fork_gen = 0;
	io_one.mode = 0;
	for (int i = 0; i < 3; i++) {
		threads[i].ec = &ecs[i];
		waiters[i] = (struct fake_waiter){ .thread = &threads[i], .ec = &ecs[i] };
		waiter_frames[i] = (struct fake_frame){ .pc = 21, .iseq = 22, .self = (uintptr_t)&io_one };
	}
	*(struct call_table *)&calls = (struct call_table){
		.futex = CALL_FUTEX, .read = CALL_READ, .poll = ~0u, .ppoll = ~0u, .close = CALL_CLOSE, .dup2 = CALL_DUP2,
		.dup3 = ~0u, .with_fd = { 1 << CALL_READ | 1 << CALL_CLOSE }, .quiet = { 1 << CALL_MMAP },
	};
	return 0;
}

/* The scan, called with @arg from @from; as many of all waiters move to the busy list. */
static void scan(uint64_t arg, uint64_t from, unsigned int nr_matched)
{
	struct pt_regs regs = { .di = arg, .si = (uintptr_t)&busy, .sp = (uintptr_t)stack };

	stack[0] = from;
	world.cookie = SCAN_COOKIE(offsetof(struct pt_regs, di) / 8, offsetof(struct pt_regs, si) / 8, 0);
	world.now += 100;
	scan_enter(&regs);
	for (unsigned int i = 0; i < nr_matched; i++) {
		list_del(&waiters[i]);
		list_add(&busy, &waiters[i]);
	}
	world.now += 50;
	scan_leave(&regs);
}

static void call(long nr, uint64_t arg, uint64_t arg2)
{
	struct pt_regs regs = { .di = arg, .si = arg2 };

	world.now += 10;
	sys_enter(&regs, nr);
	world.now += 30;
	sys_exit(&regs, 0);
}

static unsigned int nr_of(uint8_t kind)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < world.nr_records; i++)
		n += world.records[i].rec.kind == kind;
	return n;
}

static void the_first_scan_tells_everybody_on_the_list(void **state)
{
	(void)state;
	due()->base = 1;
	for (int i = 0; i < 3; i++)
		list_add(&all, &waiters[i]);
	scan(9, 1, 0);
	assert_int_equal(nr_of(EVENT_LISTED), 3);
	assert_int_equal(world.records[2].rec.nr, 2);
	assert_int_equal(last()->kind, EVENT_SCAN);
	assert_int_equal(last()->flags, SCAN_WALKED | SCAN_BASE);
	assert_int_equal(last()->count, 3);
	assert_int_equal(last()->thread, (uint64_t)(uintptr_t)&threads[0] + (uintptr_t)&threads[1] +
						 (uintptr_t)&threads[2]);
	assert_int_equal(last()->fd, 9);
	assert_int_equal(last()->dur_ns, 50);
	assert_int_equal(due()->base, 0);
}

static void a_walk_that_is_not_due_is_left_out(void **state)
{
	(void)state;
	list_add(&all, &waiters[0]);
	due()->next_ns = 1000;
	scan(9, 1, 0);
	assert_int_equal(last()->flags, 0);
	world.now = 2000;
	scan(9, 1, 0);
	assert_int_equal(last()->flags, SCAN_WALKED);
	assert_int_equal(nr_of(EVENT_LISTED), 0);
}

static void those_that_match_are_told_before_the_scan(void **state)
{
	(void)state;
	due()->next_ns = ~0ULL;
	for (int i = 0; i < 3; i++)
		list_add(&all, &waiters[i]);
	scan(7, 1, 2);
	assert_int_equal(nr_of(EVENT_MATCHED), 2);
	assert_int_equal(last()->kind, EVENT_SCAN);
	assert_int_equal(last()->nr, 2);
	assert_int_equal(nr_of(EVENT_FOREIGN), 0);
}

static void beside_other_ractors_those_that_match_are_told_before_it_begins(void **state)
{
	(void)state;
	due()->next_ns = ~0ULL;
	nr_ractors = 2;
	for (int i = 0; i < 3; i++)
		list_add(&all, &waiters[i]);
	waiters[1].fd = waiters[2].fd = 7;
	scan(7, 1, 0);			/* when it ends they have left */
	assert_int_equal(nr_of(EVENT_MATCHED), 2);
	assert_int_equal(last()->flags, SCAN_WALKED | SCAN_SHARED);
	assert_int_equal(last()->count, 3);
	assert_int_equal(last()->nr, 2);
}

static void a_waiter_in_another_io_object_is_foreign(void **state)
{
	(void)state;
	due()->next_ns = ~0ULL;
	list_add(&all, &waiters[0]);
	waiter_frames[0].self = (uintptr_t)&io_two;
	scan(7, 1, 1);
	assert_int_equal(nr_of(EVENT_FOREIGN), 1);
	assert_int_equal(world.records[1].rec.kind, EVENT_FOREIGN);
	assert_int_equal(world.records[1].foreign.waiter_pc, 21);
	assert_int_equal(world.records[1].foreign.closer_iseq, 12);
}

static void a_waiter_whose_receiver_is_no_io_is_not_foreign(void **state)
{
	static uint64_t object = 5;	/* a String, by its flags */

	(void)state;
	list_add(&all, &waiters[0]);
	waiter_frames[0].self = (uintptr_t)&object;
	scan(7, 1, 1);
	waiter_frames[0].self = 8;	/* nil (3.1: 8, later: 4) */
	list_add(&all, &waiters[0]);
	scan(7, 1, 1);
	assert_int_equal(nr_of(EVENT_FOREIGN), 0);
}

static void a_scan_that_closes_nothing_is_marked(void **state)
{
	(void)state;
	target()->alone_start = 0x1000;
	target()->alone_end = 0x1100;
	scan(7, 0x1080, 0);
	assert_true(last()->flags & SCAN_ALONE);
	scan(7, 0x1100, 0);
	assert_false(last()->flags & SCAN_ALONE);
}

static void a_close_that_leaves_the_descriptor_alone_is_marked(void **state)
{
	(void)state;
	io_one.mode = FMODE_EXTERNAL;
	scan(7, 1, 0);
	assert_true(last()->flags & SCAN_ALONE);
}

static void fibers_on_the_list_have_it_walked_at_each_scan(void **state)
{
	(void)state;
	due()->base = 1;
	for (int i = 0; i < 3; i++) {
		waiters[i].thread = &threads[0];
		list_add(&all, &waiters[i]);
	}
	scan(9, 1, 0);
	assert_int_equal(last()->count, 3);
	scan(9, 1, 0);
	assert_int_equal(last()->flags, SCAN_WALKED | SCAN_SHARED);
	assert_int_equal(last()->count, 3);
}

static void close_of_the_descriptor_ends_it(void **state)
{
	(void)state;
	scan(7, 1, 0);
	call(CALL_CLOSE, 8, 0);
	assert_int_equal(nr_of(EVENT_CLOSE), 0);
	call(CALL_CLOSE, 7, 0);
	assert_int_equal(last()->kind, EVENT_CLOSE);
	assert_int_equal(last()->dur_ns, 30);
	assert_int_equal(last()->flags, CLOSE_HELD);
	call(CALL_CLOSE, 7, 0);
	assert_int_equal(nr_of(EVENT_CLOSE), 1);
}

static void dup_onto_the_descriptor_ends_it_too(void **state)
{
	uint32_t id = 0;

	(void)state;
	scan(7, 1, 0);
	((struct lock_state *)bpf_map_lookup_elem(&locks, &id))->owner_tid = 0;
	call(CALL_DUP2, 5, 7);
	assert_int_equal(last()->kind, EVENT_CLOSE);
	assert_int_equal(last()->flags, 0);
}

static void an_ios_own_list_is_told_at_once_and_timed_if_there_is_one(void **state)
{
	(void)state;
	target()->waiters = 0;
	target()->close.waiter_ec = offsetof(struct fake_waiter, ec);
	scan((uintptr_t)&io_one, 1, 0);
	assert_int_equal(world.nr_records, 1);
	assert_int_equal(last()->flags, SCAN_PER_IO | SCAN_WALKED | SCAN_UNTIMED);
	assert_int_equal(last()->count, 0);
	list_add(&io_one.waiters, &waiters[0]);
	list_add(&io_one.waiters, &waiters[1]);
	scan((uintptr_t)&io_one, 1, 0);
	assert_int_equal(nr_of(EVENT_MATCHED), 2);
	assert_int_equal(last()->flags, SCAN_PER_IO | SCAN_WALKED);
	assert_int_equal(last()->count, 2);
	assert_int_equal(last()->dur_ns, 50);
	assert_int_equal(last()->fd, 7);
}

static void an_ios_list_from_before_a_fork_is_not_read(void **state)
{
	(void)state;
	target()->waiters = 0;
	target()->close.waiter_ec = offsetof(struct fake_waiter, ec);
	vm_fork_gen = 1;
	io_one.waiters.next = (struct fake_node *)16;
	scan((uintptr_t)&io_one, 1, 0);
	assert_int_equal(last()->count, 0);
	assert_true(last()->flags & SCAN_UNTIMED);
}

static struct task_state *self(void)
{
	struct task_key key = { .tgid = TGID, .tid = THREAD_A };

	return bpf_map_lookup_elem(&tasks, &key);
}

static void the_first_call_that_says_something_names_a_region(void **state)
{
	(void)state;
	call(CALL_READ, -1, 0);
	assert_int_equal(world.nr_records, 0);	/* it holds the lock */
	self()->region = 77;
	call(CALL_MMAP, 0, 0);
	call(CALL_FUTEX, 0, 1);			/* FUTEX_WAKE */
	assert_int_equal(world.nr_records, 0);
	call(CALL_FUTEX, 0, FUTEX_WAIT_BITSET | 128);
	call(CALL_FUTEX, 0, FUTEX_WAIT);
	assert_int_equal(world.nr_records, 1);
	assert_int_equal(last()->thread, 77);
	assert_int_equal(last()->nr, CALL_FUTEX);
	call(CALL_READ, -1, 0);
	call(CALL_READ, -1, 0);
	assert_int_equal(world.nr_records, 2);
	assert_int_equal(last()->nr, CALL_READ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, setup)
		T(the_first_scan_tells_everybody_on_the_list),
		T(a_walk_that_is_not_due_is_left_out),
		T(those_that_match_are_told_before_the_scan),
		T(beside_other_ractors_those_that_match_are_told_before_it_begins),
		T(a_waiter_in_another_io_object_is_foreign),
		T(a_waiter_whose_receiver_is_no_io_is_not_foreign),
		T(a_scan_that_closes_nothing_is_marked),
		T(a_close_that_leaves_the_descriptor_alone_is_marked),
		T(fibers_on_the_list_have_it_walked_at_each_scan),
		T(close_of_the_descriptor_ends_it),
		T(dup_onto_the_descriptor_ends_it_too),
		T(an_ios_own_list_is_told_at_once_and_timed_if_there_is_one),
		T(an_ios_list_from_before_a_fork_is_not_read),
		T(the_first_call_that_says_something_names_a_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
