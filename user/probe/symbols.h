/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What C functions of a process are called, told once each. */
#ifndef GVL_PROBE_SYMBOLS_H
#define GVL_PROBE_SYMBOLS_H

#include <stdint.h>

#include "util/map.h"

struct tracee;

struct symbols {
	struct map told;	/* by address */
};

void symbols_release(struct symbols *s);

/*
 * Sends EVENT_SYMBOL for the function at @addr to the tracee's sink unless that was done already: its
 * symbol, or else its file and address in it.
 */
void symbols_need(struct tracee *te, uint64_t addr, uint64_t ts_ns);

#endif
