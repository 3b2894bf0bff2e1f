// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stat/sample.h"
#include "util/clock.h"
#include "util/scope.h"

#define STACK_BYTES (1024 * 1024)	/* Ruby: vm_core.h, RUBY_VM_THREAD_MACHINE_STACK_SIZE */
#define POLL_NS (50 * NS_PER_US)

/* Who passes the baton on holds the lock: the next one comes to the list after it. */
static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct readers *p = r->all;
	struct ref_thread me;
	char byte;

	ref_thread_init(&me, &p->lock);
	for (;;) {
		while (sem_wait(&r->go))
			;
		if (p->is_ending)
			break;
		ref_lock_acquire(&p->lock, &me);
		if (r->next)
			sem_post(&r->next->go);
		ref_io_read(p->now, &r->in, &me, &byte, sizeof(byte));
		ref_lock_drop(&p->lock, &me);
	}
	ref_thread_destroy(&me);
	return NULL;
}

static int reader_start(struct reader *r, struct readers *p)
{
	pthread_attr_t attr;
	int err;

	r->all = p;
	ref_io_init(&r->in, -1, false);
	ref_io_init(&r->out, -1, true);
	sem_init(&r->go, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&r->thread, &attr, reader_main, r);
	pthread_attr_destroy(&attr);
	return -err;
}

int readers_init(struct readers *p, uint32_t nr, bool has_out)
{
	int err;

	*p = (struct readers){ .has_out = has_out, .seed = 18455 };
	p->reader = calloc(nr + 1, sizeof(*p->reader));
	p->order = calloc(nr + 1, sizeof(*p->order));
	err = p->reader && p->order ? ref_lock_init(&p->lock, REF_LOCK_33, REF_QUANTUM_NS) : -ENOMEM;
	if (err) {
		free(p->reader);
		free(p->order);
		return err;
	}
	ref_thread_init(&p->closer, &p->lock);
	ref_lock_acquire(&p->lock, &p->closer);
	while (!err && p->nr_designs < REF_WAITERS_DESIGNS) {
		err = ref_waiters_init(&p->waiters[p->nr_designs], p->nr_designs, &p->lock);
		p->nr_designs += !err;
	}
	while (!err && p->nr < nr) {
		err = reader_start(&p->reader[p->nr], p);
		p->nr += !err;
	}
	if (err)
		readers_release(p);
	return err;
}

static void io_release(struct ref_io *io)
{
	if (io->fd >= 0)
		close(io->fd);
	io->fd = -1;
}

void readers_release(struct readers *p)
{
	ref_lock_drop(&p->lock, &p->closer);
	p->is_ending = true;
	for (uint32_t i = 0; i < p->nr; i++)
		sem_post(&p->reader[i].go);
	for (uint32_t i = 0; i < p->nr; i++) {
		struct reader *r = &p->reader[i];

		pthread_join(r->thread, NULL);
		sem_destroy(&r->go);
		io_release(&r->in);
		io_release(&r->out);
	}
	while (p->nr_designs)
		ref_waiters_destroy(&p->waiters[--p->nr_designs]);
	ref_thread_destroy(&p->closer);
	ref_lock_destroy(&p->lock);
	free(p->reader);
	free(p->order);
}

static int reader_open(struct reader *r)
{
	auto_close int in = -1, out = -1;
	char path[64];
	int fds[2];

	if (r->in.fd >= 0)
		return 0;
	io_release(&r->out);
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	in = fds[0];
	out = fds[1];
	if (r->all->has_out) {
		ref_io_init(&r->in, take_fd(in), false);
		ref_io_init(&r->out, take_fd(out), true);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", in);
	fds[0] = open(path, O_RDWR | O_CLOEXEC);
	if (fds[0] < 0)
		return -errno;
	ref_io_init(&r->in, fds[0], false);
	return 0;
}

/* Without the lock while it waits, which is about as long as what it waits for takes. */
static void poll_once(struct readers *p)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };

	ref_lock_drop(&p->lock, &p->closer);
	nanosleep(&pause, NULL);
	ref_lock_acquire(&p->lock, &p->closer);
}

/* The order in which they come to the list. */
static void line_up(struct readers *p, bool is_shuffled)
{
	for (uint32_t i = 0; i < p->nr; i++)
		p->order[i] = &p->reader[i];
	for (uint32_t i = p->nr; is_shuffled && i > 1; i--) {
		uint32_t k = random_next(&p->seed) % i;
		struct reader *r = p->order[k];

		p->order[k] = p->order[i - 1];
		p->order[i - 1] = r;
	}
	for (uint32_t i = 0; i < p->nr; i++)
		p->order[i]->next = i + 1 < p->nr ? p->order[i + 1] : NULL;
}

int readers_gather(struct readers *p, enum ref_waiters_design design, bool is_shuffled)
{
	for (uint32_t i = 0; i < p->nr; i++) {
		int err = reader_open(&p->reader[i]);

		if (err)
			return err;
	}
	p->now = &p->waiters[design];
	line_up(p, is_shuffled);
	if (p->nr)
		sem_post(&p->order[0]->go);
	while (p->now->nr < p->nr)
		poll_once(p);
	return 0;
}

void readers_let_go(struct readers *p, uint32_t index)
{
	struct reader *r = &p->reader[index];

	while (write(p->has_out ? r->out.fd : r->in.fd, "", 1) != 1)
		;
}

bool readers_wait(struct readers *p, uint64_t nr, uint64_t limit_ns)
{
	uint64_t start_ns = clock_now_ns();

	while (p->now->nr > nr) {
		if (clock_now_ns() - start_ns > limit_ns)
			return false;
		poll_once(p);
	}
	return true;
}
