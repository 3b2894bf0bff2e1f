/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a lock is like, read from memory: where its events begin, and whether they can be believed. */
#ifndef GVL_PROBE_LOCKSTATE_H
#define GVL_PROBE_LOCKSTATE_H

#include "probe/tracee.h"

/*
 * Reads owner and queue between two events of the lock and passes them on, so that the next event
 * continues them. l->needs_state is set where it never kept still: to be tried again.
 */
void lockstate_begin(struct tracee *te, struct tracee_lock *l);

/* What is seen of the lock ends at @ts_ns, if it has begun; @seq is of the last event before it. */
void lockstate_end(struct tracee *te, struct tracee_lock *l, uint64_t ts_ns, uint32_t seq);

/*
 * True when the word was seen to differ from the last event's owner, and then to change again or to
 * stay so for 200 ms, without an event. A probe runs some instructions after the write, and its task
 * may lose the CPU in between; hence the second look.
 */
bool lockstate_is_astray(struct tracee *te, struct tracee_lock *l, uint64_t now_ns);

/* An owner change went unseen: what was told since the last event of the lock is not certain. */
void lockstate_begin_anew(struct tracee *te, struct tracee_lock *l);

#endif
