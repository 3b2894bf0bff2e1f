// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/waiters.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "ref/cond.h"
#include "util/clock.h"

#define INTERRUPT_SIGNAL SIGVTALRM	/* Ruby: thread_pthread.c, ubf_wakeup_thread() */
#define RESIGNAL_NS (10 * NS_PER_MS)

/* A close that has interrupted waiters; on the closing thread's stack. */
struct ref_close_wait {
	struct ref_list pending;	/* GLOBAL: those interrupted, off the list of all */
	uint64_t nr_awaited;		/* interrupted, not left yet */
	pthread_cond_t has_left;	/* all that were awaited */
};

/* The lock is held when they are called, and when they return. */
struct ops {
	const char *name;
	bool is_resignalled;		/* by a thread for all */
	/* Where waiters of @io are kept; NULL: nowhere. */
	struct ref_list *(*list)(struct ref_waiters *w, struct ref_io *io);
	/* Interrupts who waits for @io, and counts in @out who was visited and who matched. */
	void (*scan)(struct ref_waiters *w, struct ref_io *io, struct ref_close *out);
	/* Returns when nobody waits for @io. */
	void (*wait)(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th,
		     struct ref_close *out);
};

static void on_interrupt(int signal)
{
	(void)signal;
}

/* With the mutex held, and before the waiter has left: its thread is there. */
static void send_signal(struct ref_waiter *waiter)
{
	if (waiter->is_blocked)
		pthread_kill(waiter->thread, INTERRUPT_SIGNAL);
}

static void interrupt(struct ref_waiters *w, struct ref_waiter *waiter, struct ref_close_wait *c)
{
	pthread_mutex_lock(&w->mutex);
	waiter->closing = c;
	c->nr_awaited++;
	send_signal(waiter);
	pthread_mutex_unlock(&w->mutex);
}

/* From now on @waiter is signalled again until it is unblocked. */
static void resignal_add(struct ref_waiters *w, struct ref_waiter *waiter)
{
	pthread_mutex_lock(&w->mutex);
	if (waiter->is_blocked)
		ref_list_add_tail(&w->resignal, &waiter->resignal_node);
	if (w->is_idle)
		pthread_cond_signal(&w->resignal_cond);
	pthread_mutex_unlock(&w->mutex);
}

