// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Both locks with real threads. REF_OPERATIONS: how often they are taken on random schedules. */
#include "ref/lock.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stat/sample.h"
#include "util/clock.h"

enum { THREADS = 6 };

#define QUANTUM_NS (2 * NS_PER_MS)
#define LONG_NS (60 * NS_PER_SEC)	/* more than any wait here, under any tool */

struct worker {
	struct ref_lock *lock;
	uint64_t *nr_holds;		/* of all; only with the lock held */
	bool *is_held;
	uint64_t rounds, seed;
	pthread_t thread;
};

static enum ref_lock_design design_of(void **state)
{
	return *(enum ref_lock_design *)*state;
}

static uint64_t operations(void)
{
	const char *text = getenv("REF_OPERATIONS");

	return text ? strtoull(text, NULL, 10) : 20000;
}

static void lock_init(struct ref_lock *l, enum ref_lock_design design, uint64_t quantum_ns)
{
	assert_int_equal(ref_lock_init(l, design, quantum_ns), 0);
}

/* Nothing, or a while without the processor, or up to some 20 us of computing. */
static void pause_randomly(uint64_t *seed)
{
	uint64_t r = random_next(seed);

	if (r % 8 == 0)
		sched_yield();
	if (r % 8 == 1)
		for (volatile uint32_t i = r >> 8 & 16383; i; i--)
			;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct ref_thread th;

	ref_thread_init(&th, w->lock);
	for (uint64_t i = 0; i < w->rounds; i++) {
		ref_lock_acquire(w->lock, &th);
		do {
			if (*w->is_held)
				abort();
			*w->is_held = true;
			++*w->nr_holds;
			pause_randomly(&w->seed);
			*w->is_held = false;
		} while (ref_lock_check(w->lock, &th));
		ref_lock_drop(w->lock, &th);
		pause_randomly(&w->seed);
	}
	ref_thread_destroy(&th);
	return NULL;
}

/*
 * A thread that is forgotten in the queue never ends. In 3.1 each hold is two writes of the word;
 * in 3.3 one that comes out of the queue begins with the write that ended another.
 */
static void random_schedules_forget_nobody_and_count_exactly(void **state)
{
	struct worker workers[THREADS];
	uint64_t nr_holds = 0, rounds = operations() / THREADS + 1;
	bool is_held = false;
	struct ref_lock l;

	lock_init(&l, design_of(state), 50 * NS_PER_US);
	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ &l, &nr_holds, &is_held, rounds, .seed = i };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	assert_null(l.owner);
	assert_int_equal(l.nr_queued, 0);
	assert_true(ref_list_is_empty(&l.queue));
	assert_int_equal(nr_holds, THREADS * rounds + l.counts.yields);
	assert_int_equal(l.counts.changes,
			 2 * nr_holds - (l.design == REF_LOCK_33 ? l.counts.entries : 0));
	ref_lock_destroy(&l);
}

static uint32_t queued(struct ref_lock *l)
{
	uint32_t nr;

	pthread_mutex_lock(&l->mutex);
	nr = l->nr_queued;
	pthread_mutex_unlock(&l->mutex);
	return nr;
}

struct comer {
	struct ref_lock *lock;
	int *nr_came;			/* only with the lock held */
	int place;
	uint64_t start_ns;
	pthread_t thread;
};

static void *come(void *arg)
{
	struct comer *c = arg;
	struct ref_thread th;

	ref_thread_init(&th, c->lock);
	c->start_ns = clock_now_ns();
	ref_lock_acquire(c->lock, &th);
	c->place = (*c->nr_came)++;
	ref_lock_drop(c->lock, &th);
	ref_thread_destroy(&th);
	return NULL;
}

static void a_lock_of_33_keeps_the_order_of_arrival(void **state)
{
	struct comer comers[THREADS];
	struct ref_thread me;
	struct ref_lock l;
	int nr_came = 0;

	(void)state;
	lock_init(&l, REF_LOCK_33, LONG_NS);
	ref_thread_init(&me, &l);
	ref_lock_acquire(&l, &me);
	for (uint32_t i = 0; i < THREADS; i++) {
		comers[i] = (struct comer){ .lock = &l, .nr_came = &nr_came };
		assert_int_equal(pthread_create(&comers[i].thread, NULL, come, &comers[i]), 0);
		while (queued(&l) <= i)
			sched_yield();
	}
	ref_lock_drop(&l, &me);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(comers[i].thread, NULL);
		assert_int_equal(comers[i].place, i);
	}
	assert_int_equal(l.counts.entries, THREADS);
	assert_int_equal(l.counts.changes, 1 + THREADS + 1);
	ref_thread_destroy(&me);
	ref_lock_destroy(&l);
}

static void who_computes_gives_way_after_the_quantum_and_not_before(void **state)
{
	struct comer other = { 0 };
	struct ref_thread me;
	struct ref_lock l;
	int nr_came = 0;
	uint64_t ns;

	lock_init(&l, design_of(state), QUANTUM_NS);
	ref_thread_init(&me, &l);
	ref_lock_acquire(&l, &me);
	other = (struct comer){ .lock = &l, .nr_came = &nr_came };
	assert_int_equal(pthread_create(&other.thread, NULL, come, &other), 0);
	while (!ref_lock_check(&l, &me))
		;
	ns = clock_now_ns();
	assert_int_equal(nr_came, 1);
	ref_lock_drop(&l, &me);
	pthread_join(other.thread, NULL);
	assert_in_range(ns - other.start_ns, QUANTUM_NS, LONG_NS);
	assert_int_equal(l.counts.yields, 1);
	assert_int_equal(l.counts.changes, l.design == REF_LOCK_33 ? 4 : 6);
	ref_thread_destroy(&me);
	ref_lock_destroy(&l);
}

static void who_is_alone_never_gives_way(void **state)
{
	struct ref_thread me;
	struct ref_lock l;
	uint64_t end_ns;

	lock_init(&l, design_of(state), NS_PER_MS);
	ref_thread_init(&me, &l);
	ref_lock_acquire(&l, &me);
	end_ns = clock_now_ns() + 5 * NS_PER_MS;
	while (clock_now_ns() < end_ns)
		assert_false(ref_lock_check(&l, &me));
	ref_lock_drop(&l, &me);
	assert_int_equal(l.counts.changes, 2);
	assert_int_equal(l.counts.entries, 0);
	ref_thread_destroy(&me);
	ref_lock_destroy(&l);
}

int main(void)
{
	static enum ref_lock_design designs[] = { REF_LOCK_31, REF_LOCK_33 };
#define BOTH(test) { #test " (3.1)", test, NULL, NULL, &designs[0] }, \
		   { #test " (3.3)", test, NULL, NULL, &designs[1] }
	const struct CMUnitTest tests[] = {
		BOTH(random_schedules_forget_nobody_and_count_exactly),
		cmocka_unit_test(a_lock_of_33_keeps_the_order_of_arrival),
		BOTH(who_computes_gives_way_after_the_quantum_and_not_before),
		BOTH(who_is_alone_never_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
