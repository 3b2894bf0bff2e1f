/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which thread runs on which task and what both are called, told before it is needed. */
#ifndef GVL_PROBE_NAMES_H
#define GVL_PROBE_NAMES_H

#include <stdint.h>

#include "util/map.h"

struct tracee;

struct names {
	struct map tid_of;	/* rb_thread_t: its task, or 0 */
	struct map hash_of;	/* rb_thread_t: of the name that was told */
	struct map thread_of;	/* task: its rb_thread_t */
};

void names_init(struct names *n);
void names_release(struct names *n);

/*
 * Sends EVENT_NAME for @thread to the tracee's sink unless that was done already. @tid is its task if
 * known, else 0: it is read from memory then.
 */
void names_need(struct tracee *te, uint64_t thread, uint32_t tid, uint64_t ts_ns);

/* Task @tid ended: its thread's address may be used again by another. */
void names_exit(struct tracee *te, uint32_t tid);

/* Looks at all again: a thread may have been named, or have got its task, after it was told. */
void names_refresh(struct tracee *te);

#endif
