/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One run of a program: the values of all metrics, where it ran, and whether it can be used. */
#ifndef GVL_GATE_RUN_H
#define GVL_GATE_RUN_H

#include <jansson.h>
#include <stddef.h>

#include "gate/metric.h"
#include "util/err.h"

/* Runs that differ in one of these had different conditions: their times are not comparable. */
enum fingerprint_part {
	FINGERPRINT_CPU,	/* its model, else the architecture */
	FINGERPRINT_CPUS,
	FINGERPRINT_KERNEL,
	FINGERPRINT_RUBY,	/* versions, of several processes all that differ */
	FINGERPRINT_TOOL,	/* version of gvlscope */
	FINGERPRINT_OPTIONS,	/* of `gvlscope record`, without names of files, processes and commands */
	FINGERPRINT_PARTS
};

struct fingerprint {
	char *part[FINGERPRINT_PARTS];	/* heap; never NULL once read ("" where not told) */
};

const char *fingerprint_part_name(enum fingerprint_part p);	/* "cpu", "cpus", "kernel", ... */

/* Bit 1 << part for every part that differs. */
unsigned int fingerprint_diff(const struct fingerprint *a, const struct fingerprint *b);

struct run {
	char *name;		/* e.g. its file; from outside: clean it before printing */
	char *unusable;		/* why it cannot be used (one sentence), or NULL */
	struct fingerprint where;
	struct value values[NR_METRICS];	/* as in metrics[] */
};

/* In order of measurement. All zero is an empty one. */
struct runs {
	struct run *run;
	size_t nr, room;
};

void runs_release(struct runs *r);

/*
 * Adds a run from @report (gvlscope.report/1). A run that lost events, was cut or has no locks
 * is added as unusable. 0, or -errno with @e set and nothing added: no such report
 * (REASON_REPORT_FORMAT).
 */
int runs_add(struct runs *r, const char *name, const json_t *report, struct err *e);

/* For readers of other forms: room for one more, all zero, counted (NULL when out of memory); and back. */
struct run *runs_append(struct runs *r);
void runs_drop(struct runs *r, size_t nr);		/* all but the first @nr */

size_t runs_usable(const struct runs *r);

#endif
