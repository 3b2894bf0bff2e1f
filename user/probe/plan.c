// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/plan.h"

#include <errno.h>

struct plan plan_gvl(const struct facts *f, bool has_sites)
{
	static const enum fact needed[] = { FACT_BTF, FACT_BPF, FACT_PTRACE };
	struct plan p = { 0 };

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (f->facts[needed[i]].ok)
			continue;
		p.why = f->facts[needed[i]].why;
		return p;
	}
	if (has_sites && f->facts[FACT_UPROBE].ok) {
		p.method = "sites";
		p.check = f->facts[FACT_WATCHPOINT].ok ? "watch" : NULL;
		return p;
	}
	if (f->facts[FACT_WATCHPOINT].ok) {
		p.method = "watch";
		return p;
	}
	if (!f->facts[FACT_UPROBE].ok)
		p.why = f->facts[FACT_UPROBE].why;
	else
		err_set(&p.why, REASON_NO_SITES, -ENOENT,
			"no instruction was found that may write the lock's owner, and watchpoints do "
			"not work");
	return p;
}

struct plan plan_close(const struct facts *f, const struct plan *gvl, const struct closing *closing)
{
	struct plan p = { .method = "probe" };

	if (!gvl->method)
		return (struct plan){ .why = gvl->why };
	if (!f->facts[FACT_UPROBE].ok)
		return (struct plan){ .why = f->facts[FACT_UPROBE].why };
	if (!closing)
		return p;
	p.method = closing_method(closing);
	if (!p.method)
		p.why = closing->why;
	return p;
}

struct plan plan_block(const struct plan *gvl, const struct layout *layout)
{
	struct plan p = { .method = "calls" };

	if (!gvl->method)
		return (struct plan){ .why = gvl->why };
	if (!layout || layout->thread_status >= 0)
		return p;
	p.method = NULL;
	err_set(&p.why, REASON_LAYOUT_MISMATCH, -ENOENT,
		"the debug symbols do not say where a thread's status is");
	return p;
}

/* What is lacking, where something is. */
static const struct err *why_not_copy(const struct copying *c)
{
	return c->has_buffer ? &c->why_lib : &c->why_buffer;
}

struct plan plan_copy(const struct plan *gvl, const struct copying *copying)
{
	struct plan p = { .method = "buffer, large, samples" };

	if (!gvl->method)
		return (struct plan){ .why = gvl->why };
	if (!copying || (copying->has_buffer && copying->has_places))
		return p;
	if (copying->has_buffer)
		p.method = "buffer, samples";
	else if (copying->has_places)
		p.method = "large, samples";
	else
		p.method = copying->has_lib ? "samples" : NULL;
	p.why = *why_not_copy(copying);
	if (!p.method && !p.why.msg[0])
		err_set(&p.why, REASON_LAYOUT_MISMATCH, -ENOENT,
			"the debug symbols do not say where a method's C function is");
	return p;
}

const char *part_name(enum part p)
{
	static const char *const names[PART_COUNT] = { "gvl", "close", "block", "copy" };

	return names[p];
}
