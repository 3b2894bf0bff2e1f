/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One traced process: its locks, which probes follow them, and what was learned about it. */
#ifndef GVL_PROBE_TRACEE_H
#define GVL_PROBE_TRACEE_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "probe/extras.h"
#include "probe/names.h"
#include "probe/site.h"
#include "probe/symbols.h"
#include "probe/tracer.h"
#include "target/ruby.h"
#include "util/err.h"

enum method {
	METHOD_SITES,		/* probe the instructions that write the words */
	METHOD_WATCH,		/* hardware watchpoints on the words */
};

#define LEARN_CHECK_NS (10 * 1000000ULL)		/* length of a check by watching */
#define LEARN_CHECK_PERIOD_NS (1000 * 1000000ULL)	/* doubled while nothing new turns up */
#define LEARN_CHECK_PERIOD_MAX_NS (16 * LEARN_CHECK_PERIOD_NS)

const char *method_name(enum method m);

/* Takes events in the order in which they are to be read. */
struct sink {
	void (*event)(void *arg, const struct event *ev);
	void (*flush)(void *arg);	/* about once a second, may be NULL */
	void *arg;
};

struct tracee_lock {
	uint32_t id;		/* in the tracer's table and in events */
	uint32_t ractor_id;
	uint64_t owner_word;
	uint32_t seq;		/* events up to this one are not wanted or already passed on */
	uint32_t begin_seq;	/* as of the last STATE */
	uint32_t late;		/* events that came after the window's end and were dropped */
	uint64_t last_ts_ns;	/* of the last event passed on */
	uint64_t same;		/* lock_state.same when last looked at */
	bool open;		/* what is seen of it has begun and not ended */
	bool dead;		/* its Ractor is gone; the address may become another's */
	unsigned int absent;	/* times in a row that it was not in the list of Ractors */
	bool needs_state;	/* it never kept still when it was to be read */
	bool watched;
	uint64_t astray_since_ns, astray_owner;	/* the word differs from what was told, 0: no */
	uint32_t astray_seq;
	struct watch watch[2];	/* by enum word */
};

struct tracee {
	struct ruby ruby;
	uint16_t id;
	pid_t pid;
	struct tracer *tracer;
	struct sink sink;
	enum method method;	/* wanted */
	enum source source;	/* in use now; SOURCE_NONE between windows */
	enum source resume;	/* what to go on with after a pause */
	bool follow;
	struct extras extras;
	struct symbols symbols;
	bool is_self_owner;	/* up to 3.2: the new owner writes the word itself */
	struct tracee_lock *locks;
	uint32_t nr_locks;
	struct site sites[SITES_MAX];
	size_t nr_sites;
	struct uprobes proven, candidates;	/* placed; candidates stay on between windows */
	uint32_t generation;
	bool is_regrouped;	/* what is placed does not match the sites' states any more */
	bool is_news;		/* something was learned that the cache does not have */
	bool from_cache;
	unsigned int nr_relearned;
	uint64_t writer_hits, hits_at_news, watch_since_ns;
	uint64_t next_census_ns;
	uint64_t next_check_ns, check_until_ns, check_period_ns;
	uint64_t end_ns;	/* of the window that was closed; 0 while one is open */
	uint64_t seen_since_ns, seen_ns;
	uint64_t due, stored;	/* owner changes and queue entries while seen, and passed on */
	struct names names;
	uint64_t unseen_writer;	/* times an owner change was noticed that no event told */
	bool was_probed;	/* sites were in use at some time */
	bool is_other;		/* runs another program since it called exec */
	bool gone;		/* ended, or runs another program now */
};

/* Nothing is known of the process yet. */
void tracee_init(struct tracee *te, struct tracer *t, uint16_t id, pid_t pid, enum method method);

/*
 * Prepares to trace @pid; @parent, if not NULL, is the tracee it was forked from, whose findings
 * hold for the child too. 0, or -errno with @e set. tracee_free() in both cases.
 */
int tracee_open(struct tracee *te, struct tracer *t, uint16_t id, pid_t pid,
		enum method method, const struct ruby_options *opt, const struct tracee *parent,
		struct err *e);
void tracee_free(struct tracee *te);

/* Starts a window: probes on, then what is so already goes to the sink. 0 or -errno with @e set. */
int tracee_start(struct tracee *te, struct err *e);

/*
 * Ends a window: probes that are hit go off. Call tracee_close_window() with the returned time (ns)
 * once the ring was drained.
 */
uint64_t tracee_pause(struct tracee *te);
/* Between windows: takes the candidates out too, as somebody runs into them. */
void tracee_withdraw(struct tracee *te);
void tracee_close_window(struct tracee *te, uint64_t end_ns);

/* Regular work: learn, switch from watching to probing, check, find new Ractors. */
void tracee_tick(struct tracee *te, uint64_t now_ns);

/* The tracee's lock with number @id; takes in one that a program has found. NULL if not its own. */
struct tracee_lock *tracee_lock(struct tracee *te, uint32_t id);

/* The process is another one now or has ended: nothing of it is touched any more. */
void tracee_forget(struct tracee *te);

/* What "capture.methods.gvl" says: "sites" once any were probed, else "watch". */
const char *tracee_method(const struct tracee *te);

#endif
