/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which sizes come by which instruction of a routine: how it branches on the size that it is called
 * with, followed for all sizes at once.
 */
#ifndef GVL_PROBE_SIZEFLOW_H
#define GVL_PROBE_SIZEFLOW_H

#include "probe/function.h"
#include "target/object.h"
#include "target/proc.h"

#define SIZEFLOW_STARTS_MAX 4

/* What holds whenever an instruction is about to run. */
struct sizes {
	uint64_t least, most;	/* bytes */
	struct held held;	/* what has the size */
	bool is_reached;
	bool is_compared;	/* the flags say how the size compares with @with */
	uint64_t with;
};

struct sizeflow {
	const struct object *o;
	const struct proc *p;
	uint64_t starts[SIZEFLOW_STARTS_MAX];
	size_t nr_starts;
	struct insn *insns;	/* by address, all that the starts lead to, in whatever functions */
	struct sizes *sizes;	/* of each, by sizeflow_follow() */
	bool *is_stop;		/* what sizeflow_follow() does not go beyond */
	size_t nr;
	struct span span;	/* from the first of those functions to the last */
	bool is_missed;		/* some sizes may pass no stop, */
	uint64_t most_missed;	/* none above this */
};

/*
 * Decodes the routine that starts at the @nr addresses @starts. @p is asked for the thresholds that
 * it keeps in memory. 0 and to be released, or -errno: no function is there, or too much is.
 */
int sizeflow_load(struct sizeflow *f, const struct object *o, const struct proc *p,
		  const uint64_t *starts, size_t nr);
void sizeflow_release(struct sizeflow *f);	/* all zero is fine */

/* Index of the instruction at @vaddr; @f->nr if there is none. */
size_t sizeflow_find(const struct sizeflow *f, uint64_t vaddr);

/*
 * Follows sizes of at least @min from the starts, where they are argument 2, up to the stops.
 * False: what that found does not hold, for the code is too intricate.
 */
bool sizeflow_follow(struct sizeflow *f, uint64_t min);

/* True unless instruction @to can never run after instruction @from, whatever the size. */
bool sizeflow_leads(const struct sizeflow *f, size_t from, size_t to);

#endif
