/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture: processes, windows of time, the budget; events come out in order. */
#ifndef GVL_PROBE_CAPTURE_H
#define GVL_PROBE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "probe/cost.h"
#include "probe/launch.h"
#include "probe/tracee.h"
#include "util/err.h"

struct capture;

struct capture_options {
	enum method method;
	double budget;			/* share of the target's time, 0.02 for 2 %; 0: no limit */
	unsigned int measures;		/* enum measure: what else than the lock */
	uint32_t copy_min;		/* bytes: smaller copies are tallied */
	bool children;			/* follow forked processes */
	bool verbose;
	uint32_t ring_bytes;		/* 0: the default */
	struct ruby_options ruby;
	struct sink sink;
};

/* What ended a capture; stored as text in the trace. */
enum capture_end {
	CAPTURE_RUNNING,
	CAPTURE_INTERRUPT,		/* Ctrl-C, or whatever made stop_fd readable */
	CAPTURE_DURATION,
	CAPTURE_TARGET_EXIT,
	CAPTURE_SINK,			/* capture_abort() */
};

const char *capture_end_name(enum capture_end end);

/* 0 and a capture to free in *out, or -errno with @e set. Nothing is traced yet. */
int capture_open(struct capture **out, const struct capture_options *opt, struct err *e);
void capture_free(struct capture *c);		/* NULL is fine; removes every probe */

/*
 * Adds process @pid, to be traced from capture_start() on, or at once after that. 0, or -errno with
 * @e set and the process left alone.
 */
int capture_add(struct capture *c, pid_t pid, struct err *e);

/* The same for a process that is no Ruby: @present fills in what is known of it. */
int capture_add_as(struct capture *c, pid_t pid,
		   int (*present)(struct tracee *te, const void *arg, struct err *e),
		   const void *arg, struct err *e);

/* Starts @argv and holds it before its program's first line; see launch_start(). */
int capture_launch(struct capture *c, struct launch *l, char **argv, const sigset_t *mask,
		   struct err *e);

/* Probes on: events go to the sink from now on. 0 or -errno with @e set. */
int capture_start(struct capture *c, struct err *e);

/*
 * Traces until @duration_ns (0: no limit) is over, all processes ended, or @stop_fd is readable
 * (-1: none). What ended it.
 */
enum capture_end capture_run(struct capture *c, uint64_t duration_ns, int stop_fd);

/* The sink cannot take more: capture_run() returns soon. */
void capture_abort(struct capture *c);

/* Ends all windows and passes on what is left. */
void capture_stop(struct capture *c);

struct capture_totals {
	uint64_t start_ns, duration_ns;
	uint64_t seen_ns;		/* of the first process */
	uint64_t stats[STAT_COUNT];	/* enum tracer_stat */
	uint64_t hits_sites, hits_stepped;	/* the second: of the first, those on a stepped instruction */
	uint64_t records;		/* taken out of the ring */
	uint64_t due, stored;		/* owner changes and queue entries while seen, and passed on */
	uint64_t unseen_writer;
	uint64_t lost_processes;	/* forked, and not followed although they should have been */
	uint64_t hits_ns;		/* what probes and watchpoints took of the targets' time */
	struct cost cost;
	double target_share;		/* cost to the target / duration */
};

void capture_totals(struct capture *c, struct capture_totals *out);

uint32_t capture_nr_tracees(const struct capture *c);
const struct tracee *capture_tracee(const struct capture *c, uint32_t i);

#endif
