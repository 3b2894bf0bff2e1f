/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which thread runs on which task and what both are called, told once, before it is needed. */
#ifndef GVL_PROBE_NAMES_H
#define GVL_PROBE_NAMES_H

#include "probe/tracee.h"
#include "util/map.h"

struct names {
	struct map tid_of;	/* rb_thread_t of one tracee: its task, or 0 */
	struct map thread_of;	/* task: its rb_thread_t */
};

void names_init(struct names *n);
void names_release(struct names *n);

/* Sends EVENT_NAME for @thread of @te to the tracee's sink unless that was done already. */
void names_need(struct names *n, struct tracee *te, uint64_t thread, uint64_t ts_ns);

/* Task @tid ended: its thread's address may be used again by another. */
void names_exit(struct names *n, uint32_t tid);

#endif
