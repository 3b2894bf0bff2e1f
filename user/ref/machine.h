/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What this machine gives to copies: measured by the reference's own, each time anew. */
#ifndef GVL_REF_MACHINE_H
#define GVL_REF_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ref/places.h"
#include "stat/sample.h"
#include "util/err.h"

struct machine {
	uint32_t cores;			/* online, at most CREW_MAX */
	struct sample bandwidth_1;	/* bytes/s of one copy at a time: each thread of the load in turn, with the lock */
	struct sample bandwidth_all;	/* ... of all together, without it */
	struct sample transition_ns;	/* giving up the lock and taking it again, alone */
	struct sample latency_ns;	/* from giving it up until a thread that slept for it runs */
};

/*
 * Threads that get the lock one after the other, and then copy without it. The kernel takes its time to spread
 * threads that wake each other over the cores, so it matters how many there are and how much each does.
 */
struct machine_load {
	size_t bytes;		/* of a copy */
	uint32_t threads;	/* at most CREW_MAX; 0: one for each core */
	uint32_t copies;	/* of each thread */
	const struct placements *placements;	/* of its threads; NULL, none: up to the kernel */
	const volatile bool *is_interrupted;
};

/*
 * Adds @runs measurements of each; all zero is a machine of which nothing is known. 0, -EINTR when the load's
 * *is_interrupted became true, or another -errno with @e set.
 */
int machine_measure(struct machine *m, const struct machine_load *load, uint32_t runs, struct err *e);
void machine_release(struct machine *m);

/*
 * Copies of the given @sizes, one after the other, with the lock: what each took in @ns. With @is_cold each
 * is from and to memory that no cache has. 0, or -errno with @e set.
 */
int machine_copies(const size_t *sizes, size_t nr, bool is_cold, double *ns, struct err *e);

#endif
