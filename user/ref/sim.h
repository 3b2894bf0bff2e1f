/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of the simulator share; simulate.h is for everybody else. */
#ifndef GVL_REF_SIM_H
#define GVL_REF_SIM_H

#include "ref/simulate.h"

#define NEVER UINT64_MAX
#define NONE SCHEDULE_NONE

/* What gives the lock up before one of these has not given way: it ends, or sleeps. */
#define SEGMENT_NO_YIELD (SEGMENT_TAIL | SEGMENT_UNMET | SEGMENT_WOKEN)

enum piece {
	PIECE_FIXED,	/* latency, transitions: never interrupted */
	PIECE_WORK,
	PIECE_COPY,
};

/* A thread, and where it is in its segments. */
struct runner {
	uint32_t segment, act;	/* the current one; its next act, or NONE */
	uint64_t at_ns;		/* so much of the segment's time without the lock, or of its work, is done */
	bool has_wanted;	/* it is at the work */

	uint64_t owed_ns;	/* to be spent with the lock before anything else */
	uint64_t want_ns;	/* since when it is queued */
	double copied_at;	/* sim.copied when its copy will be done */
	uint64_t freed;		/* sim.freed when it queued */
	uint32_t next_queued;
	uint32_t signals;	/* wakes that came before it slept */
	bool is_queued, is_asleep;
	bool is_fresh;		/* it comes to a segment's work for the first time */
	bool is_leaving;	/* queued already, but still the owner */
	bool is_staying;	/* nobody waits: it does not leave where it was seen to */
	bool is_paid;		/* the transition before its next copy */
	uint32_t burst;		/* sim.burst when it copied last */
};

/* When a thread without the lock goes on. What came first in the record comes first. */
struct timer {
	uint64_t ns;
	uint32_t order;
	uint32_t runner;
	bool is_direct;		/* it wants the lock, which it found free */
};

struct sim {
	const struct simulate_options *o;
	const struct episode *ep;
	struct simulated *out;
	uint64_t now_ns, base_ns;	/* base: what earlier episodes took */

	struct runner *runners;
	struct timer *timers;		/* a heap */
	uint32_t nr_timers;
	uint32_t first_queued, last_queued, nr_queued;

	uint32_t owner, last_owner;
	enum piece piece;
	uint64_t piece_ns, stop_ns;	/* what it does of the segment's time; its end, or NEVER */
	uint64_t take_ns;		/* 3.1: the first of the queue takes the lock, if it is free by then */
	uint64_t jump_ns;		/* ... or another one does */
	uint32_t jumper, nr_jumpers;	/* that one; all that are queued */
	uint64_t freed;			/* how many times the lock was free */
	uint64_t contended_ns, limit_ns;	/* of this hold */

	uint32_t *copying;		/* runners */
	uint32_t nr_copying;
	double copied;			/* ns of copying, at full speed, that each could have done so far */
	uint64_t copied_ns;		/* ... until this moment */
	double *alone;			/* by act: what a copy without the lock takes at full speed */
	uint64_t copy_from_ns, copy_to_ns;	/* of a burst */
	uint32_t burst, nr_in_burst;	/* its number, from 1 on; threads */
	struct places places;		/* of these */
};

static inline const struct segment *segment_of(const struct sim *s, const struct runner *r)
{
	return &s->ep->segments[r->segment];
}

static inline const struct act *act_of(const struct sim *s, const struct runner *r)
{
	return r->act == NONE ? NULL : &s->ep->acts[r->act];
}

/* sim_off.c: threads without the lock */

bool timer_is_before(const struct timer *a, const struct timer *b);
uint32_t timer_take(struct sim *s);	/* the first one's runner */

bool sim_is_outside(const struct sim *s, const struct act *a);	/* is this copy to be made without the lock? */
bool sim_is_jumper(const struct sim *s, const struct runner *r);	/* will it take the lock out of turn? */
uint64_t sim_latency(const struct sim *s, const struct runner *r);	/* once it is its turn */

void queue_add(struct sim *s, uint32_t i);
void queue_remove(struct sim *s, uint32_t i);

void runner_to_segment(struct sim *s, struct runner *r, uint32_t segment);	/* to its begin */
void runner_to_work(struct sim *s, struct runner *r);	/* ... past what it does without the lock */

void sim_end_burst(struct sim *s);
void copy_note(struct sim *s, uint32_t i, const struct act *a, uint64_t to_ns);	/* from now on */
void copy_begin(struct sim *s, uint32_t i);	/* without the lock */
void copy_end(struct sim *s, uint32_t k);	/* an index of sim.copying */
uint32_t copy_next(const struct sim *s, uint64_t *ns);	/* that one; when it ends, or NEVER */

void off_begin(struct sim *s, uint32_t i);	/* it has just given the lock up, or begins */
void off_go_on(struct sim *s, uint32_t i);	/* its timer ran out */

void sim_wake(struct sim *s, uint32_t i);	/* ACT_WAKE, ACT_END */
void sim_unmet(struct sim *s, uint32_t i);

/* sim_owner.c */

void sim_grant(struct sim *s, uint32_t i);	/* it has the lock, and works until its next stop */
void owner_stop(struct sim *s);
void owner_preempt(struct sim *s);		/* somebody has waited for a quantum ... */
uint64_t owner_quantum_end(const struct sim *s);	/* ... which will be then, or NEVER */

#endif
