// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/sim.h"

#include <math.h>

static uint64_t limit_of(const struct sim *s, const struct segment *seg)
{
	if (seg->contended_ns == UINT32_MAX)
		return NEVER;
	return seg->contended_ns > s->o->quantum_ns ? seg->contended_ns : s->o->quantum_ns;
}

/* The owner goes on to the work of another segment, and keeps the lock. */
static void stay(struct sim *s, struct runner *r)
{
	uint64_t limit_ns = limit_of(s, segment_of(s, r));

	runner_to_work(s, r);
	r->is_fresh = false;
	if (limit_ns > s->limit_ns)
		s->limit_ns = limit_ns;
}

static void run(struct sim *s, enum piece piece, uint64_t ns, uint64_t piece_ns)
{
	s->piece = piece;
	s->stop_ns = s->now_ns + ns;
	s->piece_ns = piece_ns;
}

/* The lock is free: of those who take it out of turn, is one at it this time? */
static void jump_find(struct sim *s)
{
	s->jump_ns = NEVER;
	for (uint32_t i = s->first_queued; i != NONE; i = s->runners[i].next_queued) {
		const struct runner *r = &s->runners[i];
		uint64_t ns;

		if (!sim_is_jumper(s, r) || s->freed - r->freed <= segment_of(s, r)->passed)
			continue;
		ns = s->now_ns + segment_of(s, r)->latency_ns;
		if (ns < s->jump_ns) {
			s->jump_ns = ns;
			s->jumper = i;
		}
	}
}

static void give(struct sim *s)
{
	s->out->threads[s->ep->threads[s->owner].who].finish_ns = s->base_ns + s->now_ns;
	s->out->makespan_ns = s->base_ns + s->now_ns;
	s->owner = NONE;
	s->stop_ns = NEVER;
	s->freed++;
	if (s->nr_jumpers)
		jump_find(s);
}

/* Does the owner, with @rest_ns of its hold left, give way where it was seen to? Always if it meant to. */
static bool gives_way(const struct sim *s, const struct segment *seg, uint64_t rest_ns)
{
	uint64_t quantum = s->o->quantum_ns, seen = seg->contended_ns;

	if (!s->nr_queued)
		return false;
	return seen < quantum / 2 || s->contended_ns + rest_ns >= (seen < quantum ? seen : quantum);
}

/* The owner comes to its next copy, or wake. False: it has given the lock up. */
static bool act_begin(struct sim *s, struct runner *r)
{
	const struct act *a = act_of(s, r);
	uint32_t i = s->owner;

	if (a->flags & (ACT_WAKE | ACT_END)) {
		(a->flags & ACT_WAKE ? sim_wake : sim_unmet)(s, a->bytes);
		r->act = a->next;
		return true;
	}
	if (!sim_is_outside(s, a)) {
		uint64_t ns = act_was_outside(a) ? (uint64_t)llround(s->alone[r->act]) : a->dur_ns;

		copy_note(s, i, a, s->now_ns + ns);
		run(s, PIECE_COPY, ns, a->dur_ns);
		return true;
	}
	if (!r->is_paid) {
		r->owed_ns = s->o->transition_ns;
		r->is_paid = true;
		return true;
	}
	r->is_paid = false;
	give(s);
	copy_begin(s, i);
	return false;
}

/* All that it copied without the lock in this segment is to be copied with it. */
static bool is_merged(const struct sim *s, const struct segment *seg)
{
	const struct act *acts = s->ep->acts;
	uint32_t i = seg->act;

	if (i == NONE || !act_was_outside(&acts[i]))
		return false;
	for (; i != NONE && act_was_outside(&acts[i]); i = acts[i].next)
		if (sim_is_outside(s, &acts[i]))
			return false;
	return true;
}

/* The owner's work of a segment is done. False: it has given the lock up. */
static bool segment_end(struct sim *s, struct runner *r)
{
	const struct segment *seg = segment_of(s, r), *next = NULL;
	bool is_staying = r->is_staying, is_leaving = r->is_leaving;
	uint32_t i = s->owner, n = seg->next;

	if (n != NONE)
		next = &s->ep->segments[n];
	if (next && !(next->flags & SEGMENT_NO_YIELD) && seg->flags & SEGMENT_YIELD &&
	    !is_leaving && !is_staying) {
		is_staying = !gives_way(s, seg, 0);
		s->out->yields += !is_staying;
		is_leaving = !is_staying && next->off_ns == 0 && next->flags & SEGMENT_QUEUED;
		if (is_leaving)
			queue_add(s, i);
	}
	if (next)
		runner_to_segment(s, r, n);
	if (next && is_staying) {
		stay(s, r);
		return true;
	}
	if (next && !is_leaving && is_merged(s, next))
		return true;
	give(s);
	if (next && is_leaving)
		runner_to_work(s, r);
	else if (next)
		off_begin(s, i);
	return false;
}

