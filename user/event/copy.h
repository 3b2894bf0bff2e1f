/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies of memory by who makes them: told one by one above a size, tallied below it, and sampled. */
#ifndef GVL_EVENT_COPY_H
#define GVL_EVENT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/lock.h"
#include "stat/dist.h"

#define COPY_SLOTS 65		/* by size: 0 bytes, then one for each power of two */

/* What one method copies in one way. */
struct copy_site {
	uint64_t function;	/* for profile_function(); 0: not known */
	uint8_t flags;		/* enum copy_flag */
	uint64_t count, bytes;	/* all of them */
	uint64_t sizes[COPY_SLOTS];
	struct dist ns;		/* of those told one by one */
	uint64_t timed_bytes;	/* ... and their bytes */
	uint64_t blame_ns;	/* threads' waiting for the lock meanwhile, in all */
};

/* Clock ticks that found the lock's owner copying. */
struct copy_ticks {
	uint64_t function;
	uint64_t count;
};

struct copies {
	struct lock_window window;
	struct copy_site *sites;	/* in order of appearance */
	size_t nr_sites;
	struct copy_ticks *sampled;
	size_t nr_sampled;
	uint64_t ticks;			/* that found an owner running */
	uint64_t copy_ticks;		/* ... in a routine that copies */
	uint64_t tallied;		/* copies without a time: small ones, and get_string */
};

void copies_init(struct copies *c, const struct lock_window *w);
void copies_release(struct copies *c);

/*
 * EVENT_COPY on lock @l (NULL: not known), EVENT_TALLY; @function as profile_function() takes it. 0 or
 * -ENOMEM. A tally has no time: with a window it counts if it was taken inside.
 */
int copies_add(struct copies *c, const struct event *ev, uint64_t function, const struct lock *l);
int copies_tally(struct copies *c, const struct event *ev, uint64_t function);

/* False for what only compares. */
static inline bool copy_is_copy(const struct copy_site *s)
{
	return (s->flags & COPY_OP) >> COPY_OP_SHIFT != COPY_COMPARE;
}

/* The sites, those with the most bytes first; NULL when out of memory. */
const struct copy_site **copies_sorted(const struct copies *c);

#endif
