// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "probe/sizeflow.h"

enum {
	PASSES_MAX = 256,	/* through all instructions, until nothing changes any more */
	SIZE_ARG = 2,		/* memmove(dst, src, n), memset(s, c, n) */
	SIZE_BYTES = 8,
};

static bool at_least(struct sizes *s, uint64_t n)
{
	s->least = s->least > n ? s->least : n;
	return s->least <= s->most;
}

static bool at_most(struct sizes *s, uint64_t n)
{
	s->most = s->most < n ? s->most : n;
	return s->least <= s->most;
}

/* What is known after a branch: the size is so compared with @with. False: no size is. */
static bool narrow(struct sizes *s, enum insn_cond cond)
{
	uint64_t n = s->with;

	switch (cond) {
	case INSN_COND_EQUAL:
		return at_least(s, n) && at_most(s, n);
	case INSN_COND_UNEQUAL:
		return s->least != n || at_least(s, n + 1);
	case INSN_COND_BELOW:
		return n > 0 && at_most(s, n - 1);
	case INSN_COND_BELOW_EQUAL:
		return at_most(s, n);
	case INSN_COND_ABOVE:
		return n < UINT64_MAX && at_least(s, n + 1);
	case INSN_COND_ABOVE_EQUAL:
		return at_least(s, n);
	default:
		return true;
	}
}

static enum insn_cond opposite(enum insn_cond cond)
{
	static const enum insn_cond not[] = {
		[INSN_COND_EQUAL] = INSN_COND_UNEQUAL, [INSN_COND_UNEQUAL] = INSN_COND_EQUAL,
		[INSN_COND_BELOW] = INSN_COND_ABOVE_EQUAL, [INSN_COND_ABOVE_EQUAL] = INSN_COND_BELOW,
		[INSN_COND_ABOVE] = INSN_COND_BELOW_EQUAL, [INSN_COND_BELOW_EQUAL] = INSN_COND_ABOVE,
		[INSN_COND_OTHER] = INSN_COND_OTHER,
	};

	return not[cond];
}

/* Adds to what holds at the instruction at @vaddr. True if that changed. */
static bool reach(struct sizeflow *f, uint64_t vaddr, const struct sizes *from)
{
	size_t i = sizeflow_find(f, vaddr);
	struct sizes *s = &f->sizes[i], old;

	if (i == f->nr) {
		f->is_missed = true;
		f->most_missed = from->most > f->most_missed ? from->most : f->most_missed;
		return false;
	}
	old = *s;
	if (!s->is_reached) {
		*s = *from;
		s->is_reached = true;
		return true;
	}
	s->least = from->least < s->least ? from->least : s->least;
	s->most = from->most > s->most ? from->most : s->most;
	s->held.regs &= from->held.stack == s->held.stack ? from->held.regs : 0;
	s->is_compared &= from->is_compared && from->with == s->with;
	return s->least != old.least || s->most != old.most || s->held.regs != old.held.regs ||
	       s->is_compared != old.is_compared;
}

static void compare(const struct sizeflow *f, struct sizes *s, const struct insn *i)
{
	if (i->compares == INSN_COMPARES_NONE)
		return;
	s->with = i->with;
	s->is_compared = i->compares >= 0 && (s->held.regs & 1u << i->compares) &&
			 (!i->compares_mem || !proc_read_u64(f->p, f->o->bias + i->with, &s->with));
}

/* Moves on from instruction @at. True if that changed anything. */
static bool step(struct sizeflow *f, size_t at)
{
	const struct insn *i = &f->insns[at];
	struct sizes s = f->sizes[at], taken = s;
	uint64_t next = i->vaddr + i->size;
	bool changed = false;

	if (i->is_conditional) {
		if (!s.is_compared || narrow(&taken, i->cond))
			changed |= reach(f, i->target, &taken);
		if (!s.is_compared || narrow(&s, opposite(i->cond)))
			changed |= reach(f, next, &s);
		return changed;
	}
	if (i->ends_block && !i->is_call)	/* without a target it leaves: reach() finds nothing */
		return reach(f, i->target, &s);
	compare(f, &s, i);
	if (!held_step(&s.held, i))
		s.held.regs = 0;
	s.is_compared &= !i->is_call;
	return reach(f, next, &s);
}

bool sizeflow_follow(struct sizeflow *f, uint64_t min)
{
	struct sizes begin = {
		.least = min, .most = UINT64_MAX, .held = held_begin(SIZE_ARG, SIZE_BYTES),
	};
	bool changed = true;
	int passes = 0;

	memset(f->sizes, 0, f->nr * sizeof(*f->sizes));
	f->is_missed = false;
	f->most_missed = 0;
	for (size_t i = 0; i < f->nr_starts; i++)
		reach(f, f->starts[i], &begin);
	while (changed && passes++ < PASSES_MAX) {
		changed = false;
		for (size_t i = 0; i < f->nr; i++)
			if (f->sizes[i].is_reached && !f->is_stop[i])
				changed |= step(f, i);
	}
	return !changed;
}
