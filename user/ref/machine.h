/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What this machine gives to copies: measured by the reference's own, each time anew. */
#ifndef GVL_REF_MACHINE_H
#define GVL_REF_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/sample.h"
#include "util/err.h"

struct machine {
	uint32_t cores;			/* online, at most CREW_MAX */
	struct sample bandwidth_1;	/* bytes/s of one thread that copies without the lock */
	struct sample bandwidth_all;	/* ... of one for each core, together */
	struct sample transition_ns;	/* giving up the lock and taking it again, alone */
	struct sample latency_ns;	/* from giving it up until a thread that slept for it runs */
};

/*
 * Adds @runs measurements of each; all zero is a machine of which nothing is known. Each thread makes one copy of
 * @bytes: the kernel takes its time to spread threads that wake each other over the cores, which small copies
 * feel. 0, or -errno with @e set.
 */
int machine_measure(struct machine *m, size_t bytes, uint32_t runs, struct err *e);
void machine_release(struct machine *m);

/*
 * Copies of the given @sizes, one after the other, with the lock: what each took in @ns. With @is_cold each
 * is from and to memory that no cache has. 0, or -errno with @e set.
 */
int machine_copies(const size_t *sizes, size_t nr, bool is_cold, double *ns, struct err *e);

#endif
