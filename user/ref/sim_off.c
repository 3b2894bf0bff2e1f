// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/sim.h"

#include <math.h>

bool timer_is_before(const struct timer *a, const struct timer *b)
{
	return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

static void timer_add(struct sim *s, struct timer t)
{
	uint32_t i = s->nr_timers++;

	for (; i && timer_is_before(&t, &s->timers[(i - 1) / 2]); i = (i - 1) / 2)
		s->timers[i] = s->timers[(i - 1) / 2];
	s->timers[i] = t;
}

uint32_t timer_take(struct sim *s)
{
	uint32_t runner = s->timers[0].runner, i = 0;
	const struct timer last = s->timers[--s->nr_timers];

	for (uint32_t child; (child = 2 * i + 1) < s->nr_timers; i = child) {
		if (child + 1 < s->nr_timers && timer_is_before(&s->timers[child + 1], &s->timers[child]))
			child++;
		if (!timer_is_before(&s->timers[child], &last))
			break;
		s->timers[i] = s->timers[child];
	}
	s->timers[i] = last;
	return runner;
}

/* IO::Buffer#copy and what else copies in that way. */
static bool is_buffer_copy(const struct act *a)
{
	return (a->flags & (COPY_BUFFER | COPY_OP)) == (COPY_BUFFER | COPY_MOVE << COPY_OP_SHIFT);
}

/* Is this copy to be made without the lock? */
bool sim_is_outside(const struct sim *s, const struct act *a)
{
	if (!s->o->is_changed || (s->o->is_buffer_only && !is_buffer_copy(a)))
		return act_was_outside(a);
	return a->bytes >= s->o->threshold;
}

/* Will it take the lock out of turn? */
bool sim_is_jumper(const struct sim *s, const struct runner *r)
{
	return s->o->design == REF_LOCK_31 && r->is_fresh && segment_of(s, r)->flags & SEGMENT_JUMPED;
}

void queue_add(struct sim *s, uint32_t i)
{
	struct runner *r = &s->runners[i];

	r->is_queued = true;
	r->want_ns = s->now_ns;
	r->next_queued = NONE;
	r->freed = s->freed;
	s->nr_jumpers += sim_is_jumper(s, r);
	*(s->nr_queued++ ? &s->runners[s->last_queued].next_queued : &s->first_queued) = i;
	s->last_queued = i;
}

void queue_remove(struct sim *s, uint32_t i)
{
	uint32_t before = NONE;

	for (uint32_t at = s->first_queued; at != i; at = s->runners[at].next_queued)
		before = at;
	*(before == NONE ? &s->first_queued : &s->runners[before].next_queued) =
		s->runners[i].next_queued;
	if (s->last_queued == i)
		s->last_queued = before;
	s->nr_jumpers -= sim_is_jumper(s, &s->runners[i]);
	s->nr_queued--;
	s->runners[i].is_queued = false;
	s->out->threads[s->ep->threads[i].who].wait_ns += s->now_ns - s->runners[i].want_ns;
}

uint64_t sim_latency(const struct sim *s, const struct runner *r)
{
	const struct segment *seg = segment_of(s, r);

	return r->is_fresh && seg->flags & SEGMENT_QUEUED ? seg->latency_ns : s->o->latency_ns;
}

/* In 3.1 who comes while the lock is free gets it first; in 3.3 it is never free while one is queued. */
static void sim_want(struct sim *s, uint32_t i)
{
	if (s->owner == NONE && (!s->nr_queued || s->o->design == REF_LOCK_31))
		sim_grant(s, i);
	else
		queue_add(s, i);
}

/* To the work of its segment, past what it copied without the lock. */
void runner_to_work(struct sim *s, struct runner *r)
{
	r->has_wanted = true;
	r->is_fresh = true;
	r->at_ns = 0;
	while (r->act != NONE && act_was_outside(act_of(s, r)))
		r->act = act_of(s, r)->next;
}

void runner_to_segment(struct sim *s, struct runner *r, uint32_t segment)
{
	r->segment = segment;
	r->act = s->ep->segments[segment].act;
	r->at_ns = 0;
	r->has_wanted = false;
	r->is_staying = r->is_leaving = false;
}

void sim_end_burst(struct sim *s)
{
	if (s->copy_to_ns > s->copy_from_ns)
		s->out->copying_ns += s->copy_to_ns - s->copy_from_ns;
	if (s->nr_in_burst)
		placements_add(&s->out->placements, &s->places);
	s->out->burst_threads += s->nr_in_burst;
	s->out->burst_crowd += (uint64_t)s->nr_in_burst * s->nr_in_burst;
	s->nr_in_burst = 0;
	s->places.nr = 0;
	s->copy_from_ns = NEVER;
}

/* A copy that runner @i makes, of IO::Buffer. */
static void burst_note(struct sim *s, uint32_t i, const struct act *a, uint64_t to_ns)
{
	struct runner *r = &s->runners[i];

	if (!s->nr_copying && s->now_ns > s->copy_to_ns + SIMULATE_BURST_GAP_NS)
		sim_end_burst(s);
	if (s->copy_from_ns == NEVER) {
		s->copy_from_ns = s->now_ns;
		s->burst++;
	}
	s->out->burst_copies++;
	if (r->burst != s->burst) {
		places_add(&s->places, a->cpu);
		s->nr_in_burst++;
		r->burst = s->burst;
	}
	if (to_ns > s->copy_to_ns)
		s->copy_to_ns = to_ns;
}

void copy_note(struct sim *s, uint32_t i, const struct act *a, uint64_t to_ns)
{
	s->out->changed_copies += sim_is_outside(s, a) != act_was_outside(a);
	*(sim_is_outside(s, a) ? &s->out->free_copies : &s->out->held_copies) += 1;
	if (is_buffer_copy(a))
		burst_note(s, i, a, to_ns);
}

/* How far all copies got: to be called before their number changes. */
static void copies_pass(struct sim *s)
{
	if (s->nr_copying)
		s->copied += sharing_speed(&s->o->sharing, s->nr_copying) * (s->now_ns - s->copied_ns);
	s->copied_ns = s->now_ns;
}

void copy_begin(struct sim *s, uint32_t i)
{
	struct runner *r = &s->runners[i];
	const struct act *a = act_of(s, r);

	copies_pass(s);
	r->copied_at = s->copied + (act_was_outside(a) ? s->alone[r->act] : a->dur_ns);
	copy_note(s, i, a, s->now_ns);
	s->copying[s->nr_copying++] = i;
}

/* The index in copying of the copy that ends next; when, in *ns. */
uint32_t copy_next(const struct sim *s, uint64_t *ns)
{
	uint32_t first = 0;
	double left;

	*ns = NEVER;
	if (!s->nr_copying)
		return NONE;
	for (uint32_t i = 1; i < s->nr_copying; i++)
		if (s->runners[s->copying[i]].copied_at < s->runners[s->copying[first]].copied_at)
			first = i;
	left = s->runners[s->copying[first]].copied_at - s->copied;
	*ns = s->copied_ns + (uint64_t)llround(fmax(left, 0) / sharing_speed(&s->o->sharing, s->nr_copying));
	if (*ns < s->now_ns)
		*ns = s->now_ns;
	return first;
}

/* Without the lock, goes on to its next copy, or to where it wants the lock. */
static void off_go(struct sim *s, uint32_t i)
{
	struct runner *r = &s->runners[i];
	const struct segment *seg = segment_of(s, r);
	const struct act *a = act_of(s, r);
	bool is_copy = a && act_was_outside(a);
	uint64_t to = is_copy ? a->at_ns : seg->off_ns > 0 ? (uint64_t)seg->off_ns : 0;
	bool is_direct = !is_copy && !(seg->flags & SEGMENT_QUEUED);
	struct timer t = { s->now_ns + to - r->at_ns, seg->order, i, is_direct };

	r->at_ns = to;
	timer_add(s, t);
}

/* It has just given the lock up, or begins. */
void off_begin(struct sim *s, uint32_t i)
{
	struct runner *r = &s->runners[i];

	if (segment_of(s, r)->flags & SEGMENT_WOKEN) {
		if (!r->signals) {
			r->is_asleep = true;
			return;
		}
		r->signals--;
		r->at_ns = segment_of(s, r)->off_ns;
	}
	off_go(s, i);
}

void off_go_on(struct sim *s, uint32_t i)
{
	struct runner *r = &s->runners[i];
	const struct act *a = act_of(s, r);

	if (a && act_was_outside(a)) {
		copy_begin(s, i);
	} else if (!(segment_of(s, r)->flags & SEGMENT_TAIL)) {
		runner_to_work(s, r);
		sim_want(s, i);
	}
}

void copy_end(struct sim *s, uint32_t k)
{
	uint32_t i = s->copying[k];
	struct runner *r = &s->runners[i];
	const struct act *a = act_of(s, r);

	copies_pass(s);
	s->copying[k] = s->copying[--s->nr_copying];
	if (is_buffer_copy(a) && s->now_ns > s->copy_to_ns)
		s->copy_to_ns = s->now_ns;
	r->at_ns = a->at_ns + a->dur_ns;
	r->act = a->next;
	if (!r->has_wanted) {
		off_go(s, i);
		return;
	}
	r->owed_ns = s->o->transition_ns;
	sim_want(s, i);
}

void sim_wake(struct sim *s, uint32_t i)
{
	struct runner *r = &s->runners[i];

	if (!r->is_asleep) {
		r->signals++;
		return;
	}
	r->is_asleep = false;
	runner_to_work(s, r);
	sim_want(s, i);
}

/* The wait of @i ends without the lock. */
void sim_unmet(struct sim *s, uint32_t i)
{
	struct runner *r = &s->runners[i];
	uint32_t next = segment_of(s, r)->next;

	if (!r->is_queued)
		return;
	queue_remove(s, i);
	if (next == NONE)
		return;
	runner_to_segment(s, r, next);
	off_begin(s, i);
}
