/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls, and the constants that the program passes in them. */
#ifndef GVL_PROBE_KNOWN_H
#define GVL_PROBE_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/import.h"

/* What is known of the registers at an instruction, on the straight way to it. */
struct known {
	uint32_t regs;		/* bit per general register whose value is known */
	uint64_t value[32];
};

struct known_call {
	const struct function *f;
	const struct insn *insn;
	struct import_to to;
	struct known known;
};

/* Argument @i, less than 4, of integer or pointer type. False: unknown. */
bool known_arg(const struct known_call *c, unsigned int i, uint64_t *value);

/*
 * Calls @fn for each call in @f, and for each jump out of it, that leads to something known.
 * 0, or -ENOMEM.
 */
int known_calls(const struct function *f, const struct imports *t,
		void (*fn)(void *arg, const struct known_call *c), void *arg);

#endif
