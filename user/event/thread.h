/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which Ruby threads there are in one target, what they are called, and what each did on one lock.
 * A thread is its rb_thread_t, whose address is used again for a new thread after the end of its
 * task, or once another task is found to run at it.
 */
#ifndef GVL_EVENT_THREAD_H
#define GVL_EVENT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/map.h"

#define THREAD_NO_LOCK UINT32_MAX

/* What a thread does without the lock: event/block.h. */
struct thread_region {
	uint64_t start_ns;		/* 0: it does not */
	uint64_t function;		/* that it runs, for profile_function(); 0: not known */
	uint32_t call;
	uint8_t file;
	bool is_over;			/* and it waits for the lock, if it has to */
};

struct thread {
	uint64_t addr;			/* rb_thread_t */
	uint64_t holds;
	uint64_t hold_ns;
	uint64_t waits;
	uint64_t wait_ns;
	uint64_t blame_ns;
	uint64_t offcpu_hold_ns;
	uint64_t handoff_ns;

	struct thread_region region;
	uint64_t next_function;		/* of the region that comes next */
	uint64_t queued_ns;		/* since when, while it is queued */
	struct thread *next_queued;
	struct thread *prev_queued;
	struct thread *next_of_lock;	/* all that ever had to do with the lock */
	struct thread *next_known;	/* at this address, on another lock or still in use there */
	char *name;			/* raw bytes from outside, or NULL */
	uint32_t lock;			/* id or THREAD_NO_LOCK: named, not yet seen at any */
	uint32_t tid;			/* 0: not known, or changing (M:N) */
	bool is_named;			/* by itself, not only by its task's name */
	bool is_tid_guessed;
	bool is_ended;
	bool is_queued;
	bool is_owner;
	bool is_wait_cut;		/* it was queued already when its wait began to be seen */
};

/* All zero is an empty one. */
struct threads {
	struct map by_addr;		/* struct thread, linked by next_known */
	struct map by_tid;		/* struct task */
	bool is_tied;			/* an event said which task runs which thread */
};

/* Frees the threads that no lock has; those of a lock go with threads_free(). */
void threads_release(struct threads *ts);

/* Frees the threads linked by next_of_lock. */
void threads_free(struct thread *first);

/*
 * The thread now at @addr, as it is known to @lock. A new one is put in front of *of_lock, linked by
 * next_of_lock. NULL when out of memory.
 */
struct thread *threads_get(struct threads *ts, uint32_t lock, uint64_t addr,
			   struct thread **of_lock);

/*
 * An EVENT_NAME: task @tid or thread @addr or both (0: not said) is called @name. 0 or -ENOMEM.
 * A thread named without a task is one that has none of its own (M:N).
 */
int threads_name(struct threads *ts, uint64_t addr, uint32_t tid, const char *name);

/* Notes that task @tid runs @t, if nothing better is known. 0 or -ENOMEM. */
int threads_learn_tid(struct threads *ts, struct thread *t, uint32_t tid);

/*
 * Task @tid ended; it was called @comm. 0 or -ENOMEM. *out is the first at the address of the
 * thread it ran, or NULL: of those linked by next_known, the ones with this tid have ended.
 */
int threads_exit(struct threads *ts, uint32_t tid, const char *comm, struct thread **out);

#endif
