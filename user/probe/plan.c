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

const char *part_name(enum part p)
{
	static const char *const names[PART_COUNT] = { "gvl", "close", "block" };

	return names[p];
}