/* Ruby: thread_pthread.c, ubf_wakeup_all_threads(), by the timer thread. */
static void *resignal_main(void *arg)
{
	struct ref_waiters *w = arg;

	pthread_mutex_lock(&w->mutex);
	while (!w->is_ending) {
		uint64_t deadline_ns;

		w->is_idle = ref_list_is_empty(&w->resignal);
		if (w->is_idle) {
			pthread_cond_wait(&w->resignal_cond, &w->mutex);
			continue;
		}
		deadline_ns = clock_now_ns() + RESIGNAL_NS;
		while (!w->is_ending &&
		       !ref_cond_wait_until(&w->resignal_cond, &w->mutex, deadline_ns))
			;
		for (struct ref_list *n = w->resignal.next; n != &w->resignal; n = n->next)
			send_signal(ref_entry(n, struct ref_waiter, resignal_node));
	}
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

static struct ref_list *list_all(struct ref_waiters *w, struct ref_io *io)
{
	(void)io;
	return &w->all;
}

static struct ref_list *list_own(struct ref_waiters *w, struct ref_io *io)
{
	(void)w;
	return &io->own;
}

static struct ref_list *list_none(struct ref_waiters *w, struct ref_io *io)
{
	(void)w;
	(void)io;
	return NULL;
}

/* Ruby 3.3: thread.c, rb_notify_fd_close(). */
static void scan_all(struct ref_waiters *w, struct ref_io *io, struct ref_close *out)
{
	for (struct ref_list *n = w->all.next, *next; n != &w->all; n = next) {
		struct ref_waiter *waiter = ref_entry(n, struct ref_waiter, node);

		next = n->next;
		out->visited++;
		if (waiter->io != io)
			continue;
		out->matched++;
		ref_list_del(n);
		ref_list_add(&io->closing->pending, n);
		interrupt(w, waiter, io->closing);
		resignal_add(w, waiter);
	}
}

/* Ruby 4.0: thread.c, thread_io_close_notify_all(). */
static void scan_own(struct ref_waiters *w, struct ref_io *io, struct ref_close *out)
{
	for (struct ref_list *n = io->own.next; n != &io->own; n = n->next) {
		struct ref_waiter *waiter = ref_entry(n, struct ref_waiter, node);

		out->visited++;
		out->matched++;
		interrupt(w, waiter, io->closing);
		resignal_add(w, waiter);
	}
}

static void scan_none(struct ref_waiters *w, struct ref_io *io, struct ref_close *out)
{
	(void)w;
	(void)io;
	(void)out;
}

/* Ruby: thread.c, rb_notify_fd_close_wait() up to 3.4, rb_thread_io_close_wait() from 4.0 on. */
static void wait_all(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th,
		     struct ref_close *out)
{
	struct ref_close_wait *c = io->closing;

	(void)out;
	if (!c->nr_awaited)
		return;
	ref_cond_init(&c->has_left);
	ref_lock_drop(w->lock, th);
	pthread_mutex_lock(&w->mutex);
	while (c->nr_awaited)
		pthread_cond_wait(&c->has_left, &w->mutex);
	pthread_mutex_unlock(&w->mutex);
	ref_lock_acquire(w->lock, th);
	pthread_cond_destroy(&c->has_left);
}

/* Interrupts one waiter after the other; each has left before the next is looked at. */
static void wait_each(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th,
		      struct ref_close *out)
{
	struct ref_close_wait *c = io->closing;

	ref_cond_init(&c->has_left);
	while (!ref_list_is_empty(&io->own)) {
		struct ref_waiter *waiter = ref_entry(io->own.next, struct ref_waiter, node);

		out->visited++;
		out->matched++;
		interrupt(w, waiter, c);
		ref_lock_drop(w->lock, th);
		pthread_mutex_lock(&w->mutex);
		while (c->nr_awaited) {
			uint64_t deadline_ns = clock_now_ns() + RESIGNAL_NS;

			if (ref_cond_wait_until(&c->has_left, &w->mutex, deadline_ns) &&
			    c->nr_awaited)
				send_signal(waiter);
		}
		pthread_mutex_unlock(&w->mutex);
		ref_lock_acquire(w->lock, th);
	}
	pthread_cond_destroy(&c->has_left);
}

static void wait_none(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th,
		      struct ref_close *out)
{
	(void)w;
	(void)io;
	(void)th;
	(void)out;
}

static const struct ops all_ops[REF_WAITERS_DESIGNS] = {
	[REF_WAITERS_GLOBAL] = { "global", true, list_all, scan_all, wait_all },
	[REF_WAITERS_PER_IO] = { "per-io", true, list_own, scan_own, wait_all },
	[REF_WAITERS_DIRECT] = { "direct", false, list_own, scan_none, wait_each },
	[REF_WAITERS_NONE] = { "none", false, list_none, scan_none, wait_none },
};

const char *ref_waiters_name(enum ref_waiters_design design)
{
	return all_ops[design].name;
}

int ref_waiters_init(struct ref_waiters *w, enum ref_waiters_design design, struct ref_lock *lock)
{
	struct sigaction action = { .sa_handler = on_interrupt };
	int err;

	*w = (struct ref_waiters){ .design = design, .lock = lock };
	sigemptyset(&action.sa_mask);
	if (sigaction(INTERRUPT_SIGNAL, &action, NULL))
		return -errno;
	ref_list_init(&w->all);
	ref_list_init(&w->resignal);
	pthread_mutex_init(&w->mutex, NULL);
	ref_cond_init(&w->resignal_cond);
	if (!all_ops[design].is_resignalled)
		return 0;
	err = pthread_create(&w->resignal_thread, NULL, resignal_main, w);
	w->has_thread = !err;
	if (err)
		ref_waiters_destroy(w);
	return -err;
}

void ref_waiters_destroy(struct ref_waiters *w)
{
	if (w->has_thread) {
		pthread_mutex_lock(&w->mutex);
		w->is_ending = true;
		pthread_cond_signal(&w->resignal_cond);
		pthread_mutex_unlock(&w->mutex);
		pthread_join(w->resignal_thread, NULL);
	}
	pthread_cond_destroy(&w->resignal_cond);
	pthread_mutex_destroy(&w->mutex);
}

void ref_io_init(struct ref_io *io, int fd, bool is_writable)
{
	*io = (struct ref_io){ .fd = fd, .is_writable = is_writable };
	ref_list_init(&io->own);
}

int ref_waiters_enter(struct ref_waiters *w, struct ref_io *io, struct ref_waiter *me,
		      struct ref_thread *th)
{
	struct ref_list *list = all_ops[w->design].list(w, io);

	if (io->fd < 0 || io->closing)
		return -EBADF;
	*me = (struct ref_waiter){
		.io = io, .th = th, .thread = pthread_self(), .is_blocked = true,
	};
	ref_list_init(&me->node);
	ref_list_init(&me->resignal_node);
	if (list)
		ref_list_add(list, &me->node);
	w->nr++;
	return 0;
}

/* The call that blocks is over: no more signals. As in Ruby before it waits for the lock. */
static void unblock(struct ref_waiters *w, struct ref_waiter *me)
{
	pthread_mutex_lock(&w->mutex);
	me->is_blocked = false;
	ref_list_del(&me->resignal_node);
	pthread_mutex_unlock(&w->mutex);
}

int ref_waiters_leave(struct ref_waiters *w, struct ref_io *io, struct ref_waiter *me)
{
	unblock(w, me);
	ref_list_del(&me->node);
	w->nr--;
	if (me->closing) {
		pthread_mutex_lock(&w->mutex);
		if (--me->closing->nr_awaited == 0)
			pthread_cond_signal(&me->closing->has_left);
		pthread_mutex_unlock(&w->mutex);
	}
	return io->closing ? -EBADF : 0;
}

ssize_t ref_io_read(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th, void *buf,
		    size_t size)
{
	struct ref_waiter me;
	ssize_t n;

	do {
		int err = ref_waiters_enter(w, io, &me, th);
		int fd = io->fd;

		if (err)
			return err;
		ref_lock_drop(w->lock, th);
		n = read(fd, buf, size);
		n = n < 0 ? -errno : n;
		unblock(w, &me);
		ref_lock_acquire(w->lock, th);
		err = ref_waiters_leave(w, io, &me);
		if (err)
			return err;
	} while (n == -EINTR);
	return n;
}

static void close_fd(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th)
{
	int fd = io->fd;

	io->fd = -1;
	io->closing = NULL;
	if (io->is_writable)
		ref_lock_drop(w->lock, th);
	close(fd);
	if (io->is_writable)
		ref_lock_acquire(w->lock, th);
}

int ref_io_close(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th,
		 struct ref_close *out)
{
	const struct ops *ops = &all_ops[w->design];
	struct ref_close_wait c = { .nr_awaited = 0 };
	struct ref_close did = { 0 };
	uint64_t start_ns, scanned_ns, left_ns, end_ns;

	if (io->fd < 0 || io->closing)
		return -EBADF;
	ref_list_init(&c.pending);
	io->closing = &c;
	start_ns = clock_now_ns();
	ops->scan(w, io, &did);
	scanned_ns = clock_now_ns();
	ops->wait(w, io, th, &did);
	left_ns = clock_now_ns();
	close_fd(w, io, th);
	end_ns = clock_now_ns();

	did.scan_ns = scanned_ns - start_ns;
	did.wait_ns = left_ns - scanned_ns;
	did.call_ns = end_ns - left_ns;
	did.total_ns = end_ns - start_ns;
	if (out)
		*out = did;
	return 0;
}
