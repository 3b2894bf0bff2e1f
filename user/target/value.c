// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/value.h"

#include <errno.h>

/* The same in 3.0 to 4.0, if nothing else is said. */
enum {
	/* include/ruby/internal/value_type.h: enum ruby_value_type */
	T_STRING = 0x05,
	T_ARRAY = 0x07,
	T_IMEMO = 0x1a,
	T_MASK = 0x1f,

	/* include/ruby/internal/special_consts.h: a pointer to an object has none of these bits */
	SPECIAL_MASK = 0x7,
	PAGE = 4096,		/* nothing is ever mapped in the first one */

	/* include/ruby/internal/fl_type.h: RUBY_FL_USHIFT is 12, so RUBY_FL_USER1 is bit 13 */
	STRING_NOEMBED = 1 << 13,	/* core/rstring.h: RSTRING_NOEMBED = RUBY_FL_USER1 */
	STRING_LEN_SHIFT = 14,		/* 3.0, 3.1: RSTRING_EMBED_LEN_SHIFT = RUBY_FL_USHIFT + 2 */
	STRING_LEN_MASK = 0x1f,		/* 3.0, 3.1: RUBY_FL_USER2 to RUBY_FL_USER6 */
	ARRAY_EMBED = 1 << 13,		/* core/rarray.h: RARRAY_EMBED_FLAG = RUBY_FL_USER1 */
	ARRAY_LEN_SHIFT = 15,		/* core/rarray.h: RARRAY_EMBED_LEN_SHIFT */
	ARRAY_LEN_MASK = 0x7f,		/* RUBY_FL_USER3 to 9; 5 to 9 are zero in 3.0 and 3.1 */
	IMEMO_SHIFT = 12,		/* internal/imemo.h: imemo_type() */
	IMEMO_MASK = 0xf,
	IMEMO_ISEQ = 7,			/* internal/imemo.h: enum imemo_type */
};

/*
 * struct RString: after struct RBasic (flags, klass) comes the length; then the pointer of a String
 * on the heap, or the bytes. Up to 3.1 the bytes are where the length is otherwise.
 */
struct rstring {
	uint64_t flags, klass;
	uint64_t len, ptr;
};

/* struct RArray (core/rarray.h): as.ary[] of an embedded one is where as.heap.len is. */
struct rarray {
	uint64_t flags, klass;
	uint64_t len, aux, ptr;
};

/* Reads @size bytes of the object @value, whose type must be @type. */
static int object_read(const struct proc *p, uint64_t value, unsigned int type, void *buf,
		       size_t size)
{
	int r;

	if (value < PAGE || value & SPECIAL_MASK)
		return -EINVAL;
	r = proc_read(p, value, buf, size);
	if (r)
		return r;
	return (*(const uint64_t *)buf & T_MASK) == type ? 0 : -EINVAL;
}

int value_string(const struct proc *p, const struct layout *l, uint64_t value, char *out,
		 size_t size)
{
	struct rstring s;
	uint64_t len, at;
	int r = object_read(p, value, T_STRING, &s, sizeof(s));

	out[0] = '\0';
	if (r)
		return r;
	len = s.len;
	at = value + (uint64_t)l->string_embedded;
	if (s.flags & STRING_NOEMBED)
		at = s.ptr;
	else if (l->string_embedded == LAYOUT_NONE)
		return -ENOTSUP;
	else if (l->string_embedded == (int32_t)offsetof(struct rstring, len))
		len = s.flags >> STRING_LEN_SHIFT & STRING_LEN_MASK;
	if (len >= size)
		len = size - 1;
	r = proc_read(p, at, out, len);
	if (r)
		len = 0;
	out[len] = '\0';
	return r;
}

int value_first(const struct proc *p, uint64_t value, uint64_t *out)
{
	struct rarray a;
	int r = object_read(p, value, T_ARRAY, &a, sizeof(a));
	uint64_t len;

	if (r)
		return r;
	len = a.flags & ARRAY_EMBED ? a.flags >> ARRAY_LEN_SHIFT & ARRAY_LEN_MASK : a.len;
	if (len == 0)
		return -ENOENT;
	if (!(a.flags & ARRAY_EMBED))
		return proc_read_u64(p, a.ptr, out);
	*out = a.len;
	return 0;
}

int value_is_iseq(const struct proc *p, uint64_t value)
{
	uint64_t flags;
	int r = object_read(p, value, T_IMEMO, &flags, sizeof(flags));

	if (r)
		return r;
	return (flags >> IMEMO_SHIFT & IMEMO_MASK) == IMEMO_ISEQ ? 0 : -EINVAL;
}
