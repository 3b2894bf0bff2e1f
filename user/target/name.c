// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Thread#name, read out of the String that holds it. */
#include "target/ruby.h"

#include <stddef.h>
#include <string.h>

enum {
	T_STRING = 5,			/* include/ruby/internal/value_type.h: RUBY_T_STRING */
	T_MASK = 0x1f,
	RSTRING_NOEMBED = 1 << 13,	/* include/ruby/internal/core/rstring.h, FL_USER1 */
	EMBED_LEN_SHIFT = 14,		/* up to 3.1: length of an embedded String in the flags */
	EMBED_LEN_MASK = 0x1f,
};

/* struct RString after its RBasic: from 3.2 a length always comes first (USE_RVARGC). */
struct rstring {
	uint64_t flags, klass;
	uint64_t len;
	uint64_t ptr;
};

bool ruby_thread_name(const struct ruby *r, uint64_t thread, char *out, size_t size)
{
	bool len_in_flags = strncmp(r->version, "3.0", 3) == 0 || strncmp(r->version, "3.1", 3) == 0;
	struct rstring s;
	uint64_t value, len, at;

	out[0] = '\0';
	if (r->layout.thread_name < 0 ||
	    proc_read_u64(&r->proc, thread + r->layout.thread_name, &value) ||
	    value < 4096 || proc_read(&r->proc, value, &s, sizeof(s)) ||
	    (s.flags & T_MASK) != T_STRING)
		return false;
	if (s.flags & RSTRING_NOEMBED) {
		len = s.len;
		at = s.ptr;
	} else if (len_in_flags) {
		len = s.flags >> EMBED_LEN_SHIFT & EMBED_LEN_MASK;
		at = value + offsetof(struct rstring, len);
	} else {
		len = s.len;
		at = value + offsetof(struct rstring, ptr);
	}
	if (len >= size)
		len = size - 1;
	if (proc_read(&r->proc, at, out, len))
		len = 0;
	out[len] = '\0';
	return len > 0;
}
