// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event/waiters.h"

#include <errno.h>

void waiters_release(struct waiters *w)
{
	map_release(&w->on_list);
	*w = (struct waiters){ 0 };
}

void waiters_forget(struct waiters *w)
{
	map_release(&w->on_list);
	map_init(&w->on_list);
	w->sum = w->matched_sum = w->nr_listed = 0;
	w->is_known = false;
}

int waiters_set(struct waiters *w, uint64_t thread, bool is_on_list)
{
	if (!thread || is_on_list == (map_get(&w->on_list, thread) != NULL))
		return 0;
	if (is_on_list && map_put(&w->on_list, thread, 1))
		return -ENOMEM;
	if (!is_on_list)
		map_remove(&w->on_list, thread);
	w->sum += is_on_list ? thread : -thread;
	return 0;
}

int waiters_add(struct waiters *w, const struct event *ev)
{
	if (ev->kind == EVENT_MATCHED) {
		/* the scan took it from the list; it may have run since, told already: it counts here */
		w->matched_sum += ev->thread;
		return waiters_set(w, ev->thread, false);
	}
	if (ev->nr == 0)
		waiters_forget(w);
	w->nr_listed++;
	return waiters_set(w, ev->thread, true);
}

/* The walk came before those that match were taken from the list. */
static bool is_as_walked(const struct waiters *w, const struct event *ev)
{
	return ev->count == w->on_list.nr_used + ev->nr && ev->thread == w->sum + w->matched_sum;
}

uint64_t waiters_scan(struct waiters *w, const struct event *ev)
{
	bool is_walked = ev->flags & SCAN_WALKED && !(ev->flags & SCAN_TRUNCATED);
	uint64_t visited;

	if (ev->flags & SCAN_PER_IO)
		return is_walked ? ev->count : WAITERS_UNKNOWN;
	if (ev->flags & SCAN_BASE && is_walked) {
		if (ev->count == 0)
			waiters_forget(w);
		/* a thread that waits twice is one of ours, two of the list */
		w->is_known = w->nr_listed == ev->count && is_as_walked(w, ev);
	} else if (is_walked && w->is_known && !(ev->flags & SCAN_SHARED)) {
		w->walks++;
		w->mismatches += !is_as_walked(w, ev);
	}
	visited = is_walked ? ev->count : w->is_known ? w->on_list.nr_used + ev->nr : WAITERS_UNKNOWN;
	w->matched_sum = 0;
	w->nr_listed = 0;
	return visited;
}
