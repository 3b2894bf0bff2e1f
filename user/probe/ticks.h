/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A BPF program that runs at each tick of a clock, on every CPU. */
#ifndef GVL_PROBE_TICKS_H
#define GVL_PROBE_TICKS_H

#include "util/err.h"

#define TICKS_PER_SECOND 199	/* a prime: no beat with what happens every ms */

struct ticks {
	int *fds;	/* a perf event for each CPU, -1 where there is none */
	int nr;
};

/* 0, or -errno with @e set and nothing running. */
int ticks_start(struct ticks *t, int prog_fd, struct err *e);
void ticks_stop(struct ticks *t);	/* fine for all zero */

#endif
