// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/copies.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ref/bench.h"
#include "stat/sample.h"

#define SIZE ((size_t)256 * 1024)

static void lock_init(struct ref_lock *l, enum ref_lock_design design)
{
	assert_int_equal(ref_lock_init(l, design, REF_QUANTUM_NS), 0);
}

static void fill(struct ref_buffer *b, uint64_t seed)
{
	for (size_t i = 0; i < b->size; i++)
		b->base[i] = random_next(&seed);
}

/* Bytes from the first on as in @from, zero behind them. */
static void assert_copied(const struct ref_buffer *to, const struct ref_buffer *from, size_t size)
{
	assert_memory_equal(to->base, from->base, size);
	for (size_t i = size; i < to->size; i++)
		assert_int_equal(to->base[i], 0);
}

static void copy_and_compare(enum ref_lock_design design, size_t size, size_t threshold)
{
	struct ref_buffer from, to;
	struct ref_thread me;
	struct ref_lock l;
	size_t want = size < SIZE ? size : SIZE;

	lock_init(&l, design);
	ref_thread_init(&me, &l);
	assert_int_equal(ref_buffer_init(&from, SIZE + 4096, true), 0);
	assert_int_equal(ref_buffer_init(&to, SIZE, false), 0);
	fill(&from, size + threshold);
	ref_lock_acquire(&l, &me);
	assert_int_equal(ref_copy(&l, &me, &to, &from, size, threshold), want);
	assert_ptr_equal(l.owner, &me);
	assert_copied(&to, &from, want);
	assert_int_equal(ref_copy(&l, &me, &to, &to, size, threshold), want);
	assert_copied(&to, &from, want);
	assert_int_equal(ref_buffer_free(&from), 0);
	assert_int_equal(ref_copy(&l, &me, &to, &from, size, threshold), 0);
	assert_int_equal(ref_buffer_free(&to), 0);
	assert_int_equal(ref_buffer_free(&to), 0);
	ref_lock_drop(&l, &me);
	ref_thread_destroy(&me);
	ref_lock_destroy(&l);
}

static void every_byte_arrives_with_and_without_the_lock(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 65536, SIZE - 1, SIZE, SIZE + 1 };
	static const size_t thresholds[] = { REF_COPY_ALWAYS, 4096, REF_COPY_NEVER };

	(void)state;
	for (int design = 0; design < REF_LOCK_DESIGNS; design++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			for (size_t t = 0; t < sizeof(thresholds) / sizeof(*thresholds); t++)
				copy_and_compare(design, sizes[i], thresholds[t]);
}

/* Waits for the lock, then tries to do harm, while a released copy needs the lock to end. */
struct rival {
	struct ref_lock *l;
	struct ref_buffer *to, *from;
	pthread_t thread;
	uint32_t to_locks, from_locks;
	int resize, free;
	uint64_t acquires;
};

static void *rival_run(void *arg)
{
	struct rival *r = arg;
	struct ref_thread me;

	ref_thread_init(&me, r->l);
	ref_lock_acquire(r->l, &me);
	r->acquires++;
	r->to_locks = r->to->nr_locks;
	r->from_locks = r->from->nr_locks;
	r->resize = ref_buffer_resize(r->to, SIZE / 2);
	r->free = ref_buffer_free(r->from);
	ref_lock_drop(r->l, &me);
	ref_thread_destroy(&me);
	return NULL;
}

/* The caller owns the lock. Returns when the rival is in its queue. */
static void rival_start(struct rival *r)
{
	uint32_t nr = 0;

	assert_int_equal(pthread_create(&r->thread, NULL, rival_run, r), 0);
	while (!nr) {
		sched_yield();
		pthread_mutex_lock(&r->l->mutex);
		nr = r->l->nr_queued;
		pthread_mutex_unlock(&r->l->mutex);
	}
}

