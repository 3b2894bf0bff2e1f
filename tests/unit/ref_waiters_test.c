// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What never ends is ended by alarm(). In the environment: REF_OPERATIONS, how many random
 * operations there are; REF_STEPS, of each schedule, fewer than 600 where threads are slow to start;
 * REF_SEED, of all schedules.
 */
#include "ref/waiters.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "stat/sample.h"
#include "util/clock.h"

enum { LIMIT_S = 300, PIPES = 32, READERS = 32, STEPS = 600, WORKERS = 4 };

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

struct pipe {
	struct ref_io in, out;
	uint32_t nr_bytes;		/* written, and nobody was there to read them */
};

struct world;

/* A thread that reads one byte. */
struct reader {
	struct world *world;
	pthread_t thread;
	uint32_t tid;			/* atomic */
	struct pipe *pipe;		/* NULL: there is no thread */
	ssize_t got;			/* the byte; 0 at the end; -errno */
};

/* What is tested, and the calling thread: it has the lock but for when it waits. */
struct world {
	struct ref_lock lock;
	struct ref_thread me;
	struct ref_waiters waiters;
	struct pipe pipes[PIPES];
	struct reader readers[READERS];
	uint64_t nr_blocked;		/* as it should be */
	uint64_t nr_operations;
	bool is_over;
};

/* An assertion is for the thread that runs the test. */
static void require(bool is_so)
{
	if (!is_so)
		abort();
}

static void pipe_open(struct pipe *p)
{
	int fds[2];

	require(!pipe2(fds, O_CLOEXEC) && !fcntl(fds[1], F_SETFL, O_NONBLOCK));
	ref_io_init(&p->in, fds[0], false);
	ref_io_init(&p->out, fds[1], true);
	p->nr_bytes = 0;
}

static void world_init(struct world *w, enum ref_waiters_design design)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(ref_lock_init(&w->lock, REF_LOCK_33, REF_QUANTUM_NS), 0);
	ref_thread_init(&w->me, &w->lock);
	ref_lock_acquire(&w->lock, &w->me);
	assert_int_equal(ref_waiters_init(&w->waiters, design, &w->lock), 0);
	for (int i = 0; i < PIPES; i++)
		pipe_open(&w->pipes[i]);
	for (int i = 0; i < READERS; i++)
		w->readers[i].world = w;
}

/* Nobody is left anywhere. */
static void world_release(struct world *w)
{
	assert_int_equal(w->waiters.nr, 0);
	assert_true(ref_list_is_empty(&w->waiters.all));
	assert_true(ref_list_is_empty(&w->waiters.resignal));
	for (int i = 0; i < PIPES; i++) {
		struct pipe *p = &w->pipes[i];

		assert_true(ref_list_is_empty(&p->in.own));
		ref_io_close(&w->waiters, &p->in, &w->me, NULL);
		ref_io_close(&w->waiters, &p->out, &w->me, NULL);
	}
	ref_waiters_destroy(&w->waiters);
	ref_lock_drop(&w->lock, &w->me);
	ref_thread_destroy(&w->me);
	ref_lock_destroy(&w->lock);
}

static void *read_byte(void *arg)
{
	struct reader *r = arg;
	struct world *w = r->world;
	struct ref_thread me;
	unsigned char byte;

	ref_thread_init(&me, &w->lock);
	__atomic_store_n(&r->tid, me.tid, __ATOMIC_RELAXED);
	ref_lock_acquire(&w->lock, &me);
	r->got = ref_io_read(&w->waiters, &r->pipe->in, &me, &byte, sizeof(byte));
	if (r->got == 1)
		r->got = byte;
	ref_lock_drop(&w->lock, &me);
	ref_thread_destroy(&me);
	return NULL;
}

static ssize_t reader_end(struct world *w, struct reader *r)
{
	ref_lock_drop(&w->lock, &w->me);
	pthread_join(r->thread, NULL);
	ref_lock_acquire(&w->lock, &w->me);
	r->pipe = NULL;
	return r->got;
}

