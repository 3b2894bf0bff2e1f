/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hardware write watchpoints on one word, on every CPU. */
#ifndef GVL_PROBE_WATCH_H
#define GVL_PROBE_WATCH_H

#include <stdint.h>

#include "util/err.h"

struct watch {
	int *fds;		/* of BPF links, one a CPU */
	int nr_fds;
};

/*
 * Runs program @prog_fd (type perf_event) after each write to the 8-byte word at user address @addr, in any
 * process: the program tells them apart. A CPU has four such slots (x86, arm64 at least four).
 * 0, or -errno with @e set: REASON_NO_WATCHPOINT where no slot is free, REASON_CAP_PERFMON.
 */
int watch_open(struct watch *w, uint64_t addr, uint64_t cookie, int prog_fd, struct err *e);
void watch_close(struct watch *w);	/* fine for a closed or zeroed one */

#endif