/* The copy of @size with a rival, whose acquires until the copy is over are returned. */
static uint64_t copy_beside(struct rival *r, size_t size, size_t threshold)
{
	struct ref_thread me;
	uint64_t acquires;

	ref_thread_init(&me, r->l);
	ref_lock_acquire(r->l, &me);
	rival_start(r);
	assert_int_equal(ref_copy(r->l, &me, r->to, r->from, size, threshold), size);
	assert_ptr_equal(r->l->owner, &me);
	acquires = r->acquires;
	assert_int_equal(r->to->nr_locks, 0);
	assert_int_equal(r->from->nr_locks, 0);
	ref_lock_drop(r->l, &me);
	pthread_join(r->thread, NULL);
	ref_thread_destroy(&me);
	return acquires;
}

static void a_buffer_under_copy_is_neither_resized_nor_freed(void **state)
{
	struct ref_buffer to, from;
	struct ref_lock l;
	struct rival r = { .l = &l, .to = &to, .from = &from };

	(void)state;
	lock_init(&l, REF_LOCK_33);
	assert_int_equal(ref_buffer_init(&to, SIZE, true), 0);
	assert_int_equal(ref_buffer_init(&from, SIZE, true), 0);
	fill(&from, 1);
	assert_int_equal(copy_beside(&r, SIZE, SIZE), 1);
	assert_int_equal(r.to_locks, 1);
	assert_int_equal(r.from_locks, 1);
	assert_int_equal(r.resize, -EBUSY);
	assert_int_equal(r.free, -EBUSY);
	assert_copied(&to, &from, SIZE);

	assert_int_equal(ref_buffer_resize(&to, 2 * SIZE), 0);
	assert_int_equal(to.size, 2 * SIZE);
	assert_copied(&to, &from, SIZE);
	assert_int_equal(ref_buffer_free(&from), 0);
	assert_null(from.base);
	assert_int_equal(ref_buffer_free(&to), 0);
	ref_lock_destroy(&l);
}

static void a_buffer_copied_to_itself_is_locked_twice(void **state)
{
	struct ref_buffer b;
	struct ref_lock l;
	struct rival r = { .l = &l, .to = &b, .from = &b };

	(void)state;
	lock_init(&l, REF_LOCK_33);
	assert_int_equal(ref_buffer_init(&b, SIZE, true), 0);
	assert_int_equal(copy_beside(&r, SIZE, REF_COPY_ALWAYS), 1);
	assert_int_equal(r.to_locks, 2);
	assert_int_equal(r.resize, -EBUSY);
	assert_int_equal(r.free, -EBUSY);
	assert_int_equal(ref_buffer_free(&b), 0);
	ref_lock_destroy(&l);
}

static void below_the_threshold_nobody_gets_the_lock(void **state)
{
	(void)state;
	for (int design = 0; design < REF_LOCK_DESIGNS; design++) {
		struct ref_buffer to, from;
		struct ref_lock l;
		struct rival r = { .l = &l, .to = &to, .from = &from };

		lock_init(&l, design);
		assert_int_equal(ref_buffer_init(&to, SIZE, true), 0);
		assert_int_equal(ref_buffer_init(&from, SIZE, true), 0);
		assert_int_equal(copy_beside(&r, SIZE - 1, SIZE), 0);
		assert_int_equal(r.to_locks, 0);	/* it came after the copy */
		assert_int_equal(r.resize, 0);
		assert_int_equal(r.free, 0);
		assert_int_equal(to.size, SIZE / 2);
		assert_int_equal(ref_buffer_free(&to), 0);
		ref_lock_destroy(&l);
	}
}

enum { MOB = 4, MOB_BUFFERS = 2 * MOB, MOB_SIZE = 32 * 1024, MOB_THRESHOLD = 8 * 1024 };

/* All copy into a buffer of their own from those that nobody writes, resize any, free their own. */
struct mob {
	struct ref_lock lock;
	struct ref_buffer buffers[MOB_BUFFERS];	/* the first MOB are written, each by one */
	uint32_t operations;			/* of each */
	uint32_t nr_wrong;			/* only with the lock held */
};

struct mob_member {
	struct mob *mob;
	uint32_t index;
	pthread_t thread;
};

