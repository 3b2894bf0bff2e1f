/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that are blocked, each reading a pipe of its own, and the calling thread, which closes
 * them: what benchmarks of waiter lists need. The threads stay; the design of the lists is chosen
 * anew each time that they gather. Their stacks have the size that Ruby's have: the lists' nodes
 * are as far apart.
 */
#ifndef GVL_REF_READERS_H
#define GVL_REF_READERS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "ref/lock.h"
#include "ref/waiters.h"

struct readers;

/* Reads one byte each time that it is told to go. */
struct reader {
	struct readers *all;
	struct reader *next;		/* to be told after it; NULL: it is the last */
	pthread_t thread;
	sem_t go;
	struct ref_io in, out;
};

/* The calling thread has the lock, but for when it waits for the readers. */
struct readers {
	struct ref_lock lock;
	struct ref_thread closer;
	struct ref_waiters waiters[REF_WAITERS_DESIGNS];
	struct ref_waiters *now;	/* of the design that they gathered for */
	struct reader *reader;
	struct reader **order;
	uint64_t seed;			/* of the order, where it is random */
	uint32_t nr;
	uint32_t nr_designs;		/* that are initialised */
	bool has_out;
	bool is_ending;
};

/*
 * Starts @nr threads. With @has_out each pipe has two ends, both IOs: two descriptors. Otherwise it
 * is opened once, for reading and writing, and counts as an IO for reading: one descriptor, so that
 * 10,000 readers fit where a process may have that many. 0 or -errno; release it only after 0.
 */
int readers_init(struct readers *p, uint32_t nr, bool has_out);
void readers_release(struct readers *p);	/* none may be blocked */

/*
 * None may be blocked before. All are when it returns 0, and each has a pipe; or -errno, and none
 * is: there are too few descriptors. They come to the list one after the other, in the order that their
 * threads were started in, or @is_shuffled. That matters: nodes at equal distances can be foreseen by the
 * processor, and a scan of them takes a fraction of the time.
 */
int readers_gather(struct readers *p, enum ref_waiters_design design, bool is_shuffled);

/* Lets the @index-th, which is blocked, have its byte. */
void readers_let_go(struct readers *p, uint32_t index);

/* Waits until only @nr are blocked; false if they were more after @limit_ns. */
bool readers_wait(struct readers *p, uint64_t nr, uint64_t limit_ns);

#endif
