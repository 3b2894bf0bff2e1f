// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/simulate.h"

#include <errno.h>
#include <stdlib.h>

#include "ref/sim.h"
#include "util/scope.h"

static void pass(struct sim *s, uint64_t ns)
{
	uint64_t dt = ns - s->now_ns;

	s->now_ns = ns;
	s->out->wait_ns += s->nr_queued * dt;
	s->out->free_copy_ns += s->nr_copying * dt;
	if (s->owner == NONE) {
		s->out->free_ns += dt;
		return;
	}
	s->out->hold_ns += dt;
	s->out->threads[s->ep->threads[s->owner].who].hold_ns += dt;
	s->contended_ns += s->nr_queued ? dt : 0;
	if (s->piece == PIECE_COPY) {
		s->out->held_copy_ns += dt;
		s->out->copy_blame_ns += s->nr_queued * dt;
	}
}

/* The lock was given up: whose is it? */
static void hand_on(struct sim *s)
{
	while (s->owner == NONE && s->nr_queued && s->o->design == REF_LOCK_33)
		sim_grant(s, s->first_queued);
	if (s->owner == NONE && s->nr_queued && s->take_ns == NEVER)
		s->take_ns = s->now_ns + sim_latency(s, &s->runners[s->first_queued]);
}

/* 3.1: the first of the queue is awake. Whoever came before it has the lock, or it takes it. */
static void take(struct sim *s)
{
	s->take_ns = NEVER;
	if (s->owner == NONE && s->nr_queued)
		sim_grant(s, s->first_queued);
}

/*
 * Does the first timer run out before anything else happens? At one moment: who was queued in the record came
 * before the owner gave the lock up, and after it was taken; who was not, the other way round.
 */
static bool is_timer_next(const struct sim *s, uint64_t other_ns)
{
	const struct timer *t = &s->timers[0];
	uint64_t taken_ns = s->take_ns < s->jump_ns ? s->take_ns : s->jump_ns;

	if (!s->nr_timers || t->ns > other_ns || t->ns > s->stop_ns || t->ns > taken_ns)
		return false;
	return t->is_direct ? t->ns < s->stop_ns : t->ns < taken_ns;
}

static uint64_t first(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* To the next thing that happens. False: nothing does any more. */
static bool step(struct sim *s)
{
	uint64_t copied_ns, quantum_ns = owner_quantum_end(s), ns;
	uint32_t copy = copy_next(s, &copied_ns);

	if (is_timer_next(s, first(copied_ns, quantum_ns))) {
		pass(s, s->timers[0].ns);
		off_go_on(s, timer_take(s));
		return true;
	}
	ns = first(first(first(copied_ns, quantum_ns), first(s->take_ns, s->jump_ns)), s->stop_ns);
	if (ns == NEVER)
		return false;
	pass(s, ns);
	if (ns == copied_ns)
		copy_end(s, copy);
	else if (ns == s->stop_ns)
		owner_stop(s);
	else if (ns == s->take_ns)
		take(s);
	else if (ns == s->jump_ns)
		sim_grant(s, s->jumper);
	else
		owner_preempt(s);
	return true;
}

static void episode_run(struct sim *s)
{
	const struct episode *ep = s->ep;

	for (uint32_t i = 0; i < ep->nr_threads; i++) {
		s->runners[i] = (struct runner){ .segment = NONE, .act = NONE };
		if (ep->threads[i].first != NONE)
			runner_to_segment(s, &s->runners[i], ep->threads[i].first);
	}
	if (ep->owner != NONE) {
		runner_to_work(s, &s->runners[ep->owner]);
		sim_grant(s, ep->owner);
	}
	for (uint32_t i = 0; i < ep->nr_threads; i++)
		if (i != ep->owner && s->runners[i].segment != NONE)
			off_begin(s, i);
	do
		hand_on(s);
	while (step(s));
}

static int sim_alloc(struct sim *s)
{
	const struct episode *ep = s->ep;

	s->runners = calloc(ep->nr_threads + 1, sizeof(*s->runners));
	s->timers = calloc(ep->nr_threads + 1, sizeof(*s->timers));
	s->copying = calloc(ep->nr_threads + 1, sizeof(*s->copying));
	s->alone = calloc(ep->nr_acts + 1, sizeof(*s->alone));
	if (!s->runners || !s->timers || !s->copying || !s->alone)
		return -ENOMEM;
	return sharing_alone(s->alone, ep, &s->o->sharing);
}

static void sim_release(struct sim *s)
{
	free(s->runners);
	free(s->timers);
	free(s->copying);
	free(s->alone);
}

static int episode_simulate(struct simulated *out, const struct episode *ep,
			    const struct simulate_options *o)
{
	auto_release(sim_release) struct sim s = {
		.o = o, .ep = ep, .out = out, .base_ns = out->span_ns,
		.owner = NONE, .last_owner = NONE, .stop_ns = NEVER, .take_ns = NEVER,
		.jump_ns = NEVER,
		.copy_from_ns = NEVER,
	};

	if (sim_alloc(&s))
		return -ENOMEM;
	episode_run(&s);
	for (uint32_t i = 0; i < ep->nr_threads; i++)
		if (s.runners[i].is_queued)
			out->threads[ep->threads[i].who].wait_ns += s.now_ns - s.runners[i].want_ns;
	out->span_ns += s.now_ns;
	sim_end_burst(&s);
	return 0;
}

struct simulate_options simulate_options(const struct schedule_lock *l)
{
	return (struct simulate_options){
		.design = l->design, .quantum_ns = REF_QUANTUM_NS, .latency_ns = l->latency_ns,
	};
}

void simulated_release(struct simulated *r)
{
	free(r->threads);
	*r = (struct simulated){ 0 };
}

int simulate(struct simulated *out, const struct schedule_lock *l, const struct simulate_options *o,
	     struct err *e)
{
	auto_release(simulated_release) struct simulated r = { .nr_threads = l->nr_threads };

	r.threads = calloc(l->nr_threads + 1, sizeof(*r.threads));
	if (!r.threads)
		return err_nomem(e);
	for (const struct episode *ep = l->episodes; ep; ep = ep->next) {
		for (uint32_t i = 0; i < ep->nr_threads; i++)
			r.threads[ep->threads[i].who].thread = ep->threads[i].thread;
		if (episode_simulate(&r, ep, o))
			return err_nomem(e);
	}
	*out = r;
	r.threads = NULL;
	return 0;
}
