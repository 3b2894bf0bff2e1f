/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the runs of `gvlscope gate` come from: files, or commands that it runs itself. */
#ifndef GVL_CMD_GATE_H
#define GVL_CMD_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "gate/run.h"
#include "util/err.h"

enum gate_side { GATE_BASELINE, GATE_CANDIDATE, GATE_SIDES };

/*
 * Adds what is in the file at @path: the run of a trace, or of a report (gvlscope.report/1), or the
 * runs of a baseline (gvlscope.baseline/1). What cannot be read twice, as a pipe, is taken for a
 * trace. 0, or -errno with @e set (EXIT_BAD_FILE) and nothing added.
 */
int gate_read(struct runs *r, const char *path, struct err *e);

/* The run of the trace at @path, called @name. */
int gate_read_trace(struct runs *r, const char *name, const char *path, struct err *e);

struct gate_plan {
	char **commands[GATE_SIDES];		/* their words; NULL: that side is not run */
	uint64_t nr, warmup;			/* runs of each side; before them, runs that do not count */
	uint64_t seed;				/* of the order */
	bool is_quiet;
};

/*
 * Runs the commands, each time both in random order, each run traced by `gvlscope record`, and
 * adds the runs to @runs. 0, or -errno with @e set: -EINTR after Ctrl-C, REASON_RUN_* if a run
 * failed. Whatever happens, no process and no file of it stays.
 */
int gate_run(const struct gate_plan *p, struct runs runs[GATE_SIDES], struct err *e);

#endif
