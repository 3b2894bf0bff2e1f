/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every reason the tool can give for not doing something: a stable id and a remedy. */
#ifndef GVL_UTIL_REASON_H
#define GVL_UTIL_REASON_H

enum exit_status {
	EXIT_DONE = 0,
	EXIT_RUNTIME = 1,	/* failure at run time */
	EXIT_USAGE = 2,
	EXIT_REGRESSION = 3,
	EXIT_INCONCLUSIVE = 4,
	EXIT_BAD_FILE = 5,
	EXIT_CANNOT = 77,	/* cannot measure here; `doctor` says why */
};

/* REASON(NAME, stable id, exit status, remedy) */
#define REASONS(REASON) \
	REASON(NONE,		"none",			EXIT_DONE, "") \
	REASON(SYS,		"system",		EXIT_RUNTIME, "") \
	REASON(USAGE,		"usage",		EXIT_USAGE, "see --help") \
	REASON(TRACE_OPEN,	"trace-open",		EXIT_BAD_FILE, \
	       "give a file written by `gvlscope record`") \
	REASON(TRACE_DAMAGED,	"trace-damaged",	EXIT_BAD_FILE, \
	       "record again; what precedes the damage cannot be trusted either") \
	REASON(TRACE_FORMAT,	"trace-format",		EXIT_BAD_FILE, \
	       "give a file written by `gvlscope record`") \
	REASON(TRACE_VERSION,	"trace-version",	EXIT_BAD_FILE, \
	       "read it with the gvlscope that wrote it, or record again") \
	REASON(NO_PROCESS,	"no-such-process",	EXIT_RUNTIME, \
	       "check the id with `ps`; inside a container ids differ from the host's") \
	REASON(PROCESS_GONE,	"process-gone",		EXIT_RUNTIME, \
	       "attach to a process that lives longer, or use `record -- COMMAND`") \
	REASON(NOT_RUBY,	"not-ruby",		EXIT_CANNOT, \
	       "attach to a process that has CRuby's libruby or a static CRuby loaded") \
	REASON(NOT_CRUBY,	"not-cruby",		EXIT_CANNOT, \
	       "JRuby and TruffleRuby have no GVL; use their own tools") \
	REASON(RUBY_VERSION,	"ruby-version",		EXIT_CANNOT, \
	       "install its debug symbols, or try --layout-from VERSION") \
	REASON(LAYOUT_MISMATCH,	"layout-mismatch",	EXIT_CANNOT, \
	       "the build differs from the release; install its debug symbols") \
	REASON(VM_NOT_FOUND,	"vm-not-found",		EXIT_CANNOT, \
	       "attach after Ruby has started, or install its debug symbols") \
	REASON(ELF,		"elf-unreadable",	EXIT_CANNOT, \
	       "the program file is damaged or replaced; restart the process") \
	REASON(NO_ACCESS,	"no-access",		EXIT_CANNOT, \
	       "run as root in the process's own user namespace, or outside of a sandbox") \
	REASON(CAP_BPF,		"cap-bpf",		EXIT_CANNOT, \
	       "run as root or grant CAP_BPF") \
	REASON(CAP_PERFMON,	"cap-perfmon",		EXIT_CANNOT, \
	       "run as root or grant CAP_PERFMON") \
	REASON(CAP_SYS_PTRACE,	"cap-sys-ptrace",	EXIT_CANNOT, \
	       "run as root or grant CAP_SYS_PTRACE") \
	REASON(NO_BTF,		"no-btf",		EXIT_CANNOT, \
	       "use a kernel built with CONFIG_DEBUG_INFO_BTF (5.8 or later)") \
	REASON(NO_WATCHPOINT,	"no-watchpoint",	EXIT_CANNOT, \
	       "none is needed for the default method; --method watch needs a machine that has them " \
	       "and no debugger that holds them all") \
	REASON(NO_UPROBE,	"no-uprobe",		EXIT_CANNOT, \
	       "use a kernel with CONFIG_UPROBES, or --method watch") \
	REASON(NO_UPROBE_MULTI,	"no-uprobe-multi",	EXIT_CANNOT, \
	       "none is needed: uprobes are placed one by one instead (Linux 6.10 does better)") \
	REASON(NO_SITES,	"no-sites",		EXIT_CANNOT, \
	       "use --method watch") \
	REASON(NO_CLOSE,	"no-close",		EXIT_CANNOT, \
	       "use a Ruby that is not stripped; all but the closes is measured without it") \
	REASON(NO_COPY,		"no-copy",		EXIT_CANNOT, \
	       "none is needed: copies are measured by sampling instead") \
	REASON(NOTHING_COMPARED, "nothing-compared",	EXIT_INCONCLUSIVE, \
	       "record closes of IOs, or copies of IO::Buffer; `gvlscope bench` needs no trace") \
	REASON(POLICY,		"policy",		EXIT_BAD_FILE, \
	       "see docs/gate.md; `gvlscope gate --print-policy` prints one to start from") \
	REASON(REPORT_FORMAT,	"report-format",	EXIT_BAD_FILE, \
	       "give a trace of `gvlscope record`, or what `gvlscope report -f json` prints") \
	REASON(BASELINE_OPEN,	"baseline-open",	EXIT_BAD_FILE, \
	       "give a file written by `gvlscope gate --save-baseline`") \
	REASON(BASELINE_FORMAT,	"baseline-format",	EXIT_BAD_FILE, \
	       "write it anew, or take it from version control") \
	REASON(BASELINE_SCHEMA,	"baseline-schema",	EXIT_BAD_FILE, \
	       "write it anew with this gvlscope") \
	REASON(BASELINE_RUNS,	"baseline-runs",	EXIT_INCONCLUSIVE, \
	       "record again, all runs on one machine, without loss") \
	REASON(RUN_FAILED,	"run-failed",		EXIT_RUNTIME, \
	       "run the command by hand: it must succeed to be measured") \
	REASON(RUN_UNTRACED,	"run-untraced",		EXIT_CANNOT, \
	       "see what was said before, and `gvlscope doctor`") \
	REASON(BPF_LOAD,	"bpf-load",		EXIT_CANNOT, \
	       "see `gvlscope doctor`; the kernel's own words follow with -v")

enum reason {
#define REASON_ENUM(name, id, status, remedy) REASON_##name,
	REASONS(REASON_ENUM)
#undef REASON_ENUM
	REASON_COUNT
};

const char *reason_id(enum reason r);
const char *reason_remedy(enum reason r);	/* "" where there is none */
enum exit_status reason_status(enum reason r);

#endif
