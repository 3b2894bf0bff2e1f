// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/episode.h"

#include <errno.h>
#include <stdlib.h>

void episode_free(struct episode *ep)
{
	free(ep->segments);
	free(ep->acts);
	free(ep->threads);
	map_release(&ep->by_thread);
	map_release(&ep->by_tid);
	free(ep);
}

/* Makes room for one more after @nr in an array that doubles. 0 or -ENOMEM. */
static int reserve(void **array, uint32_t nr, size_t size)
{
	size_t room = nr ? (size_t)nr * 2 : 1;
	void *bigger;

	if (nr & (nr - 1))	/* neither 0 nor a power of two: there is room */
		return 0;
	bigger = nr < SCHEDULE_NONE / 2 ? realloc(*array, room * size) : NULL;
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	return 0;
}

int episode_thread(struct episode *ep, struct thread *thread, uint32_t *out, bool *is_new)
{
	const uint64_t *known = map_get(&ep->by_thread, (uint64_t)thread);

	*out = known ? *known : ep->nr_threads;
	*is_new = !known;
	if (known)
		return 0;
	if (reserve((void **)&ep->threads, ep->nr_threads, sizeof(*ep->threads)) ||
	    map_put(&ep->by_thread, (uint64_t)thread, ep->nr_threads))
		return -ENOMEM;
	ep->threads[ep->nr_threads++] = (struct episode_thread){
		.thread = thread, .first = SCHEDULE_NONE, .last = SCHEDULE_NONE,
		.gave_ns = ep->begin_ns, .act = SCHEDULE_NONE, .last_act = SCHEDULE_NONE,
	};
	return episode_learn_tid(ep, *out, thread->tid);
}

int episode_learn_tid(struct episode *ep, uint32_t i, uint32_t tid)
{
	if (!tid || ep->threads[i].tid == tid)
		return 0;
	ep->threads[i].tid = tid;
	return map_put(&ep->by_tid, tid, i);
}

struct episode_thread *episode_task(const struct episode *ep, uint32_t tid)
{
	const uint64_t *i = tid ? map_get(&ep->by_tid, tid) : NULL;

	return i ? &ep->threads[*i] : NULL;
}

int episode_act(struct episode *ep, struct episode_thread *t, const struct act *act)
{
	if (reserve((void **)&ep->acts, ep->nr_acts, sizeof(*ep->acts)))
		return -ENOMEM;
	ep->acts[ep->nr_acts] = *act;
	ep->acts[ep->nr_acts].next = SCHEDULE_NONE;
	*(t->act == SCHEDULE_NONE ? &t->act : &ep->acts[t->last_act].next) = ep->nr_acts;
	t->last_act = ep->nr_acts++;
	return 0;
}

/* Acts were noted since the lock was given up, or got: what was before the work is not part of it. */
static void acts_fit(struct episode *ep, const struct segment *s)
{
	uint64_t latency_ns = s->flags & SEGMENT_INSIDE ? s->latency_ns : 0;
	uint64_t done = 0, room = s->off_ns > 0 ? s->off_ns : 0;
	bool is_with = false;

	for (uint32_t i = s->act; i != SCHEDULE_NONE; i = ep->acts[i].next) {
		struct act *a = &ep->acts[i];
		uint64_t from = a->at_ns, to;

		if (!act_was_outside(a) && !is_with) {
			is_with = true;
			done = 0;
			room = s->work_ns;
		}
		if (is_with)
			from = from > latency_ns ? from - latency_ns : 0;
		to = from + a->dur_ns < room ? from + a->dur_ns : room;
		a->at_ns = from < done ? done : from < room ? from : room;
		a->dur_ns = to > a->at_ns ? to - a->at_ns : 0;
		done = a->at_ns + a->dur_ns;
	}
}

int episode_segment(struct episode *ep, struct episode_thread *t, struct segment *s, uint64_t now)
{
	s->next = SCHEDULE_NONE;
	s->act = t->act;
	if (reserve((void **)&ep->segments, ep->nr_segments, sizeof(*s)))
		return -ENOMEM;
	acts_fit(ep, s);
	ep->segments[ep->nr_segments] = *s;
	*(t->last == SCHEDULE_NONE ? &t->first : &ep->segments[t->last].next) = ep->nr_segments;
	t->last = ep->nr_segments++;
	t->act = t->last_act = SCHEDULE_NONE;
	t->gave_ns = now;
	return 0;
}

static uint64_t less(uint64_t ns, uint64_t by)
{
	return ns > by ? ns - by : 0;
}

/* What copies with the lock in @s got shorter by, and the time around them. */
static uint64_t untrace_copies(struct episode *ep, const struct segment *s, uint64_t trap_ns)
{
	uint64_t gone = 0;

	for (uint32_t i = s->act; i != SCHEDULE_NONE; i = ep->acts[i].next) {
		struct act *a = &ep->acts[i];
		bool is_copy = a->flags & COPY_HELD;

		if (act_was_outside(a))
			continue;
		gone += is_copy ? trap_ns / 2 : 0;
		a->at_ns = less(a->at_ns, gone);
		if (!is_copy)
			continue;
		gone += trap_ns + trap_ns / 2;
		a->dur_ns = less(a->dur_ns, trap_ns);
	}
	return gone;
}

void episode_untrace(struct episode *ep, uint64_t trap_ns)
{
	for (uint32_t i = 0; i < ep->nr_segments; i++) {
		struct segment *s = &ep->segments[i];
		uint64_t gone = untrace_copies(ep, s, trap_ns);

		if (!gone)
			continue;
		s->work_ns = less(s->work_ns, gone + trap_ns);
		if (s->contended_ns != UINT32_MAX)
			s->contended_ns = less(s->contended_ns, gone + trap_ns);
	}
}
