// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/facts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/tracer.h"
#include "util/caps.h"

static const struct {
	const char *id, *name;
} names[FACT_COUNT] = {
	[FACT_BTF] = { "btf", "kernel type information (BTF)" },
	[FACT_BPF] = { "bpf", "BPF programs" },
	[FACT_PTRACE] = { "ptrace", "reading other processes" },
	[FACT_UPROBE] = { "uprobe", "uprobes" },
	[FACT_UPROBE_MULTI] = { "uprobe-multi", "many uprobes at once" },
	[FACT_WATCHPOINT] = { "watchpoint", "hardware watchpoints" },
};

const char *fact_id(enum fact f)
{
	return names[f].id;
}

const char *fact_name(enum fact f)
{
	return names[f].name;
}

static void no_record(void *arg, const struct rec *r, size_t size)
{
	(void)arg;
	(void)r;
	(void)size;
}

static void set(struct facts *out, enum fact f, bool ok, enum reason reason, const char *why)
{
	out->facts[f].ok = ok;
	if (!ok)
		err_set(&out->facts[f].why, reason, -ENOTSUP, "%s", why);
}

void facts_find(struct facts *out)
{
	struct tracer_options opt = { .ring_bytes = 4096, .on_record = no_record };
	struct tracer *t = NULL;
	bool has_multi, has_watch, can_trace = caps_has(CAP_PERFMON) || caps_has(CAP_SYS_ADMIN);

	memset(out, 0, sizeof(*out));
	set(out, FACT_BTF, access("/sys/kernel/btf/vmlinux", R_OK) == 0, REASON_NO_BTF,
	    "/sys/kernel/btf/vmlinux is not there");
	set(out, FACT_PTRACE, caps_has(CAP_SYS_PTRACE), REASON_CAP_SYS_PTRACE,
	    "CAP_SYS_PTRACE is missing: only own processes can be read");
	cost_try(&out->cost, &has_multi, &has_watch);
	cost_measure(&out->cost);
	opt.has_uprobe_multi = has_multi;
	out->facts[FACT_BPF].ok = tracer_open(&t, &opt, &out->facts[FACT_BPF].why) == 0;
	tracer_free(t);
	set(out, FACT_UPROBE, out->cost.emulated_ns > 0,
	    can_trace ? REASON_NO_UPROBE : REASON_CAP_PERFMON,
	    can_trace ? "a uprobe on a scratch process did not fire" :
			"CAP_PERFMON is missing: uprobes may not be placed");
	set(out, FACT_UPROBE_MULTI, has_multi, REASON_NO_UPROBE_MULTI,
	    "one uprobe_multi link does not serve all threads of a process here");
	set(out, FACT_WATCHPOINT, has_watch, can_trace ? REASON_NO_WATCHPOINT : REASON_CAP_PERFMON,
	    can_trace ? "a watchpoint was accepted, but never fires on this (virtual) machine" :
			"CAP_PERFMON is missing: watchpoints may not be placed");
}
