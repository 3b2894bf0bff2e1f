/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What writer and reader both remember of each lock within a chunk, to predict its next event. */
#ifndef GVL_TRACE_LOCKS_H
#define GVL_TRACE_LOCKS_H

#include <stdint.h>
#include <string.h>

#include "trace/dict.h"

struct lock_past {
	uint32_t owner;			/* index of the last owner's thread, plus 1; 0: not known */
	uint32_t seq;			/* last non-zero one */
	uint32_t kind_seq[EVENT_KIND_END];
};

/* All zero is a fresh one. */
struct locks {
	struct dict ids;		/* lock_key() */
	struct lock_past past[TRACE_LOCKS_MAX + 1];	/* one too many can be told */
	uint16_t tid_of[TRACE_EVENTS_MAX];	/* by thread: index of its last tid, plus 1, or 0 */
};

static inline uint64_t lock_key(uint16_t target, uint16_t lock)
{
	return (uint64_t)target << 16 | lock;
}

/* The index of a lock, whose past is empty if it is new. It may be one too many. */
static inline uint32_t locks_index(struct locks *l, uint64_t key)
{
	bool added;
	uint32_t i = dict_index(&l->ids, key, &added);

	if (added)
		memset(&l->past[i], 0, sizeof(l->past[i]));
	return i;
}

/* The tid last seen with a thread (index plus 1, 0: none); an index plus 1, or 0. */
static inline uint32_t locks_tid(const struct locks *l, uint32_t thread)
{
	return thread ? l->tid_of[thread - 1] : 0;
}

/* @thread: index plus 1, 0 where the event's thread is 0. */
static inline void lock_learn(struct lock_past *past, const struct event *ev, uint32_t thread)
{
	if (thread && (ev->kind == EVENT_OWNER || ev->kind == EVENT_STATE))
		past->owner = thread;
	if (ev->seq) {
		past->seq = ev->seq;
		past->kind_seq[ev->kind] = ev->seq;
	}
}

#endif
