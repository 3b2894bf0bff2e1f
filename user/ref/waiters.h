/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who waits in blocking calls on which IO, and how a close finds and interrupts them.
 *
 *	REF_WAITERS_GLOBAL	Ruby <= 3.4 (thread.c, rb_notify_fd_close(), struct waiting_fd on the
 *				waiter's stack): one list of all waiters; each close scans all of it for
 *				its descriptor, interrupts those it finds, waits until they have left.
 *	REF_WAITERS_PER_IO	Ruby 4.0 (thread.c, rb_thread_io_close_interrupt()): each IO has a list of
 *				its own and a flag that it is being closed; the last waiter to leave wakes
 *				the closer.
 *	REF_WAITERS_DIRECT	per IO, and each waiter is signalled alone and waited for before the next:
 *				no list of threads to signal again. The sound variant nearest to the next.
 *	REF_WAITERS_NONE	the experiment of bug 18455: no list at all, close(2) alone. On Linux a
 *				reader that is blocked in a pipe is not woken by it.
 *
 * A waiter is interrupted by a signal, as Ruby's SIGVTALRM; since that may come just before the call
 * that it is to break, it is sent again until the waiter has left (thread_pthread.c, ubf_list and
 * ubf_wakeup_all_threads(): every 10 ms).
 *
 * As in Ruby, enter, leave and close are called with the lock held; the blocking call itself is made
 * without it.
 */
#ifndef GVL_REF_WAITERS_H
#define GVL_REF_WAITERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ref/list.h"
#include "ref/lock.h"

enum ref_waiters_design {
	REF_WAITERS_GLOBAL,
	REF_WAITERS_PER_IO,
	REF_WAITERS_DIRECT,
	REF_WAITERS_NONE,
	REF_WAITERS_DESIGNS
};

/* All zero but for what ref_waiters_init() and ref_io_init() set; members are private. */
struct ref_waiters {
	enum ref_waiters_design design;
	struct ref_lock *lock;
	struct ref_list all;		/* GLOBAL: every waiter */
	uint64_t nr;			/* waiters now, in any design */
	pthread_mutex_t mutex;		/* of who is to be signalled, and of who is awaited */
	struct ref_list resignal;
	pthread_cond_t resignal_cond;
	pthread_t resignal_thread;
	bool has_thread, is_ending;
	bool is_idle;			/* the thread sleeps until somebody is on its list */
};

struct ref_close_wait;

struct ref_io {
	int fd;				/* -1 once closed */
	bool is_writable;		/* close(2) of it is called without the lock, as in Ruby */
	struct ref_list own;		/* PER_IO, DIRECT */
	struct ref_close_wait *closing;	/* somebody closes it: nobody enters any more */
};

/* One wait, on the waiting thread's stack. */
struct ref_waiter {
	struct ref_list node;
	struct ref_io *io;
	struct ref_thread *th;
	pthread_t thread;
	struct ref_close_wait *closing;	/* interrupted by this close */
	struct ref_list resignal_node;
	bool is_blocked;		/* or soon will be: a signal may be needed */
};

/* What one close did, as gvlscope counts it (DESIGN.md, section 1). */
struct ref_close {
	uint64_t visited, matched;
	uint64_t scan_ns, wait_ns, call_ns, total_ns;
};

const char *ref_waiters_name(enum ref_waiters_design design);	/* "global", "per-io", "direct", "none" */

/*
 * Installs the handler of the interrupting signal (SIGVTALRM), once for the process; ref_waiters_destroy()
 * does not take it away. 0 or -errno.
 */
int ref_waiters_init(struct ref_waiters *w, enum ref_waiters_design design, struct ref_lock *lock);
void ref_waiters_destroy(struct ref_waiters *w);	/* nobody may wait */

void ref_io_init(struct ref_io *io, int fd, bool is_writable);

/* 0, or -EBADF when @io is closed or being closed: there is nothing to leave then. */
int ref_waiters_enter(struct ref_waiters *w, struct ref_io *io, struct ref_waiter *me,
		      struct ref_thread *th);
/* 0, or -EBADF when a close interrupted the wait (Ruby raises IOError "stream closed in another thread"). */
int ref_waiters_leave(struct ref_waiters *w, struct ref_io *io, struct ref_waiter *me);

/*
 * read(2) as Ruby does it: enter, without the lock read, leave. The number of bytes, 0 at the end, -EBADF when
 * it was closed meanwhile, or -errno.
 */
ssize_t ref_io_read(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th, void *buf,
		    size_t size);

/*
 * Closes @io: 0 with what it took in @out (may be NULL), or -EBADF when it is closed, or being closed,
 * already. With REF_WAITERS_NONE readers stay blocked.
 */
int ref_io_close(struct ref_waiters *w, struct ref_io *io, struct ref_thread *th,
		 struct ref_close *out);

#endif
