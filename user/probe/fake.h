/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stand-in for Ruby's scheduler: the same structures as far as the tool reads them, one lock, and
 * a script of what happens to it. Used by `doctor --selftest` and by tests.
 */
#ifndef GVL_PROBE_FAKE_H
#define GVL_PROBE_FAKE_H

#include <stdint.h>

#include "target/layout.h"

struct fake_vm;

/* A VM with one Ractor and @nr_threads (at least 2) threads, the first being owner; to be freed. */
struct fake_vm *fake_new(unsigned int nr_threads);

/* One round: each other thread queues, then the lock is handed on to all in turn and back. */
void fake_round(struct fake_vm *vm);

/* How many owner changes and queue entries a round makes. */
uint64_t fake_changes_per_round(const struct fake_vm *vm);
uint64_t fake_entries_per_round(const struct fake_vm *vm);

struct layout fake_layout(void);

/* Addresses of the two instructions that write the lock's words. */
uint64_t fake_owner_writer(void);
uint64_t fake_queue_writer(void);

#endif
