/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* System calls by name, as this machine numbers them, for the programs in the kernel. */
#ifndef GVL_PROBE_CALLS_H
#define GVL_PROBE_CALLS_H

#include "bpf/abi.h"

void calls_fill(struct call_table *out);

#endif
