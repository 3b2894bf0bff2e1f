// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "util/scope.h"

/*
 * What layout_check() asks of a member. Pointers, list heads and lengths are 8 bytes, ids and
 * counts 4. The size of a type is a multiple of what its members are aligned to.
 */
struct rule {
	const char *name;
	size_t at;		/* in struct layout */
	int32_t align;
	bool required;
};

#define NEED(name, align) { #name, offsetof(struct layout, name), align, true }
#define MAY(name, align) { #name, offsetof(struct layout, name), align, false }
static const struct rule rules[] = {
	NEED(vm_ractors, 8),
	NEED(vm_ractor_count, 4),
	NEED(vm_main_ractor, 8),
	NEED(vm_main_thread, 8),
	MAY(vm_fork_gen, 8),
	MAY(vm_waiting_fds, 8),
	NEED(ractor_id, 4),
	NEED(ractor_node, 8),
	NEED(ractor_threads, 8),
	NEED(ractor_thread_count, 4),
	NEED(ractor_sched, 8),
	NEED(ractor_owner, 8),
	NEED(ractor_queue, 8),
	MAY(ractor_queue_count, 4),
	NEED(thread_node, 8),
	NEED(thread_ractor, 8),
	NEED(thread_vm, 8),
	NEED(thread_ec, 8),
	NEED(thread_name, 8),
	MAY(thread_tid, 4),
	MAY(thread_native, 8),
	NEED(thread_queue_node, 8),
	MAY(native_tid, 4),
	MAY(native_running, 8),
	MAY(native_dedicated, 4),
	MAY(ractor_mn, 1),
	MAY(ec_cfp, 8),
	MAY(ec_thread, 8),
	MAY(file_io, 8),
	MAY(io_fd, 4),
	MAY(io_mode, 4),
	MAY(io_waiters, 8),
	MAY(io_fork_gen, 8),
	MAY(waiter_node, 8),
	MAY(waiter_thread, 8),
	MAY(waiter_fd, 4),
	MAY(waiter_ec, 8),
	MAY(thread_status, 1),
	MAY(ec_stack, 8),
	MAY(ec_stack_words, 8),
	MAY(cfp_pc, 8),
	MAY(cfp_iseq, 8),
	MAY(cfp_self, 8),
	MAY(cfp_size, 8),
	MAY(iseq_body, 8),
	MAY(body_code, 8),
	MAY(body_code_words, 4),
	MAY(body_pathobj, 8),
	MAY(body_lines, 8),
	MAY(body_line_count, 4),
	MAY(body_line_index, 8),
	MAY(line_no, 4),
	MAY(line_size, 4),
	MAY(string_embedded, 8),
	MAY(io_self, 8),
	MAY(io_closing_ec, 8),
	MAY(waiter_busy, 8),
	MAY(cfp_ep, 8),
	MAY(method_def, 8),
	MAY(def_function, 8),
};
_Static_assert(ARRAY_LEN(rules) == sizeof(struct layout) / sizeof(int32_t), "a rule a member");

static int32_t member(const struct layout *l, const struct rule *r)
{
	int32_t off;

	memcpy(&off, (const char *)l + r->at, sizeof(off));
	return off;
}

int layout_check(const struct layout *l, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const struct rule *r = &rules[i];
		int32_t off = member(l, r);

		if (off == LAYOUT_NONE && !r->required)
			continue;
		if (off == LAYOUT_NONE)
			return err_set(e, REASON_RUBY_VERSION, -EINVAL,
				       "layout: %s is missing", r->name);
		if (off < 0 || off > LAYOUT_MAX_OFFSET || off % r->align != 0)
			return err_set(e, REASON_LAYOUT_MISMATCH, -EINVAL,
				       "layout: %s cannot be at offset %d", r->name, off);
	}
	if ((l->thread_native == LAYOUT_NONE) != (l->native_tid == LAYOUT_NONE))
		return err_set(e, REASON_RUBY_VERSION, -EINVAL,
			       "layout: of thread_native and native_tid only one is there");
	return 0;
}
