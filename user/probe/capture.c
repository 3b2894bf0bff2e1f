// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/capture.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>

#include "probe/intake.h"
#include "util/clock.h"
#include "util/scope.h"

enum {
	TICK_MS = 50,
	TICK_BUSY_MS = 10,		/* learning, checking, or under a budget */
	BUDGET_NICE = -10,		/* who ends windows must not queue behind those it measures */
	PAUSE_HITS = 100,		/* of candidates in a pause, before they are taken out */
	PENDING_MAX = 64,		/* processes seen to fork or exec, not yet taken in */
};

#define RING_BYTES (16u << 20)
#define FLUSH_NS (1 * NS_PER_SEC)
#define MEASURE_NS (1 * NS_PER_SEC)	/* how long the kernel times the programs' runs */
#define REOPEN_NS (10 * NS_PER_SEC)	/* after exec Ruby has this long to set up its VM */
#define BUDGET_FOR_HITS 0.75		/* the rest is for placing and removing probes: not measured */
#define BUDGET_SLACK_NS (1 * NS_PER_SEC)	/* of wall time that one window may use up ahead */

struct pending {
	pid_t pid;
	const struct tracee *parent;	/* NULL: after exec, look anew */
	uint64_t since_ns;
};

struct capture {
	struct capture_options opt;
	struct tracer *tracer;
	struct tracee *tracees[MAX_TARGETS];
	uint32_t nr_tracees;
	struct pending pending[PENDING_MAX];
	size_t nr_pending;
	uint64_t start_ns, stop_ns;
	uint64_t lost_processes;
	uint64_t hits_at_pause, next_flush_ns;
	struct cost cost;
	bool running, paused, aborted, measuring;
};

const char *capture_end_name(enum capture_end end)
{
	static const char *const names[] = {
		"running", "interrupt", "duration", "target-exit", "write-error",
	};

	return names[end];
}

static void add_pending(struct capture *c, pid_t pid, const struct tracee *parent)
{
	if (c->nr_pending < PENDING_MAX)
		c->pending[c->nr_pending++] = (struct pending){ pid, parent, clock_now_ns() };
	else
		c->lost_processes++;
}

static void take_record(void *arg, const struct rec *r, size_t size)
{
	struct capture *c = arg;
	struct tracee *te = r->target < c->nr_tracees ? c->tracees[r->target] : NULL;

	if (!te)
		return;
	if (r->kind == EVENT_FORK)
		add_pending(c, r->thread, te);
	else if (r->kind == EVENT_EXEC)
		add_pending(c, te->pid, NULL);
	intake_record(te, r, size);
}

int capture_open(struct capture **out, const struct capture_options *opt, struct err *e)
{
	struct capture *c = calloc(1, sizeof(*c));
	struct tracer_options to = {
		.ring_bytes = opt->ring_bytes ? opt->ring_bytes : RING_BYTES,
		.follow_calls = opt->measures != 0,
		.verbose = opt->verbose,
		.on_record = take_record,
		.arg = c,
	};
	int err;

	if (!c)
		return err_nomem(e);
	c->opt = *opt;
	cost_try(&c->cost, &to.has_uprobe_multi, &to.has_watch);
	if (opt->budget > 0)
		cost_measure(&c->cost);
	err = tracer_open(&c->tracer, &to, e);
	if (err) {
		capture_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->nr_tracees; i++) {
		tracee_free(c->tracees[i]);
		free(c->tracees[i]);
	}
	tracer_free(c->tracer);
	free(c);
}

static void tell_gone(struct capture *c, struct tracee *te)
{
	struct event ev = { .kind = EVENT_GONE, .target = te->id, .ts_ns = clock_now_ns() };

	tracee_forget(te);
	if (te->end_ns)
		ev.ts_ns = te->end_ns;
	c->opt.sink.event(c->opt.sink.arg, &ev);
}