static void until_blocked(struct world *w)
{
	while (w->waiters.nr != w->nr_blocked) {
		ref_lock_drop(&w->lock, &w->me);
		sched_yield();
		ref_lock_acquire(&w->lock, &w->me);
	}
}

static void reader_start(struct reader *r, struct pipe *p)
{
	r->pipe = p;
	assert_int_equal(pthread_create(&r->thread, NULL, read_byte, r), 0);
}

static void block(struct world *w, struct reader *r, struct pipe *p)
{
	reader_start(r, p);
	w->nr_blocked++;
	until_blocked(w);
}

/* Whether the kernel has the reader blocked in read(2). */
static bool is_in_read(struct reader *r)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall",
		 __atomic_load_n(&r->tid, __ATOMIC_RELAXED));
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return text[0] >= '0' && text[0] <= '9' && atol(text) == SYS_read;
}

static void visits_are(enum ref_waiters_design design, uint64_t visits)
{
	struct ref_close sum = { 0 }, c;
	struct world w;

	world_init(&w, design);
	for (int i = 0; i < READERS; i++)
		block(&w, &w.readers[i], &w.pipes[i]);
	for (int i = 0; i < READERS; i++) {
		assert_int_equal(ref_io_close(&w.waiters, &w.pipes[i].in, &w.me, &c), 0);
		assert_int_equal(w.waiters.nr, READERS - 1 - i);
		assert_int_equal(reader_end(&w, &w.readers[i]), -EBADF);
		assert_int_equal(c.matched, 1);
		assert_true(c.scan_ns + c.wait_ns + c.call_ns == c.total_ns);
		sum.visited += c.visited;
	}
	assert_int_equal(sum.visited, visits);
	world_release(&w);
}

static void closing_one_of_n_visits_all_of_the_global_list_and_one_of_its_own(void **state)
{
	(void)state;
	visits_are(REF_WAITERS_GLOBAL, READERS * (READERS + 1) / 2);
	visits_are(REF_WAITERS_PER_IO, READERS);
	visits_are(REF_WAITERS_DIRECT, READERS);
}

static void one_close_ends_all_that_read_the_same(void **state)
{
	(void)state;
	for (int d = REF_WAITERS_GLOBAL; d < REF_WAITERS_NONE; d++) {
		struct ref_close c;
		struct world w;

		world_init(&w, d);
		for (int i = 0; i < READERS; i++)
			block(&w, &w.readers[i], &w.pipes[0]);
		assert_int_equal(ref_io_close(&w.waiters, &w.pipes[0].in, &w.me, &c), 0);
		assert_int_equal(c.visited, READERS);
		assert_int_equal(c.matched, READERS);
		for (int i = 0; i < READERS; i++)
			assert_int_equal(reader_end(&w, &w.readers[i]), -EBADF);
		world_release(&w);
	}
}

static void what_is_closed_can_be_neither_read_nor_closed(void **state)
{
	(void)state;
	for (int d = 0; d < REF_WAITERS_DESIGNS; d++) {
		struct ref_close c;
		struct world w;
		char byte;

		world_init(&w, d);
		assert_int_equal(ref_io_close(&w.waiters, &w.pipes[0].in, &w.me, &c), 0);
		assert_int_equal(c.visited, 0);
		assert_int_equal(ref_io_close(&w.waiters, &w.pipes[0].in, &w.me, &c), -EBADF);
		assert_int_equal(ref_io_read(&w.waiters, &w.pipes[0].in, &w.me, &byte, 1), -EBADF);
		world_release(&w);
	}
}

