/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Known instructions to measure probes on; they run in a process of the tool's own. */
#ifndef GVL_PROBE_SCRATCH_H
#define GVL_PROBE_SCRATCH_H

#include <stdint.h>

enum scratch_work {
	SCRATCH_EMULATED,	/* a one-byte nop (x86) */
	SCRATCH_STEPPED,	/* a register move */
	SCRATCH_STORE,		/* an 8-byte store */
};

struct scratch_job {
	uint32_t work;		/* enum scratch_work */
	uint32_t turns;
};

void scratch_run(const struct scratch_job *job);

/* Address of the work's instruction, or of the word that SCRATCH_STORE writes. */
uint64_t scratch_place(enum scratch_work work);

#endif
