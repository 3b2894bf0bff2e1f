/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which thread runs on which task and what both are called, told before it is needed. */
#ifndef GVL_PROBE_NAMES_H
#define GVL_PROBE_NAMES_H

#include <stdint.h>

#include "util/map.h"

struct tracee;

enum { NAMES_LOOKS = 3 };	/* times that a thread is looked at again, later and later */

struct names {
	struct map tid_of;	/* rb_thread_t: its task, or 0 */
	struct map hash_of;	/* rb_thread_t: of the name that was told */
	struct map thread_of;	/* task: its rb_thread_t */
	struct names_look {
		uint64_t thread, due_ns;
	} *looks[NAMES_LOOKS];	/* by how often it was looked at, in order of time */
	size_t nr_looks[NAMES_LOOKS];
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

/*
 * Looks again at the threads that are due: a thread may have been named, or have got its task, after
 * it was told.
 */
void names_tick(struct tracee *te, uint64_t now_ns);

/* Looks at all once more. */
void names_refresh(struct tracee *te);

/* The task that runs @thread, an id of the process's own pid namespace; 0 when there is none. */
uint32_t names_tid(const struct tracee *te, uint64_t thread);

#endif