/* Takes @te over, opened with status @err; starts it where the others run already. */
static int take_in(struct capture *c, struct tracee *te, int err, struct err *e)
{
	if (!err) {
		te->sink = c->opt.sink;
		te->follow = c->opt.children;
		if (!te->extras.is_set)
			extras_init(&te->extras, &te->ruby, c->opt.measures, c->opt.copy_min);
		c->tracees[c->nr_tracees++] = te;
		err = c->running && !c->paused ? tracee_start(te, e) : 0;
		if (err)
			tell_gone(c, te);	/* its number is in the trace already */
		return err;
	}
	tracee_free(te);
	free(te);
	return err;
}

static struct tracee *new_tracee(struct capture *c, struct err *e)
{
	struct tracee *te = c->nr_tracees < MAX_TARGETS ? calloc(1, sizeof(*te)) : NULL;

	if (!te)
		err_set(e, REASON_SYS, -ENOSPC, "more than %d processes", MAX_TARGETS);
	return te;
}

static int add(struct capture *c, pid_t pid, const struct tracee *parent, struct err *e)
{
	struct tracee *te = new_tracee(c, e);

	if (!te)
		return -ENOSPC;
	return take_in(c, te, tracee_open(te, c->tracer, c->nr_tracees, pid, c->opt.method,
					  &c->opt.ruby, parent, e), e);
}

int capture_add(struct capture *c, pid_t pid, struct err *e)
{
	for (uint32_t i = 0; i < c->nr_tracees; i++)
		if (c->tracees[i]->pid == pid && !c->tracees[i]->gone)
			return 0;	/* named twice */
	return add(c, pid, NULL, e);
}

int capture_add_as(struct capture *c, pid_t pid,
		   int (*present)(struct tracee *te, const void *arg, struct err *e),
		   const void *arg, struct err *e)
{
	struct tracee *te = new_tracee(c, e);

	if (!te)
		return -ENOSPC;
	tracee_init(te, c->tracer, c->nr_tracees, pid, c->opt.method);
	return take_in(c, te, present(te, arg, e), e);
}

int capture_launch(struct capture *c, struct launch *l, char **argv, const sigset_t *mask,
		   struct err *e)
{
	bool is_multi;
	int prog_fd = tracer_hold_program(c->tracer, &is_multi);

	return launch_start(l, argv, mask, prog_fd, is_multi, e);
}

int capture_start(struct capture *c, struct err *e)
{
	c->running = true;
	c->start_ns = clock_now_ns();
	tracer_measure(c->tracer, true);
	c->measuring = true;
	for (uint32_t i = 0; i < c->nr_tracees; i++) {
		int err = tracee_start(c->tracees[i], e);

		if (err)
			return err;
	}
	return 0;
}

static void end_tracee(struct capture *c, struct tracee *te)
{
	uint64_t end_ns = te->source != SOURCE_NONE ? tracee_pause(te) : te->end_ns;

	tracer_drain(c->tracer);
	tracee_close_window(te, end_ns);
}

/* Takes in forked children, and processes that run another program now. */
static void take_pending(struct capture *c)
{
	struct pending todo[PENDING_MAX];
	size_t n = c->nr_pending;

	memcpy(todo, c->pending, sizeof(todo));
	c->nr_pending = 0;
	for (size_t i = 0; i < n; i++) {
		struct err e;

		if (!todo[i].parent)
			for (uint32_t k = 0; k < c->nr_tracees; k++) {
				struct tracee *te = c->tracees[k];

				if (te->pid != todo[i].pid || te->gone)
					continue;
				te->is_other = true;
				end_tracee(c, te);
				tracee_forget(te);
			}
		if (add(c, todo[i].pid, todo[i].parent, &e) == 0)
			continue;
		if (todo[i].parent) {
			c->lost_processes++;	/* mostly: it has ended already */
			continue;
		}
		if (e.reason == REASON_PROCESS_GONE || e.reason == REASON_NO_PROCESS)
			continue;
		/* not a Ruby yet, or its VM is not there yet */
		if (clock_now_ns() - todo[i].since_ns < REOPEN_NS && c->nr_pending < PENDING_MAX)
			c->pending[c->nr_pending++] = todo[i];
	}
}

