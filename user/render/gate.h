/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a gate found, in formats that agree: for people (text, markdown), for programs (JSON:
 * gvlscope.gate/1, docs/schema.md), for what CI systems show (JUnit, GitHub's annotations), and
 * for services that keep a history of figures (github-action-benchmark, Bencher).
 */
#ifndef GVL_RENDER_GATE_H
#define GVL_RENDER_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gate/verdict.h"
#include "render/doc.h"
#include "render/unit.h"

struct gate_result {
	const struct gate *gate;
	const struct policy *policy;
	const char *policy_path;	/* NULL: the built-in one */
	const struct runs *baseline, *candidate;
	const char *name;		/* of what was measured; from outside */
	const uint64_t *seed;		/* of the order of the runs; NULL: they were not made here */
};

/* Each returns 0, or -errno with @e set. Whether @out took it is for its owner to check. */
int gate_text(const struct gate_result *r, FILE *out, bool is_bold, struct err *e);
int gate_markdown(const struct gate_result *r, FILE *out, struct err *e);
int gate_json(const struct gate_result *r, FILE *out, struct err *e);
int gate_junit(const struct gate_result *r, FILE *out, struct err *e);
int gate_github(const struct gate_result *r, FILE *out, struct err *e);
int gate_benchmark_action(const struct gate_result *r, FILE *out, struct err *e);
int gate_bencher(const struct gate_result *r, FILE *out, struct err *e);

/* What several formats say in the same words. */

struct gate_words {
	char text[320];
};

const char *gate_status_name(enum exit_status s);	/* "passed", "regression", "inconclusive" */

struct gate_words gate_rule(const struct rule *r);	/* "gvl.hold_ns.p99", "gvl.hold_ns.p99 < 20.0 ms" */
struct unit gate_value(const struct verdict *v, double value);		/* facts in full */
struct unit gate_change(double change);			/* "+10.2 %", "none", "from 0", "-" */
struct gate_words gate_interval(const struct verdict *v);	/* "+8.1 % to +12.4 %"; "" without */

/*
 * "old 1.02 ms, new 1.12 ms, change +10.2 % (98 % interval +8.1 % to +12.4 %), p 0.0003, 20 pairs"; p,
 * the chance of it where nothing changed, only of what is worse.
 */
struct gate_words gate_evidence(const struct verdict *v);

/* How much a verdict matters, most first: the order in which they are told. */
enum gate_rank {
	GATE_FAILS,		/* decides for failure */
	GATE_OPEN,		/* decides for inconclusive */
	GATE_WARNS,		/* would, if its severity were not warn */
	GATE_IMPROVED,
	GATE_FINE,
	GATE_ABSENT,		/* not measured, no matter */
	GATE_RANKS
};
enum gate_rank gate_rank(const struct verdict *v);

/* A strip of marks for each side on a common scale. Nothing where there is nothing to see. */
void gate_plot(struct doc *d, const struct verdict *v);

/* True if @i is the first verdict on its metric that the candidate has a value for. */
bool gate_has_value(const struct gate *g, size_t i);

#endif
