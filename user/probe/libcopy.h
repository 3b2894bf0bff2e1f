/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The C library's routines for copying and filling memory that the loader chose for a process, and
 * in each the branch that only large sizes take: probed there, small ones cost nothing.
 */
#ifndef GVL_PROBE_LIBCOPY_H
#define GVL_PROBE_LIBCOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/object.h"
#include "target/proc.h"
#include "util/err.h"

#define LIBCOPY_ROUTINES_MAX 4
#define LIBCOPY_PLACES_MAX 8

enum libcopy_op {
	LIBCOPY_MOVE,		/* memmove, memcpy, mempcpy */
	LIBCOPY_SET,		/* memset */
};

/* Addresses are virtual ones of the ELF file, offsets are into it. */
struct libcopy_place {
	uint64_t vaddr, offset;
	bool emulated;		/* costs one trap; else it is single-stepped as well */
	unsigned int size_reg;	/* general register that has the size; the stack has the return address */
	uint64_t least;		/* bytes: no smaller size comes by */
};

struct libcopy_routine {
	enum libcopy_op op;
	uint64_t start, end;	/* all of its code, with that of routines in between */
	uint64_t from;		/* bytes: whatever size from here on passes one place, and it once */
	struct libcopy_place places[LIBCOPY_PLACES_MAX];
	size_t nr_places;	/* 0: it cannot be probed, see libcopy_find() */
};

struct libcopy {
	struct object object;	/* the C library */
	struct libcopy_routine routines[LIBCOPY_ROUTINES_MAX];
	size_t nr_routines;
};

/*
 * Finds the routines in the live process @p and the places where copies of at least @min bytes can
 * be seen; a place may be passed by smaller ones too. To be released in any case. 0, or -errno
 * with @e set: -ENOTSUP if places are lacking in some routine (all else is there); after another
 * nothing is known.
 *
 * A routine's @from is at most @min, save where @min is just the last size that goes another way:
 * then it is @min + 1. A memmove to where the memory is already may pass a place too.
 */
int libcopy_find(struct libcopy *out, const struct proc *p, uint64_t min, struct err *e);
void libcopy_release(struct libcopy *c);

/*
 * The same for the routine in @o that starts at the @nr addresses @starts. 0, -ENOTSUP without
 * places, or -errno: none is there.
 */
int libcopy_place(struct libcopy_routine *out, const struct object *o, const struct proc *p,
		  const uint64_t *starts, size_t nr, uint64_t min);

#endif