static void take_exits(struct capture *c)
{
	for (uint32_t i = 0; i < c->nr_tracees; i++) {
		struct tracee *te = c->tracees[i];

		if (te->gone || proc_is_alive(&te->ruby.proc))
			continue;
		end_tracee(c, te);
		tell_gone(c, te);
	}
}

static bool is_all_gone(const struct capture *c)
{
	for (uint32_t i = 0; i < c->nr_tracees; i++)
		if (!c->tracees[i]->gone)
			return false;
	return c->nr_pending == 0;
}

/* ns of the targets' time that probes and watchpoints took since the start. */
static double hits_ns(const struct capture *c, const uint64_t stats[STAT_COUNT])
{
	const struct cost *k = &c->cost;

	return tracer_site_hits(c->tracer, false) * (k->emulated_ns + k->program_ns) +
	       tracer_site_hits(c->tracer, true) * (k->stepped_ns + k->program_ns) +
	       stats[STAT_HIT_WATCH] * (k->watch_ns + k->program_ns) +
	       (stats[STAT_HIT_SCAN] + stats[STAT_HIT_NOGVL] + stats[STAT_HIT_COPY]) * (k->emulated_ns + k->program_ns);
}

/* And with it what was run at their task switches and system calls, and over lists. */
static double spent_ns(const struct capture *c, const uint64_t stats[STAT_COUNT])
{
	return hits_ns(c, stats) + stats[STAT_WALK_NS] +
	       (stats[STAT_HIT_SWITCH] + stats[STAT_HIT_CALL]) * c->cost.program_ns;
}

static uint64_t site_hits(const struct capture *c)
{
	return tracer_site_hits(c->tracer, false) + tracer_site_hits(c->tracer, true);
}

static void pause_all(struct capture *c)
{
	for (uint32_t i = 0; i < c->nr_tracees; i++)
		if (!c->tracees[i]->gone)
			end_tracee(c, c->tracees[i]);
	c->paused = true;
	c->hits_at_pause = site_hits(c);
}

static void withdraw_all(struct capture *c)
{
	for (uint32_t i = 0; i < c->nr_tracees; i++)
		if (!c->tracees[i]->gone)
			tracee_withdraw(c->tracees[i]);
	c->hits_at_pause = UINT64_MAX - PAUSE_HITS;
}

static void resume_all(struct capture *c)
{
	c->paused = false;
	for (uint32_t i = 0; i < c->nr_tracees; i++)
		if (!c->tracees[i]->gone)
			tracee_start(c->tracees[i], NULL);
}

/*
 * A window runs until it has used what the budget grants up to now and for BUDGET_SLACK_NS to
 * come; the next begins when that time is over.
 */
static void keep_budget(struct capture *c, uint64_t now_ns)
{
	uint64_t stats[STAT_COUNT];
	double budget = c->opt.budget * BUDGET_FOR_HITS, spent, granted = budget * (now_ns - c->start_ns);

	if (c->opt.budget <= 0)
		return;
	tracer_stats(c->tracer, stats);
	spent = spent_ns(c, stats);
	if (!c->paused && spent > granted + budget * BUDGET_SLACK_NS)
		pause_all(c);
	else if (c->paused && spent <= granted)
		resume_all(c);
	else if (c->paused && site_hits(c) > c->hits_at_pause + PAUSE_HITS)
		withdraw_all(c);
}