/* It is in line before it gives the lock up (3.3), so much before the end of its work; 0: it is not. */
static uint64_t ahead_of(const struct sim *s, const struct segment *seg)
{
	int64_t off = seg->next == NONE ? 0 : s->ep->segments[seg->next].off_ns;
	uint64_t ahead = off < 0 ? -(uint64_t)off : 0;

	return ahead < seg->work_ns ? ahead : seg->work_ns;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Time that was spent without the lock around copies that are made with it now. */
static void merged_go(struct sim *s, struct runner *r, uint64_t to)
{
	run(s, PIECE_FIXED, less(to - r->at_ns, s->o->transition_ns), to - r->at_ns);
}

static void line_up(struct sim *s, struct runner *r, const struct segment *seg)
{
	r->is_staying = !gives_way(s, seg, ahead_of(s, seg));
	if (r->is_staying)
		return;
	r->is_leaving = true;
	s->out->yields++;
	queue_add(s, s->owner);
}

/* The owner goes on until its next stop. */
static void owner_work(struct sim *s)
{
	for (bool has = true; has && s->stop_ns == NEVER;) {
		struct runner *r = &s->runners[s->owner];
		const struct segment *seg = segment_of(s, r);
		const struct act *a = act_of(s, r);
		uint64_t end = r->has_wanted ? seg->work_ns : (uint64_t)seg->off_ns, to = end;
		uint64_t ahead = r->has_wanted && !r->is_leaving && !r->is_staying ?
				 ahead_of(s, seg) : 0;

		if (a && (r->has_wanted || act_was_outside(a)))
			to = a->at_ns;
		if (ahead && end - ahead < to && end - ahead >= r->at_ns)
			to = end - ahead;
		if (r->owed_ns) {
			run(s, PIECE_FIXED, r->owed_ns, 0);
			r->owed_ns = 0;
		} else if (r->at_ns < to && r->has_wanted) {
			run(s, PIECE_WORK, to - r->at_ns, to - r->at_ns);
		} else if (r->at_ns < to) {
			merged_go(s, r, to);
		} else if (ahead && to == end - ahead) {
			line_up(s, r, seg);
		} else if (a && (r->has_wanted || act_was_outside(a))) {
			has = act_begin(s, r);
		} else if (r->has_wanted) {
			has = segment_end(s, r);
		} else {
			stay(s, r);
		}
	}
}

/* @i has the lock. */
void sim_grant(struct sim *s, uint32_t i)
{
	struct runner *r = &s->runners[i];

	if (!(segment_of(s, r)->flags & SEGMENT_UNMET)) {
		s->out->switches += s->last_owner != NONE && s->last_owner != i;
		s->last_owner = i;
	}
	s->owner = i;
	s->stop_ns = s->jump_ns = NEVER;
	s->contended_ns = 0;
	s->limit_ns = limit_of(s, segment_of(s, r));
	if (r->is_queued) {
		s->take_ns = i == s->first_queued ? NEVER : s->take_ns;
		queue_remove(s, i);
		r->owed_ns += s->o->design == REF_LOCK_33 ? sim_latency(s, r) : 0;
	}
	r->is_fresh = false;
	owner_work(s);
}

/* What the owner did is done. */
void owner_stop(struct sim *s)
{
	struct runner *r = &s->runners[s->owner];

	r->at_ns += s->piece_ns;
	if (s->piece == PIECE_COPY)
		r->act = act_of(s, r)->next;
	s->stop_ns = NEVER;
	owner_work(s);
}

/* Somebody has waited for a quantum. */
void owner_preempt(struct sim *s)
{
	uint32_t i = s->owner;

	s->runners[i].at_ns += s->piece_ns - (s->stop_ns - s->now_ns);
	s->out->yields++;
	queue_add(s, i);
	give(s);
}

uint64_t owner_quantum_end(const struct sim *s)
{
	if (s->owner == NONE || !s->nr_queued || s->piece != PIECE_WORK || s->limit_ns == NEVER ||
	    s->runners[s->owner].is_leaving)
		return NEVER;
	return s->now_ns + less(s->limit_ns, s->contended_ns);
}
