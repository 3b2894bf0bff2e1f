/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a stream of events amounts to: the locks of all targets, and what became of the targets. */
#ifndef GVL_EVENT_PROFILE_H
#define GVL_EVENT_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "event/block.h"
#include "event/close.h"
#include "event/copy.h"
#include "event/event.h"
#include "event/lock.h"
#include "event/waiters.h"
#include "util/err.h"

#define PROFILE_LIFE_MAX 1024

/* A target forked, executed another program or ended. */
struct profile_life {
	uint64_t ts_ns;
	uint64_t child;		/* EVENT_FORK: the child's pid */
	uint16_t target;
	uint8_t kind;
};

struct profile_target {
	struct threads threads;
	struct waiters waiters;
	struct lock *locks;	/* linked by next_of_target */
};

struct profile {
	struct lock_window window;
	struct lock **locks;		/* by id; NULL where there is none */
	size_t nr_locks;		/* slots of locks */
	struct profile_target **targets;	/* by id; NULL where there is none */
	size_t nr_targets;
	struct map functions;		/* by target and address: name, heap */
	struct closes closes;
	struct blocks blocks;
	struct copies copies;
	uint64_t first_ns;		/* of all events of locks; UINT64_MAX: none */
	uint64_t last_ns;
	struct profile_life life[PROFILE_LIFE_MAX];	/* the first ones */
	size_t nr_life;			/* all of them */
};

/* A window of {0, UINT64_MAX} is everything. To be released in any case. */
void profile_init(struct profile *p, const struct lock_window *w);
void profile_release(struct profile *p);

/* Takes the next event. 0 or -ENOMEM with @e set. */
int profile_add(struct profile *p, const struct event *ev, struct err *e);

/* After the last event. 0 or -ENOMEM with @e set. */
int profile_finish(struct profile *p, struct err *e);

/* The name of a group's function, raw bytes from outside; NULL where it is not known. */
const char *profile_function(const struct profile *p, uint64_t key);

/* The threads of @l that did anything, by blame, then by time held. NULL when out of memory. */
const struct thread **profile_threads(const struct lock *l, size_t *nr);

#endif
