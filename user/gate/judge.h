/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What verdict.c shares with the judges of comparisons and bounds. */
#ifndef GVL_GATE_JUDGE_H
#define GVL_GATE_JUDGE_H

#include "gate/verdict.h"

/* What the usable runs of one side say of a metric. */
struct tally {
	size_t nr_runs;		/* usable */
	size_t nr_absent, nr_none, nr_uncertain;
	bool is_constant;	/* all runs have a certain value, and it is the same */
};

struct judge {
	const struct gate_input *in;
	unsigned int differs;	/* parts of the fingerprints that should not */
	bool has_baseline;
	struct tally *before, *after;	/* one a rule */
};

/*
 * Judges all comparisons of the policy together: their errors are controlled over all of them.
 * verdicts[i] belongs to rule i. 0 or -ENOMEM.
 */
int judge_comparisons(const struct judge *j, struct verdict *verdicts);

/* Judges the bound v->rule. 0 or -ENOMEM. */
int judge_bound(const struct tally *after, struct verdict *v);

/* Sets v->result, and v->why to one sentence. */
__attribute__((format(printf, 3, 4)))
void judge_say(struct verdict *v, enum verdict_result result, const char *fmt, ...);

#endif
