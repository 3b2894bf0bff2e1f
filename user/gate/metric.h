/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What can be compared: a metric is a number read from a report (gvlscope.report/1,
 * docs/schema.md), named after the place it has there: gvl.hold_ns.p99, close.visited.sum. A
 * table, no branches.
 *
 * Where a report has several locks, counts and sums are added up; a mean or a share is of all of
 * them (sum by sum); a quantile is the largest of theirs, as quantiles cannot be added.
 *
 *	.mean		sum / count, exact (the report's own mean is rounded)
 *	.share		of the time that the locks were seen
 *	.per_close, .per_region, .per_hold	divided by their number: for programs that do not
 *			always do the same number of operations
 */
#ifndef GVL_GATE_METRIC_H
#define GVL_GATE_METRIC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "stat/findings.h"

enum metric_kind {
	METRIC_FACT,	/* a count that the program alone decides: waiters visited, bytes copied */
	METRIC_COUNT,	/* a count in which scheduling has a say: switches, short regions */
	METRIC_TIME,	/* the machine's speed is in it */
};

/* How the values of several locks become one. */
enum metric_fold {
	METRIC_SUM,	/* added up, also what it is divided by */
	METRIC_WORST,	/* the largest */
};

struct metric {
	const char *name;
	enum metric_kind kind;
	enum finding_unit unit;
	enum metric_fold fold;
	const char *path;	/* in the report; [] stands for every element of an array */
	const char *per;	/* what it is divided by, or NULL */
	const char *seen;	/* where this is 0 nothing happened and there is no value, or NULL */
	const char *certain;	/* where this is false the value is not certain, or NULL */
};

enum { NR_METRICS = 58 };
extern const struct metric metrics[NR_METRICS];		/* sorted by name */

const struct metric *metric_find(const char *name);	/* NULL: there is none */
const char *metric_kind_name(enum metric_kind k);	/* "fact", "count", "time" */

enum value_state {
	VALUE_ABSENT,		/* not measured */
	VALUE_NONE,		/* measured, but nothing happened that it could be of */
	VALUE_UNCERTAIN,	/* a number, but not to be compared exactly */
	VALUE_CERTAIN,
};

struct value {
	enum value_state state;
	double number;		/* 0 where there is none */
};

/* What @report says of it. Anything may be in a report: what is not as expected is absent. */
struct value metric_read(const struct metric *m, const json_t *report);

#endif
