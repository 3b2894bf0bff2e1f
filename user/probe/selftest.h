/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traces a process of the tool's own in which threads use the reference locks (ref/lock.h); the locks
 * know how often.
 */
#ifndef GVL_PROBE_SELFTEST_H
#define GVL_PROBE_SELFTEST_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

struct selftest {
	bool passed;
	uint64_t changes_made, changes_seen;	/* of the owner */
	uint64_t entries_made, entries_seen;	/* into the queue */
	uint64_t lost;
	struct err why;				/* where it did not pass */
};

void selftest_run(struct selftest *out);

#endif
