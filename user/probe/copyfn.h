/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where IO::Buffer copies, fills and compares memory: the calls that do it, symbols or not, and
 * where to probe them. Memory that mremap(), realloc() or calloc() provides is not among them.
 */
#ifndef GVL_PROBE_COPYFN_H
#define GVL_PROBE_COPYFN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/kind.h"
#include "probe/methods.h"
#include "target/object.h"
#include "util/err.h"

#define COPYFN_SITES_MAX 32

/* METHOD(NAME, name of the method) */
#define COPY_METHOD_LIST(METHOD) \
	METHOD(COPY,		"copy") \
	METHOD(SET_STRING,	"set_string") \
	METHOD(GET_STRING,	"get_string") \
	METHOD(INITIALIZE_COPY,	"initialize_copy") \
	METHOD(CLEAR,		"clear") \
	METHOD(RESIZE,		"resize") \
	METHOD(COMPARE,		"<=>")

enum copy_method {
#define COPY_METHOD_ENUM(name, text) COPY_METHOD_##name,
	COPY_METHOD_LIST(COPY_METHOD_ENUM)
#undef COPY_METHOD_ENUM
	COPY_METHODS
};

const char *copy_method_name(enum copy_method m);

/* Addresses are virtual ones of the ELF file, offsets are into it. */
struct copy_site {
	enum copy_op op;

	/* The call: arguments are in their registers there, and what raises has been before. */
	uint64_t call_vaddr, call_offset;
	bool call_emulated;		/* a probe costs one trap; else a single step as well */
	unsigned int len_reg;		/* general register that has the number of bytes there */

	/*
	 * The copy is over: one place behind the call, see function_return(). It may be passed
	 * without a copy as well. A call in tail position, a jump, has none: there the stack
	 * pointer is at the return address, so a return probe at the jump takes the copy's return.
	 */
	uint64_t after_vaddr, after_offset;
	bool after_emulated;
	bool is_tail;

	bool is_released;		/* runs without the lock, by rb_nogvl() */
	uint32_t methods;		/* bit per enum copy_method that may come by it */
};

struct copyfn {
	struct copy_site sites[COPYFN_SITES_MAX];	/* sorted by call_vaddr */
	size_t nr;
	uint64_t method_vaddr[COPY_METHODS];	/* 0: this Ruby does not have it */
	uint32_t unseen;	/* bit per method that may have copies besides these sites */
};

/*
 * Looks into @o, a libruby or a static Ruby that defines the methods @m. 0, or -errno with @e set; -ENOENT: this Ruby has no
 * IO::Buffer (3.0), or it cannot be told.
 */
int copyfn_find(struct copyfn *out, const struct object *o, const struct methods *m, struct err *e);

#endif
