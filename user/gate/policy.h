/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a change must not make worse, and how sure the gate has to be. A text, line by line; what
 * follows a # is a comment:
 *
 *	# metric              better  limit  minimum  severity
 *	gvl.hold_ns.mean      lower   10%    5%       fail
 *	close.visited.p99 <= 1                        fail
 *	gvl.hold_ns.p99 < 20ms                        warn
 *	false_alarms 0.3%
 *
 * A comparison fails when the candidate is worse for certain, and by the minimum or more; it
 * passes when it is certain not to be worse by the limit or more (which is at least the
 * minimum). A minimum of 0% takes every certain change seriously: for counts. A bound (<, <=,
 * ==, >=, >) is checked without any baseline; it is a number with the unit that the metric has:
 * 20ms, 64K, 5%, or plain. The severity may be left out: fail. A metric may have one comparison
 * and any number of bounds. false_alarms, at most 10%: the chance that a gate reports a
 * regression of anything at all where nothing changed.
 */
#ifndef GVL_GATE_POLICY_H
#define GVL_GATE_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "gate/metric.h"
#include "util/err.h"

enum severity {
	SEVERITY_FAIL,		/* decides the exit status */
	SEVERITY_WARN,		/* is reported */
};

enum rule_kind {
	RULE_COMPARE,
	RULE_BELOW,		/* < */
	RULE_AT_MOST,		/* <= */
	RULE_EQUAL,		/* == */
	RULE_AT_LEAST,		/* >= */
	RULE_ABOVE,		/* > */
};

struct rule {
	const struct metric *metric;
	enum rule_kind kind;
	enum severity severity;
	unsigned int line;	/* in the policy's text, from 1 */
	bool is_higher_better;	/* of a comparison */
	double limit, minimum;	/* of a comparison, as a share: 0.1 is 10 % */
	double bound;		/* of the others, in the metric's unit */
};

struct policy {
	struct rule *rules;	/* as in the text */
	size_t nr;
	double false_alarms;	/* 0.003 unless told */
	bool is_default;	/* what was not measured at all is not missed then */
};

/* The built-in one, as text. */
extern const char policy_default[];

/*
 * Reads @text; @name is what errors call it: "NAME:LINE: ...", REASON_POLICY. A @text of NULL is
 * the built-in one. 0 and a policy to release, or -errno with @e set and *out untouched.
 */
int policy_parse(struct policy *out, const char *name, const char *text, struct err *e);

/* The same from a file of at most 1 MiB. REASON_POLICY too if it cannot be read. */
int policy_read(struct policy *out, const char *path, struct err *e);
void policy_release(struct policy *p);

const char *severity_name(enum severity s);	/* "fail", "warn" */
const char *rule_sign(enum rule_kind k);	/* "<", "<=", ...; "" for a comparison */

#endif
