/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of the programs become events of a process: in order, and none from outside its windows. */
#ifndef GVL_PROBE_INTAKE_H
#define GVL_PROBE_INTAKE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"

struct tracee;

/* Passes on what the record @r of @te tells, @size bytes, to its sink. */
void intake_record(struct tracee *te, const struct rec *r, size_t size);

/* Passes on what the programs have tallied of @te, as of @ts_ns, and has them begin anew. */
void intake_tallies(struct tracee *te, uint64_t ts_ns);

#endif
