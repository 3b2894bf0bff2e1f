/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which C function implements which Ruby method: from the calls that define them, so in stripped
 * files too. Of Ruby itself or of a C extension.
 */
#ifndef GVL_PROBE_METHODS_H
#define GVL_PROBE_METHODS_H

#include <stddef.h>
#include <stdint.h>

#include "target/object.h"
#include "util/err.h"

/* Addresses are virtual ones of the ELF file. */
struct method_def {
	uint64_t vaddr;
	const char *name;	/* owned by the table */
	uint64_t init;		/* the function that its definition stands in */
};

/* Sorted by vaddr, then name. A function may be there under several names. */
struct methods {
	struct method_def *all;
	size_t nr;
};

/*
 * 0 and to be released, were there none; or -errno with @e set. Definitions by a name or of a
 * function that is not a constant are left out.
 */
int methods_find(struct methods *out, const struct object *o, struct err *e);
void methods_release(struct methods *m);	/* all zero is fine */

/* A method that the function at @vaddr implements, NULL for none. */
const struct method_def *methods_at(const struct methods *m, uint64_t vaddr);

/* The method @name defined in the function at @init, NULL for none. */
const struct method_def *methods_named(const struct methods *m, uint64_t init, const char *name);

#endif