static void without_a_list_a_reader_stays_blocked(void **state)
{
	uint64_t until_ns;
	struct world w;

	(void)state;
#ifdef __SANITIZE_THREAD__
	print_message("to close what another thread reads is the race that it is to report\n");
	skip();
#endif
	world_init(&w, REF_WAITERS_NONE);
	block(&w, &w.readers[0], &w.pipes[0]);
	ref_lock_drop(&w.lock, &w.me);
	while (!is_in_read(&w.readers[0]))	/* or else this shows nothing */
		sched_yield();
	ref_lock_acquire(&w.lock, &w.me);
	assert_int_equal(ref_io_close(&w.waiters, &w.pipes[0].in, &w.me, NULL), 0);
	until_ns = clock_now_ns() + 50 * NS_PER_MS;
	while (clock_now_ns() < until_ns) {
		assert_int_equal(w.waiters.nr, 1);
		ref_lock_drop(&w.lock, &w.me);
		sched_yield();
		ref_lock_acquire(&w.lock, &w.me);
	}
	assert_int_equal(ref_io_close(&w.waiters, &w.pipes[0].out, &w.me, NULL), 0);
	assert_int_equal(reader_end(&w, &w.readers[0]), 0);
	world_release(&w);
}

/* What readers got, in the order in which it was certain that they would. */
struct log {
	uint64_t seed;
	uint32_t nr;
	int reader[2 * STEPS];
	ssize_t got[2 * STEPS];
};

static void log_end(struct world *w, struct log *log, int reader)
{
	log->reader[log->nr] = reader;
	log->got[log->nr++] = reader_end(w, &w->readers[reader]);
}

static uint32_t nr_readers_of(const struct world *w, const struct pipe *p)
{
	uint32_t nr = 0;

	for (int i = 0; i < READERS; i++)
		nr += w->readers[i].pipe == p;
	return nr;
}

static void log_ends(struct world *w, struct log *log, const struct pipe *p)
{
	for (int i = 0; i < READERS; i++) {
		if (w->readers[i].pipe != p)
			continue;
		w->nr_blocked--;
		log_end(w, log, i);
	}
}

static void step_read(struct world *w, struct log *log, int reader, struct pipe *p)
{
	if (w->readers[reader].pipe)
		return;
	if (p->in.fd >= 0 && p->out.fd >= 0 && !p->nr_bytes) {
		block(w, &w->readers[reader], p);
		return;
	}
	reader_start(&w->readers[reader], p);
	log_end(w, log, reader);
	p->nr_bytes -= p->in.fd >= 0 && p->nr_bytes;
}

/* With more than one reader nobody could know which of them gets the byte. */
static void step_write(struct world *w, struct log *log, unsigned char byte, struct pipe *p)
{
	uint32_t nr = nr_readers_of(w, p);

	if (p->in.fd < 0 || p->out.fd < 0 || nr > 1)
		return;
	assert_int_equal(write(p->out.fd, &byte, 1), 1);
	p->nr_bytes += !nr;
	log_ends(w, log, p);
}

static void step_close(struct world *w, struct log *log, struct pipe *p, struct ref_io *io)
{
	if (p->in.fd < 0 && p->out.fd < 0) {
		pipe_open(p);
		return;
	}
	ref_io_close(&w->waiters, io, &w->me, NULL);
	log_ends(w, log, p);
}

static void play(struct log *log, enum ref_waiters_design design)
{
	uint64_t random = log->seed, nr = from_env("REF_STEPS", STEPS);
	struct world w;

	world_init(&w, design);
	for (uint64_t i = 0; i < nr && i < STEPS; i++) {
		uint64_t r = random_next(&random);
		struct pipe *p = &w.pipes[r % (PIPES / 4)];
		int reader = (r >> 8) % READERS;

		switch (r >> 60) {
		case 0:
			step_close(&w, log, p, &p->in);
			break;
		case 1:
			step_close(&w, log, p, r >> 32 & 1 ? &p->in : &p->out);
			break;
		case 2: case 3: case 4:
			step_write(&w, log, 1 + reader, p);
			break;
		default:
			step_read(&w, log, reader, p);
		}
	}
	for (int i = 0; i < PIPES; i++) {
		ref_io_close(&w.waiters, &w.pipes[i].in, &w.me, NULL);
		log_ends(&w, log, &w.pipes[i]);
	}
	world_release(&w);
}

