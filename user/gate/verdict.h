/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether a candidate is worse than its baseline, rule by rule of a policy, and all in all.
 *
 * Facts are compared exactly where they can be: if all runs of the baseline agree, and all of
 * the candidate. All else is tested on pairs of runs, the i-th of either side. The statistics,
 * why they are so, and how often they were seen to be wrong are in docs/gate.md.
 */
#ifndef GVL_GATE_VERDICT_H
#define GVL_GATE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/policy.h"
#include "gate/run.h"
#include "stat/sample.h"

enum verdict_result {
	VERDICT_PASS,
	VERDICT_IMPROVED,
	VERDICT_NOT_MEASURED,	/* nothing to compare, and that is no matter: see why */
	VERDICT_INCOMPARABLE,	/* other conditions, or measured on one side only */
	VERDICT_INCONCLUSIVE,
	VERDICT_REGRESSION,
	VERDICT_BROKEN,		/* a bound of the policy is not kept */
	VERDICT_RESULTS
};

enum verdict_evidence {
	EVIDENCE_NONE,		/* nothing could be said */
	EVIDENCE_EXACT,		/* values are the same or not */
	EVIDENCE_TEST,		/* paired runs, resampled */
	EVIDENCE_BOUND,		/* the candidate's values against a bound */
};

struct verdict {
	const struct rule *rule;	/* the policy's */
	enum verdict_result result;
	enum verdict_evidence evidence;
	struct sample before, after;	/* values of the usable runs that have one, the plot's; its own */
	double old_value, new_value;	/* their medians; NAN where there are none */

	/* EVIDENCE_TEST: relative change from before to after, -0.5 is half as much; whether that is good
	 * or bad is the rule's direction. EVIDENCE_EXACT: all three are the change. Else NAN. */
	double change;			/* INFINITY: from nothing to something */
	double low, high;		/* interval, -1 and INFINITY where there is none yet */
	double level;			/* of the interval: 0.95 */
	double p;			/* chance that any rule of the policy looks so much worse, by its
					 * minimum or more, where nothing changed; NAN if not tested */
	size_t nr_pairs;		/* that were tested */
	size_t runs_needed;		/* runs on either side that would decide; 0: does not apply */
	char why[256];			/* one sentence, ready to be printed */
};

struct gate_input {
	const struct runs *baseline;	/* NULL or empty: only bounds are checked */
	const struct runs *candidate;
	const struct policy *policy;
	unsigned int may_differ;	/* 1 << fingerprint_part: on purpose, times are compared anyway */
};

/* A thing to know about the runs: one that is unusable, conditions that differ. */
struct gate_note {
	char text[512];		/* one sentence; names in it are from outside: clean it */
};

struct gate {
	struct verdict *verdicts;	/* one a rule, in the policy's order */
	size_t nr;
	struct gate_note *notes;
	size_t nr_notes;
	size_t count[VERDICT_RESULTS];	/* of all verdicts */
	size_t baseline_usable, candidate_usable;
	enum exit_status status;	/* EXIT_DONE, EXIT_REGRESSION or EXIT_INCONCLUSIVE */
	char summary[256];		/* one sentence that says why it is so */
};

/* Judges. What is in @in is kept, not copied. 0 and a gate to release, or -ENOMEM with @e set. */
int gate_judge(struct gate *out, const struct gate_input *in, struct err *e);
void gate_release(struct gate *g);

const char *verdict_name(enum verdict_result r);	/* "pass", "improved", "not-measured", ... */
const char *evidence_name(enum verdict_evidence v);	/* "none", "exact", "test", "bound" */

/* True if it makes a gate of its severity fail, or inconclusive. */
bool verdict_is_bad(enum verdict_result r);		/* regression, broken */
bool verdict_is_open(enum verdict_result r);		/* inconclusive, incomparable */

#endif