/* Nobody may jump out of a thread: what is wrong is counted, for the test to see. */
static void operate(struct mob *m, struct ref_thread *me, struct ref_buffer *own, uint64_t *seed)
{
	struct ref_buffer *other = &m->buffers[random_next(seed) % MOB_BUFFERS];
	size_t size = 1 + random_next(seed) % MOB_SIZE;

	switch (random_next(seed) % 8) {
	case 0:
		m->nr_wrong += ref_buffer_resize(other, size) != (other->nr_locks ? -EBUSY : 0);
		return;
	case 1:
		m->nr_wrong += ref_buffer_free(own) || ref_buffer_init(own, size, false);
		return;
	case 2:
		ref_copy(&m->lock, me, own, own, size, MOB_THRESHOLD);
		return;
	default:
		other = &m->buffers[MOB + random_next(seed) % MOB];
		ref_copy(&m->lock, me, own, other, size, MOB_THRESHOLD);
	}
}

static void *mob_run(void *arg)
{
	struct mob_member *member = arg;
	struct mob *m = member->mob;
	uint64_t seed = 1 + member->index;
	struct ref_thread me;

	ref_thread_init(&me, &m->lock);
	ref_lock_acquire(&m->lock, &me);
	for (uint32_t i = 0; i < m->operations; i++) {
		operate(m, &me, &m->buffers[member->index], &seed);
		ref_lock_check(&m->lock, &me);
	}
	ref_lock_drop(&m->lock, &me);
	ref_thread_destroy(&me);
	return NULL;
}

static void random_operations_leave_no_buffer_locked(void **state)
{
	const char *nr = getenv("REF_OPERATIONS");
	struct mob m = { .operations = (nr ? strtoul(nr, NULL, 10) : 2000) / MOB };
	struct mob_member members[MOB];

	(void)state;
	assert_int_equal(ref_lock_init(&m.lock, REF_LOCK_33, 1000000), 0);
	for (int i = 0; i < MOB_BUFFERS; i++)
		assert_int_equal(ref_buffer_init(&m.buffers[i], MOB_SIZE, true), 0);
	for (int i = 0; i < MOB; i++) {
		members[i] = (struct mob_member){ .mob = &m, .index = i };
		assert_int_equal(pthread_create(&members[i].thread, NULL, mob_run, &members[i]), 0);
	}
	for (int i = 0; i < MOB; i++)
		pthread_join(members[i].thread, NULL);
	assert_int_equal(m.nr_wrong, 0);
	assert_null(m.lock.owner);
	assert_int_equal(m.lock.nr_queued, 0);
	for (int i = 0; i < MOB_BUFFERS; i++) {
		assert_int_equal(m.buffers[i].nr_locks, 0);
		assert_int_equal(ref_buffer_free(&m.buffers[i]), 0);
	}
	ref_lock_destroy(&m.lock);
}

static void an_interrupted_bench_ends_at_once(void **state)
{
	static const volatile bool is_interrupted = true;

	(void)state;
	for (int is_sweep = 0; is_sweep < 2; is_sweep++) {
		struct bench_options o = {
			.is_interrupted = &is_interrupted,
			.is_sweep = is_sweep,
		};
		struct findings f = { 0 };

		assert_int_equal(bench_copy(&f, &o, NULL), -EINTR);
		assert_int_equal(f.nr_sentences, 0);
		assert_false(f.is_broken);
		for (size_t i = 0; i < f.nr_tables; i++)
			assert_int_equal(f.tables[i].nr_cells % f.tables[i].nr_columns, 0);
		findings_release(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_arrives_with_and_without_the_lock),
		cmocka_unit_test(a_buffer_under_copy_is_neither_resized_nor_freed),
		cmocka_unit_test(a_buffer_copied_to_itself_is_locked_twice),
		cmocka_unit_test(below_the_threshold_nobody_gets_the_lock),
		cmocka_unit_test(random_operations_leave_no_buffer_locked),
		cmocka_unit_test(an_interrupted_bench_ends_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
