/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a probe costs the process that runs into it, measured on this machine. */
#ifndef GVL_PROBE_COST_H
#define GVL_PROBE_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

/* ns a hit, with an empty BPF program; 0 where that kind of probe is not to be had. */
struct cost {
	double emulated_ns;	/* uprobe on an instruction that the kernel emulates */
	double stepped_ns;	/* uprobe on another instruction */
	double watch_ns;	/* watchpoint */
	double program_ns;	/* run of the tool's own program, on top */
	bool is_measured;	/* else the figures of docs/method.md */
	bool is_multi;		/* uprobes are measured as uprobe_multi links */
};

/*
 * Fills @out with the figures of docs/method.md, and tries on a scratch process, in some ms, which
 * probes fire at all: whether uprobe_multi links do for all threads of a process (not before 6.10),
 * and whether watchpoints do (some virtual machines accept them and never deliver one).
 */
void cost_try(struct cost *out, bool *has_uprobe_multi, bool *has_watch);

/* Measures on a scratch process, about 0.3 s. Never fails: what cannot be measured is 0. */
void cost_measure(struct cost *out);

#endif