static void all_designs_give_the_same_threads_the_same(void **state)
{
	uint64_t seed = from_env("REF_SEED", 18455);

	(void)state;
	print_message("seed %llu\n", (unsigned long long)seed);
	for (int round = 0; round < 3; round++, seed++) {
		static struct log global, other;

		global = (struct log){ .seed = seed };
		play(&global, REF_WAITERS_GLOBAL);
		assert_true(global.nr > from_env("REF_STEPS", STEPS) / 4);
		for (int d = REF_WAITERS_PER_IO; d < REF_WAITERS_NONE; d++) {
			other = (struct log){ .seed = seed };
			play(&other, d);
			assert_int_equal(other.nr, global.nr);
			assert_memory_equal(other.reader, global.reader, sizeof(global.reader));
			assert_memory_equal(other.got, global.got, sizeof(global.got));
		}
	}
}

/* Closes both ends, if nobody does already, and puts another pipe there. */
static void renew(struct world *w, struct pipe *p, struct ref_thread *th)
{
	if (ref_io_close(&w->waiters, &p->in, th, NULL))
		return;
	require(!ref_io_close(&w->waiters, &p->out, th, NULL));
	pipe_open(p);
}

/* A full pipe is as good. */
static void put(struct pipe *p)
{
	if (p->in.fd >= 0 && p->out.fd >= 0)
		require(write(p->out.fd, "", 1) == 1 || errno == EAGAIN);
}

/* With the lock held. Who may not block does not read what may be empty. */
static void operate(struct world *w, struct ref_thread *th, uint64_t r, bool may_block)
{
	struct pipe *p = &w->pipes[r % PIPES];
	ssize_t got;
	char byte;

	w->nr_operations++;
	if (r >> 58 < 3) {
		renew(w, p, th);
		return;
	}
	if (!may_block || r >> 58 < 50)
		put(p);
	if (!may_block)
		return;
	got = ref_io_read(&w->waiters, &p->in, th, &byte, sizeof(byte));
	require(got == 1 || got == -EBADF);
}

struct worker {
	struct world *world;
	pthread_t thread;
	uint64_t random;
};

static void *work(void *arg)
{
	struct worker *me = arg;
	struct world *w = me->world;
	struct ref_thread th;

	ref_thread_init(&th, &w->lock);
	ref_lock_acquire(&w->lock, &th);
	while (!w->is_over)
		operate(w, &th, random_next(&me->random), true);
	ref_lock_drop(&w->lock, &th);
	ref_thread_destroy(&th);
	return NULL;
}

static void operate_all(enum ref_waiters_design design, uint64_t nr, uint64_t seed)
{
	struct worker workers[WORKERS];
	uint64_t random = seed;
	struct world w;

	world_init(&w, design);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .world = &w, .random = random_next(&random) };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	while (w.nr_operations < nr) {
		operate(&w, &w.me, random_next(&random), false);
		ref_lock_drop(&w.lock, &w.me);
		ref_lock_acquire(&w.lock, &w.me);
	}
	w.is_over = true;
	for (int i = 0; i < PIPES; i++)
		ref_io_close(&w.waiters, &w.pipes[i].in, &w.me, NULL);
	ref_lock_drop(&w.lock, &w.me);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	ref_lock_acquire(&w.lock, &w.me);
	world_release(&w);
}

static void random_operations_leave_no_waiter_behind(void **state)
{
	uint64_t nr = from_env("REF_OPERATIONS", 5000), seed = from_env("REF_SEED", 1);

	(void)state;
	for (int d = REF_WAITERS_GLOBAL; d < REF_WAITERS_NONE; d++)
		operate_all(d, nr / REF_WAITERS_NONE + 1, seed + d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closing_one_of_n_visits_all_of_the_global_list_and_one_of_its_own),
		cmocka_unit_test(one_close_ends_all_that_read_the_same),
		cmocka_unit_test(what_is_closed_can_be_neither_read_nor_closed),
		cmocka_unit_test(without_a_list_a_reader_stays_blocked),
		cmocka_unit_test(all_designs_give_the_same_threads_the_same),
		cmocka_unit_test(random_operations_leave_no_waiter_behind),
	};

	alarm(LIMIT_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
