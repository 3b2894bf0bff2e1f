/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ruby's scan of those who wait on a descriptor, which IO#close does: where it is, symbols or not,
 * and where it costs least to probe.
 */
#ifndef GVL_PROBE_CLOSEFN_H
#define GVL_PROBE_CLOSEFN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/layout.h"
#include "target/object.h"
#include "util/err.h"

#define CLOSEFN_CALLS_MAX 16

enum closefn_how {
	CLOSEFN_SYMBOL,
	CLOSEFN_RECOVERED,	/* from what exported functions call, and what that reads */
};

/* Addresses are virtual ones of the ELF file, offsets are into it. */
struct closefn {
	enum closefn_how how;
	bool is_per_io;			/* the argument is a struct rb_io * (4.0), else an int fd */
	uint64_t start, end;		/* the scan's function */

	/* One place that every scan passes once, first thing. */
	uint64_t entry_vaddr, entry_offset;
	unsigned int arg_reg;		/* general register that has the argument there */
	uint32_t list_regs;		/* bit per one that has the second: list_head * (up to 3.4) */
	int32_t sp_shift;		/* there, the return address is at stack pointer + this */
	bool entry_emulated;		/* costs one trap; else it is single-stepped as well */
	bool entry_is_start;		/* is the function's first instruction */

	/*
	 * One place behind each call: the scan is over. An exception leaves it out. Where it is not
	 * emulated it may be passed without a call as well.
	 */
	uint64_t after_vaddr[CLOSEFN_CALLS_MAX], after_offset[CLOSEFN_CALLS_MAX];
	bool after_emulated[CLOSEFN_CALLS_MAX];
	size_t nr_after;
	size_t nr_tail_calls;		/* callers that jump to it: no place behind these */

	/* rb_thread_fd_close(), 0 if there is none: return addresses in it tell a close by it. */
	uint64_t fdclose_start, fdclose_end;
};

/*
 * Finds the scan in @o, a libruby or a static Ruby; @l is the layout of its structures. 0, or
 * -errno with @e set: it is not there, or what is there is not certain to be it.
 */
int closefn_find(struct closefn *out, const struct object *o, const struct layout *l,
		 struct err *e);

/* Finds where it starts, looking at no symbol that is not exported. 0, or -errno with @e set. */
int closefn_recover(uint64_t *start, const struct object *o, const struct layout *l, struct err *e);

#endif
