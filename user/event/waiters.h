/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who is on a VM's list of waiters (Ruby up to 3.4), kept from events that are taken anyway: each release
 * of a lock tells whether the thread that releases it is on the list. Walks over the whole list begin
 * it, and check it.
 */
#ifndef GVL_EVENT_WAITERS_H
#define GVL_EVENT_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "util/map.h"

/* All zero is a list of which nothing is known. */
struct waiters {
	struct map on_list;	/* by rb_thread_t */
	uint64_t sum;		/* of the addresses on the list */
	uint64_t matched_sum;	/* of those taken out since the last scan */
	uint64_t nr_listed;	/* told one by one since the walk began */
	bool is_known;
	uint64_t walks;		/* that checked what was kept ... */
	uint64_t mismatches;	/* ... and found something else */
};

#define WAITERS_UNKNOWN UINT64_MAX

void waiters_release(struct waiters *w);

/* @thread releases a lock, or takes it. 0 or -ENOMEM. */
int waiters_set(struct waiters *w, uint64_t thread, bool is_on_list);

/* EVENT_LISTED, EVENT_MATCHED. 0 or -ENOMEM. */
int waiters_add(struct waiters *w, const struct event *ev);

/* EVENT_SCAN: how many waiters it visited, or WAITERS_UNKNOWN. */
uint64_t waiters_scan(struct waiters *w, const struct event *ev);

/* Events are missing: nothing is known until the next walk that tells each. */
void waiters_forget(struct waiters *w);

#endif
