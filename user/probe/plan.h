/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which method serves each measurement, or why none does. Pure: facts in, rows out. */
#ifndef GVL_PROBE_PLAN_H
#define GVL_PROBE_PLAN_H

#include <stdbool.h>

#include "probe/closing.h"
#include "probe/copying.h"
#include "probe/facts.h"

struct plan {
	const char *method;	/* "sites", "watch", ...; NULL where it cannot be measured */
	const char *check;	/* what else verifies it, or NULL */
	struct err why;		/* where method is NULL, or could do more */
};

enum part { PART_GVL, PART_CLOSE, PART_BLOCK, PART_COPY, PART_COUNT };

const char *part_name(enum part p);	/* as in JSON */

/*
 * For the lock: @has_sites says whether the process's code has places to probe. A missing
 * prerequisite is named by the first fact that fails.
 */
struct plan plan_gvl(const struct facts *f, bool has_sites);

/*
 * For IO#close: "symbol", "recovered", or without a process ("probe") by what the machine allows;
 * @closing may be NULL. For blocking regions: "calls". Both need the lock: @gvl.
 */
struct plan plan_close(const struct facts *f, const struct plan *gvl, const struct closing *closing);
struct plan plan_block(const struct plan *gvl, const struct layout *layout);

/*
 * For copies, what `record --copies exact` can do: "samples", before it "large, " where large copies
 * can be told one by one, before that "buffer, " where IO::Buffer's can. @copying may be NULL.
 */
struct plan plan_copy(const struct plan *gvl, const struct copying *copying);

#endif
