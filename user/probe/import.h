/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Words that the loader fills in (the GOT), the stubs that jump through them (the PLT), and so the
 * function that a call leads to. From relocations, which stripped files keep.
 */
#ifndef GVL_PROBE_IMPORT_H
#define GVL_PROBE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/function.h"
#include "target/object.h"

/* What a word names, or where a call leads. */
struct import_to {
	const char *name;	/* of a symbol, NULL where there is none; lives as the object */
	uint64_t vaddr;		/* in the same file; 0 for a function of another */
};

struct import_word {
	uint64_t vaddr;		/* of the word */
	struct import_to to;
};

struct import_stub {
	uint64_t vaddr;		/* of an instruction that the jump is reached from, or of itself */
	uint64_t word;		/* that it jumps through */
};

/* Both sorted by vaddr. */
struct imports {
	const struct object *o;
	struct import_word *words;
	struct import_stub *stubs;
	size_t nr_words, nr_stubs;
};

/* 0 and to be released, also if @o has neither; or -ENOMEM. */
int imports_load(struct imports *t, const struct object *o);
void imports_release(struct imports *t);	/* all zero is fine */

/* Where instruction @i of @f calls, or jumps to out of @f. False: it does not, or none can tell. */
bool imports_callee(const struct imports *t, const struct function *f, const struct insn *i,
		    struct import_to *out);

/* The address in the file that the word at @vaddr holds when the program starts. False: none. */
bool imports_word(const struct imports *t, uint64_t vaddr, uint64_t *out);

/* A function looked for by its name, in the file or in another. */
struct import_name {
	const char *name;
	uint64_t vaddr;		/* 0 if it is not in the file */
};

struct import_name import_name(const struct object *o, const char *name);
bool import_is(const struct import_to *to, const struct import_name *n);

#endif
