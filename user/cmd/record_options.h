/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line of `gvlscope record`. */
#ifndef GVL_CMD_RECORD_OPTIONS_H
#define GVL_CMD_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/capture.h"
#include "util/err.h"

enum { PIDS_MAX = 256 };

struct record_options {
	pid_t pids[PIDS_MAX];
	int nr_pids;
	uint64_t duration_ns;
	const char *output;
	unsigned int functions;	/* MEASURE_FUNCTIONS or 0 */
	unsigned int copies;	/* MEASURE_LARGE or 0 */
	char **command;		/* NULL, or what follows -- */
	bool quiet;
	struct capture_options capture;
};

/* 0, or -errno with @e set. --help prints the usage and exits. */
int record_options_parse(struct record_options *o, int argc, char **argv, struct err *e);

#endif
