// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Thread#name. */
#include "target/ruby.h"

#include "target/value.h"

bool ruby_thread_name(const struct ruby *r, uint64_t thread, char *out, size_t size)
{
	uint64_t value;

	out[0] = '\0';
	return r->layout.thread_name != LAYOUT_NONE &&
	       !proc_read_u64(&r->proc, thread + (uint64_t)r->layout.thread_name, &value) &&
	       !value_string(&r->proc, &r->layout, value, out, size) && out[0] != '\0';
}
