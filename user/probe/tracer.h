/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF side as user space sees it: programs to attach, tables to fill, records to take out. */
#ifndef GVL_PROBE_TRACER_H
#define GVL_PROBE_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "probe/site.h"
#include "probe/uprobe.h"
#include "probe/watch.h"
#include "util/err.h"

struct tracer;

struct tracer_options {
	bool has_uprobe_multi;
	bool has_watch;			/* watchpoints fire here */
	uint32_t ring_bytes;		/* power of two, at least a page */
	bool follow_calls;		/* system calls of the targets, too */
	bool verbose;			/* the kernel's and libbpf's words to stderr */
	void (*on_record)(void *arg, const struct rec *r, size_t size);
	void *arg;
};

/*
 * Loads the programs and starts those that follow the scheduler. 0 and a tracer to free in *out,
 * or -errno with @e set: a missing capability by name, no BTF, or REASON_BPF_LOAD.
 */
int tracer_open(struct tracer **out, const struct tracer_options *opt, struct err *e);
void tracer_free(struct tracer *t);	/* NULL is fine; removes every probe */

/* The program that stops whoever runs into it, for a uprobe; how it was loaded. */
int tracer_hold_program(const struct tracer *t, bool *is_multi);

/* Adds, changes or removes the process @tgid. Numbers are those of this tool's pid namespace. */
int tracer_target(struct tracer *t, pid_t tgid, const struct target_cfg *cfg, struct err *e);
void tracer_remove_target(struct tracer *t, pid_t tgid);

/* Adds the lock word at @addr. Its number, or -errno. */
int tracer_add_lock(struct tracer *t, pid_t tgid, uint16_t target, uint64_t addr, struct err *e);

void tracer_remove_lock(struct tracer *t, pid_t tgid, uint64_t addr);

/* Tells whether the task, which owns @lock, is on a CPU now: what no program has seen yet. */
void tracer_owner_task(struct tracer *t, pid_t tgid, uint32_t tid, uint32_t lock, bool on_cpu);

/* Shared memory, changed by the programs at any time. @lock < tracer_nr_locks(). */
volatile struct lock_state *tracer_lock(const struct tracer *t, uint32_t lock);
uint32_t tracer_nr_locks(const struct tracer *t);

int tracer_watch(struct tracer *t, struct watch *w, uint64_t addr, enum word word, struct err *e);
/*
 * Probes those of @sites that are in @state, as @generation; numbers the ones that have no number
 * yet. Their hits count once the target's configuration names the generation.
 */
int tracer_probe_sites(struct tracer *t, struct uprobes *u, pid_t tgid, const char *path,
		       struct site *sites, size_t n, enum site_state state, uint32_t generation,
		       struct err *e);
enum program {
	PROGRAM_SCAN_ENTER, PROGRAM_SCAN_LEAVE, PROGRAM_NOGVL, PROGRAM_COPY_ENTER, PROGRAM_COPY_LEAVE,
	PROGRAM_LARGE_ENTER, PROGRAM_LARGE_LEAVE,
};

/* Places one of the other programs. As uprobes_attach(). */
int tracer_probe(struct tracer *t, struct uprobes *u, enum program program, enum uprobe_where where,
		 pid_t tgid, const char *path, const uint64_t *offsets, const uint64_t *cookies, size_t n,
		 struct err *e);

/* The next scan of target @id walks the VM's whole list of waiters and tells each. */
void tracer_want_waiters(struct tracer *t, uint16_t id);

struct site_count tracer_site_count(const struct tracer *t, const struct site *s);

/* Runs of all emulated or all stepped sites. */
uint64_t tracer_site_hits(const struct tracer *t, bool stepped);

/* Calls @fn for each instruction address (after the write) seen to write a watched word. */
void tracer_writers(struct tracer *t, void (*fn)(void *arg, const struct writer_key *k, uint64_t n),
		    void *arg);

/* Runs the sampling program at a clock's ticks from now on, for all targets. 0 or -errno with @e set. */
int tracer_tick(struct tracer *t, struct err *e);

/* Calls @fn for each tally of target @id, and takes it out. */
void tracer_tallies(struct tracer *t, uint16_t id,
		    void (*fn)(void *arg, const struct tally_key *key, const struct tally *tally),
		    void *arg);

/* Passes all records in the ring to on_record. The number, or -errno. */
int tracer_drain(struct tracer *t);
uint64_t tracer_nr_records(const struct tracer *t);	/* taken out so far */
int tracer_ring_fd(const struct tracer *t);	/* readable when a record wants attention at once */

void tracer_stats(const struct tracer *t, uint64_t out[STAT_COUNT]);

/* Has the kernel measure the programs' run time from now on, or no longer. */
void tracer_measure(struct tracer *t, bool on);

/* ns that the programs ran while measured, and how often they did. */
void tracer_run_time(const struct tracer *t, uint64_t *ns, uint64_t *runs);

#endif