static int tick_ms(const struct capture *c)
{
	if (c->opt.budget > 0)
		return TICK_BUSY_MS;
	for (uint32_t i = 0; i < c->nr_tracees; i++)
		if (c->tracees[i]->check_until_ns || c->tracees[i]->source == SOURCE_WATCH)
			return TICK_BUSY_MS;
	return TICK_MS;
}

static void tick(struct capture *c)
{
	uint64_t now;

	tracer_drain(c->tracer);
	take_pending(c);
	take_exits(c);
	now = clock_now_ns();
	for (uint32_t i = 0; i < c->nr_tracees; i++)
		tracee_tick(c->tracees[i], now);
	keep_budget(c, now);
	if (c->opt.sink.flush && now >= c->next_flush_ns) {
		c->opt.sink.flush(c->opt.sink.arg);
		c->next_flush_ns = now + FLUSH_NS;
	}
	if (c->measuring && now - c->start_ns > MEASURE_NS) {
		tracer_measure(c->tracer, false);
		c->measuring = false;
	}
}

enum capture_end capture_run(struct capture *c, uint64_t duration_ns, int stop_fd)
{
	uint64_t deadline = duration_ns ? clock_now_ns() + duration_ns : UINT64_MAX;

	if (c->opt.budget > 0)
		setpriority(PRIO_PROCESS, 0, BUDGET_NICE);	/* where it may not, windows end late */
	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = tracer_ring_fd(c->tracer), .events = POLLIN },
			{ .fd = stop_fd, .events = POLLIN },
		};
		uint64_t now = clock_now_ns();
		int wait = tick_ms(c);

		if (now >= deadline)
			return CAPTURE_DURATION;
		if (deadline - now < wait * NS_PER_MS)
			wait = (deadline - now) / NS_PER_MS;
		poll(fds, ARRAY_LEN(fds), wait);
		if (fds[1].revents)
			return CAPTURE_INTERRUPT;
		tick(c);
		if (c->aborted)
			return CAPTURE_SINK;
		if (is_all_gone(c))
			return CAPTURE_TARGET_EXIT;
	}
}

void capture_abort(struct capture *c)
{
	c->aborted = true;
}

void capture_stop(struct capture *c)
{
	if (c->paused) {
		c->stop_ns = clock_now_ns();
		return;
	}
	pause_all(c);
	for (uint32_t i = 0; i < c->nr_tracees; i++)
		if (c->tracees[i]->end_ns > c->stop_ns)
			c->stop_ns = c->tracees[i]->end_ns;
}

void capture_totals(struct capture *c, struct capture_totals *out)
{
	uint64_t bpf_ns, runs;

	*out = (struct capture_totals){ .start_ns = c->start_ns };
	out->duration_ns = (c->stop_ns ? c->stop_ns : clock_now_ns()) - c->start_ns;
	tracer_stats(c->tracer, out->stats);
	for (uint32_t i = 0; i < c->nr_tracees; i++) {
		const struct tracee *te = c->tracees[i];

		out->unseen_writer += te->unseen_writer;
		out->due += te->due;
		out->stored += te->stored;
	}
	if (c->nr_tracees)
		out->seen_ns = c->tracees[0]->seen_ns;
	if (!c->cost.is_measured)
		cost_measure(&c->cost);
	out->lost_processes = c->lost_processes;
	out->records = tracer_nr_records(c->tracer);
	out->hits_sites = site_hits(c);
	out->hits_stepped = tracer_site_hits(c->tracer, true);
	tracer_run_time(c->tracer, &bpf_ns, &runs);
	if (runs)
		c->cost.program_ns = (double)bpf_ns / runs;
	out->cost = c->cost;
	out->hits_ns = hits_ns(c, out->stats);
	out->target_share = spent_ns(c, out->stats) / (out->duration_ns ? out->duration_ns : 1);
}

uint32_t capture_nr_tracees(const struct capture *c)
{
	return c->nr_tracees;
}

const struct tracee *capture_tracee(const struct capture *c, uint32_t i)
{
	return c->tracees[i];
}
