/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocking regions: from the moment a thread releases its lock, other than to hand it on under
 * preemption, until it has the lock again or queues for it.
 */
#ifndef GVL_EVENT_BLOCK_H
#define GVL_EVENT_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/lock.h"
#include "stat/dist.h"

#define BLOCK_SHORT_NS 10000	/* released for nothing: Ruby bug 21685 */
#define BLOCK_NO_CALL UINT32_MAX

struct block_group {
	uint32_t call;		/* system call number, or BLOCK_NO_CALL: it only computed */
	uint8_t file;		/* enum file_kind */
	uint64_t function;	/* for profile_function(); 0: not known */
	uint64_t is_short;	/* shorter than BLOCK_SHORT_NS */
	struct dist ns;
};

struct blocks {
	struct lock_window window;
	struct block_group *groups;	/* in order of appearance */
	size_t nr_groups;
	uint64_t wait_ns;	/* of threads for the lock, after their regions */
};

void blocks_init(struct blocks *b, const struct lock_window *w);
void blocks_release(struct blocks *b);

/* @t releases its lock; makes a call (EVENT_CALL); wants or has it again. 0 or -ENOMEM. */
void blocks_begin(struct thread *t, uint64_t ts_ns);
void blocks_call(struct thread *t, const struct event *ev);
int blocks_end(struct blocks *b, struct thread *t, uint64_t ts_ns);

/* @t has the lock again, for which it had queued at @queued_ns. */
void blocks_waited(struct blocks *b, struct thread *t, uint64_t queued_ns, uint64_t ts_ns);

/* All groups in one: to be released. 0 or -ENOMEM. */
int blocks_sum(const struct blocks *b, struct dist *ns, uint64_t *nr_short);

/* The groups, those with the most time first; NULL when out of memory. */
const struct block_group **blocks_sorted(const struct blocks *b);

#endif
