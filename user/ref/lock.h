/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lock like Ruby's, in the two designs that Ruby had: a word that names its owner, a queue of those
 * that wait for it, a quantum after which the owner gives way to them. A thread that waits for the
 * processor while somebody else owns the lock sleeps on its own condition variable.
 *
 *	REF_LOCK_31	Ruby 3.0, 3.1 (thread_pthread.c: gvl_acquire_common(), gvl_release_common(),
 *			gvl_yield()). The releaser clears the word and wakes the first of the queue,
 *			which writes itself into it once it runs; a thread that comes in between gets
 *			the lock first. The first waiter is the timer: it sleeps for the quantum, then
 *			tells the owner to yield. Who yields waits until somebody else has had the lock.
 *	REF_LOCK_33	Ruby 3.3 on (thread_pthread.c: thread_sched_set_running(),
 *			thread_sched_wakeup_next_thread(), thread_sched_yield()). The releaser names
 *			the next owner, the first of the queue, in the word, then wakes it: strict order
 *			of arrival, and the lock is held while its owner wakes up. While somebody waits a
 *			timer thread ticks ten times a quantum; the owner yields at its tenth tick.
 *
 * The word and the queue are written under the lock's mutex, in the order that Ruby writes them: the
 * word by ref_set_owner(), the queue's tail, when a thread enters, by ref_set_tail(), so that probes on
 * those two see what probes on Ruby's own writers see.
 */
#ifndef GVL_REF_LOCK_H
#define GVL_REF_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ref/list.h"

enum ref_lock_design {
	REF_LOCK_31,
	REF_LOCK_33,
	REF_LOCK_DESIGNS
};

#define REF_QUANTUM_NS 100000000ULL	/* thread_pthread.c, TIME_QUANTUM_MSEC, Ruby 1.9.3 to 4.0 */

struct ref_lock;
struct lock_ops;

/* A thread that can own a lock; in the caller's storage, e.g. on its stack. */
struct ref_thread {
	struct ref_list queue_node;
	struct ref_lock *lock;
	void *vm;			/* for who traces it as if it were Ruby; may be NULL */
	uint32_t tid;
	bool has_tick;			/* atomic: the timer saw it own the lock while somebody waits */
	uint32_t nr_ticks;		/* since it got the lock from somebody else */
	pthread_cond_t cond;
};

/* What happened on a lock since it was made. Exact. */
struct ref_lock_counts {
	uint64_t changes;		/* writes of the word */
	uint64_t entries;		/* into the queue */
	uint64_t yields;		/* at the end of a quantum */
};

/* The first members are what gvlscope reads of a Ractor. */
struct ref_lock {
	struct ref_list node;		/* on its VM's list of Ractors */
	pthread_mutex_t mutex;
	struct ref_thread *owner;	/* the lock word */
	struct ref_list queue;
	uint32_t nr_queued;
	uint32_t id;

	enum ref_lock_design design;
	uint64_t quantum_ns;
	struct ref_lock_counts counts;
	/* private to lock.c from here on */
	const struct lock_ops *ops;
	struct ref_thread *last;	/* owner, or the last that there was; only to be compared */

	struct ref_thread *timer;	/* 3.1: the waiter that watches the quantum */
	uint64_t deadline_ns;		/* ... until when */
	bool is_expired;		/* the next to watch begins a new quantum */
	bool need_yield, wait_yield;	/* somebody yields and waits for another to get the lock */
	pthread_cond_t switched, switch_wait;

	bool is_running;		/* 3.3: the owner is awake */
	pthread_t timer_thread;
	pthread_mutex_t timer_mutex;	/* of what follows; the innermost */
	pthread_cond_t timer_cond;
	struct ref_thread *sliced;	/* the owner, if it is awake and somebody waits */
	bool is_timer_idle, is_ending;
};

/* "3.1" or "3.3", for reports. */
const char *ref_lock_name(enum ref_lock_design design);

/* A lock that nobody owns. 0 or -errno: a thread could not be started. Destroy it when nobody uses it. */
int ref_lock_init(struct ref_lock *l, enum ref_lock_design design, uint64_t quantum_ns);
void ref_lock_destroy(struct ref_lock *l);

/* For the calling thread. It must not own or wait for the lock when it is destroyed. */
void ref_thread_init(struct ref_thread *th, struct ref_lock *l);
void ref_thread_destroy(struct ref_thread *th);

/* Only for the thread itself. It does not own the lock before acquire, and does before drop. */
void ref_lock_acquire(struct ref_lock *l, struct ref_thread *th);
void ref_lock_drop(struct ref_lock *l, struct ref_thread *th);

/*
 * A point where Ruby looks for interrupts (RUBY_VM_CHECK_INTS()), to be passed often by who computes
 * with the lock: one load when nothing is to be done. Yields, and returns true, when the quantum is
 * over and somebody waits.
 */
bool ref_lock_check(struct ref_lock *l, struct ref_thread *th);

/* The writers that are to be probed. See above. */
void ref_set_owner(struct ref_lock *l, struct ref_thread *th);
void ref_set_tail(struct ref_list *head, struct ref_list *node);

#endif
