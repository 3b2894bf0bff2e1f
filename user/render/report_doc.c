// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The report for people: an honest header; for each lock a diagnosis, its figures, its threads; what
 * else was measured.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "render/clean.h"
#include "render/report.h"
#include "render/unit.h"
#include "util/scope.h"

enum {
	LOCKS_MAX = 8,
	THREADS_MAX = 20,
	TARGETS_MAX = 8,
};

/* A share of a hold from which on it is worth a sentence. */
#define NOTABLE 0.05

/* So many times its equal share of the blame makes a thread the one to name. */
#define STANDS_OUT 1.5

static struct clean string_of(const json_t *object, const char *key)
{
	return clean(json_string_value(json_object_get(object, key)));
}

/* A count, or 0 where there is none. */
static uint64_t count_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? n : 0;
}

static void add_target(struct doc *d, const json_t *target)
{
	struct clean what = string_of(target, "description");
	struct clean comm = string_of(target, "comm"), exe = string_of(target, "exe");
	const char *prefix = "";

	if (!*what.text) {
		what = string_of(target, "ruby");
		prefix = "ruby ";
	}
	doc_fact(d, "process", "%" PRIu64 "%s%s, %s%s%s%s", count_of(target, "pid"),
		 *comm.text ? " " : "", comm.text, prefix, what.text,
		 *exe.text ? ", " : "", exe.text);
}

static void add_targets(struct doc *d, const struct report *r)
{
	size_t nr = json_array_size(r->target);

	for (size_t i = 0; i < nr && i < TARGETS_MAX; i++)
		add_target(d, json_array_get(r->target, i));
	if (nr > TARGETS_MAX)
		doc_fact(d, "", "and %s more processes", unit_count(nr - TARGETS_MAX).text);
	if (!nr)
		doc_fact(d, "process", "not known");
}

static void add_capture(struct doc *d, const struct report *r)
{
	const struct lock_window *w = &r->profile->window;

	doc_fact(d, "captured", "%s%s%s%s%s, %s of it seen%s", unit_ns(r->duration_ns).text,
		 r->start ? " from " : "", clean(r->start).text,
		 r->stop ? ", ended by " : "", clean(r->stop).text,
		 unit_share(r->seen_share).text,
		 r->is_complete ? "" : "; INCOMPLETE: the file ends early");
	if (r->has_window && w->to_ns == UINT64_MAX)
		doc_fact(d, "window", "only what is after %" PRIu64 " ns", w->from_ns);
	if (r->has_window && w->to_ns != UINT64_MAX)
		doc_fact(d, "window", "only what is between %" PRIu64 " and %" PRIu64 " ns",
			 w->from_ns, w->to_ns);
}

static void add_method(struct doc *d, const struct report *r)
{
	static const struct {
		const char *id, *what;
	} known[] = {
		{ "sites", "probes on the instructions that write the lock's words" },
		{ "watch", "hardware watchpoints on the lock's words" },
	};
	struct clean gvl = string_of(r->methods, "gvl");
	const char *what = NULL;

	for (int i = 0; i < 2; i++)
		if (strcmp(gvl.text, known[i].id) == 0)
			what = known[i].what;
	doc_fact(d, "method", "%s%s%s", *gvl.text ? gvl.text : "not known", what ? ": " : "",
		 what ? what : "");
}

/* One cause of loss. False: nothing was lost by it. */
static bool add_cause(struct doc *d, const char *key, uint64_t n, const char *label)
{
	static const struct {
		const char *key, *what;
	} known[] = {
		{ "ring", "events, because the buffer was full (see --ring-size)" },
		{ "unseen_writer", "or more owner changes by code that no probe was on" },
		{ "processes", "forked processes that could not be followed: most had ended already" },
		{ "unreadable", "events, because memory could not be read" },
		{ "task_table", "tasks, because the table of tasks was full" },
		{ "lock_table", "locks, because the table of locks was full" },
		{ "closes", "closes, because the table of closes was full or memory could not be read" },
		{ "copies", "copies, because a table of copies was full" },
		{ "truncated_walk", "walks over a list of waiters, ended early because it was too long" },
		{ "gap_events", "lock events, missing in the sequence" },
		{ "gaps", "times that what is seen ends before missing events" },
		{ "queue_mismatch", "threads that entered or left the queue unseen" },
		{ "queue_unknown", "times that the queue had to be taken as empty" },
		{ "stale_events", NULL },	/* not lost */
		{ "events", NULL },		/* told by gap_events */
	};
	const char *what = key;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(key, known[i].key) == 0)
			what = known[i].what;
	if (!n || !what)
		return false;
	doc_fact(d, label, "%s %s", unit_count(n).text, clean(what).text);
	return true;
}

static void add_lost(struct doc *d, const struct report *r)
{
	const char *key;
	json_t *count;
	int nr = 0;

	json_object_foreach(r->lost, key, count)
		nr += add_cause(d, key, count_of(r->lost, key), nr ? "" : "lost");
	if (!r->is_loss_known)
		doc_fact(d, nr ? "" : "lost", "%s: the file does not say what the recorder lost",
			 nr ? "and maybe more" : "not known");
	else if (!nr && count_of(r->totals, "records"))
		doc_fact(d, "lost", "nothing of %s records",
			 unit_count(count_of(r->totals, "records")).text);
	else if (!nr)
		doc_fact(d, "lost", "nothing");
}

/* From here on the reader is told what to do about the cost. */
#define DEAR_SHARE 0.1

static void add_cost(struct doc *d, const struct report *r)
{
	json_t *share = json_object_get(r->cost, "target_share");
	json_t *per_hit = json_object_get(r->cost, "ns_per_hit");
	uint64_t hits = count_of(r->cost, "hits");
	double ns = json_number_value(per_hit);

	if (!json_is_number(share)) {
		doc_fact(d, "cost", "not known");
		return;
	}
	if (!hits || !(ns >= 0 && ns < 1e12)) {
		doc_fact(d, "cost", "%s of the process's time",
			 unit_share(json_number_value(share)).text);
		return;
	}
	doc_fact(d, "cost", "%s of the process's time, in %s hits of %s%s",
		 unit_share(json_number_value(share)).text, unit_count(hits).text,
		 unit_ns((uint64_t)(ns + 0.5)).text,
		 json_number_value(share) > DEAR_SHARE ? "; record --budget PCT bounds it" : "");
}

struct clean report_thread_name(const struct thread *t)
{
	struct clean name = clean(t->name);

	if (!*name.text)
		snprintf(name.text, sizeof(name.text), "0x%" PRIx64, t->addr);
	return name;
}

static double over(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / whole : 0;
}

/* Who caused the waiting: the first of those sorted by blame. */
static void add_culprit(struct doc *d, const struct report_lock *l)
{
	const struct lock_totals *t = &l->lock->totals;
	double share = l->nr_threads ? over(l->threads[0]->blame_ns, t->blame_ns) : 0;
	size_t nr = 0;

	while (nr < l->nr_threads && l->threads[nr]->blame_ns)
		nr++;
	if (!nr)
		return;
	if (share <= 0.5 && share < STANDS_OUT / nr)
		doc_more(d, "The waiting was caused by %s threads, none of which stands out.",
			 unit_count(nr).text);
	else
		doc_more(d, "%s of the waiting was caused by thread %s (%s).",
			 share > 0.5 ? "Most" : "The largest part",
			 report_thread_name(l->threads[0]).text, unit_share(share).text);
}

static void add_diagnosis(struct doc *d, const struct report_lock *l)
{
	const struct lock_totals *t = &l->lock->totals;
	uint64_t waited = t->wait.ns.sum, held = t->hold.ns.sum;

	if (waited)
		doc_paragraph(d, "The lock was held %s of the time; on average %s threads waited "
			      "for it.", unit_share_of(held, t->seen_ns).text,
			      unit_real(over(waited, t->seen_ns)).text);
	else
		doc_paragraph(d, "The lock was held %s of the time; no thread waited for it.",
			      unit_share_of(held, t->seen_ns).text);
	add_culprit(d, l);
	if (over(t->offcpu_hold_ns, held) >= NOTABLE)
		doc_more(d, "For %s of the time it was held, its owner was not on a CPU: "
			 "preempted, or in a page fault or a call that blocks.",
			 unit_share_of(t->offcpu_hold_ns, held).text);
	if (over(t->handoff.ns.sum, held) >= NOTABLE)
		doc_more(d, "For %s of the time it was held, its owner had yet to wake up.",
			 unit_share_of(t->handoff.ns.sum, held).text);
	if (over(t->unowned_wait_ns, waited) >= NOTABLE)
		doc_more(d, "%s of the waiting passed while nobody owned it: those who waited "
			 "had yet to wake up.", unit_share_of(t->unowned_wait_ns, waited).text);
}

static void add_share(struct doc *d, const char *what, uint64_t ns, uint64_t seen,
		      const char *meaning)
{
	doc_cell(d, "%s", what);
	doc_cell(d, "%s", unit_share_of(ns, seen).text);
	doc_cell(d, "%s", unit_ns(ns).text);
	doc_cell(d, "%s", meaning);
}

static void add_shares(struct doc *d, const struct lock_totals *t)
{
	static const struct doc_column columns[] = {
		{ .title = "time" }, { .title = "share", .is_right = true },
		{ .title = "in all", .is_right = true }, { .title = "", .is_last = true },
	};

	doc_table(d, columns);
	add_share(d, "held", t->hold.ns.sum, t->seen_ns, "a thread owned the lock");
	add_share(d, "contended", t->contended_ns, t->seen_ns,
		  "of that: while at least one thread waited");
	add_share(d, "off CPU", t->offcpu_hold_ns, t->seen_ns,
		  "of that: its owner was not running");
	add_share(d, "hand-off", t->handoff.ns.sum, t->seen_ns,
		  "of that: its new owner had yet to wake up");
	add_share(d, "free", t->free_ns, t->seen_ns, "nobody owned it");
}

static void add_dist(struct doc *d, const char *what, const struct dist *of, uint64_t seen)
{
	doc_cell(d, "%s", what);
	doc_cell(d, "%s", unit_count(of->count).text);
	doc_cell(d, "%s", unit_rate(of->count, seen).text);
	if (!of->count) {
		for (int i = 0; i < 5; i++)
			doc_cell(d, "-");
		return;
	}
	doc_cell(d, "%s", unit_ns(of->sum).text);
	doc_cell(d, "%s", unit_ns(dist_mean(of)).text);
	doc_cell(d, "%s", unit_ns(dist_quantile(of, 500)).text);
	doc_cell(d, "%s", unit_ns(dist_quantile(of, 990)).text);
	doc_cell(d, "%s", unit_ns(of->max).text);
}

static void add_dists(struct doc *d, const struct lock_totals *t)
{
	static const struct doc_column columns[] = {
		{ .title = "each" }, { .title = "count", .is_right = true },
		{ .title = "rate", .is_right = true }, { .title = "in all", .is_right = true },
		{ .title = "mean", .is_right = true }, { .title = "p50", .is_right = true },
		{ .title = "p99", .is_right = true },
		{ .title = "max", .is_right = true, .is_last = true },
	};

	doc_table(d, columns);
	add_dist(d, "hold", &t->hold.ns, t->seen_ns);
	add_dist(d, "wait", &t->wait.ns, t->seen_ns);
	add_dist(d, "hand-off", &t->handoff.ns, t->seen_ns);
	doc_cell(d, "switch");
	doc_cell(d, "%s", unit_count(t->switches).text);
	doc_cell(d, "%s", unit_rate(t->switches, t->seen_ns).text);
	for (int i = 0; i < 5; i++)
		doc_cell(d, "%s", "");
}

static void add_thread(struct doc *d, const struct thread *t, const struct lock_totals *of)
{
	doc_cell(d, "%s", report_thread_name(t).text);
	if (t->tid)
		doc_cell(d, "%" PRIu32, t->tid);
	else
		doc_cell(d, "-");
	doc_cell(d, "%s", unit_count(t->holds).text);
	doc_cell(d, "%s", unit_ns(t->hold_ns).text);
	doc_cell(d, "%s", unit_share_of(t->hold_ns, of->seen_ns).text);
	doc_cell(d, "%s", unit_ns(t->offcpu_hold_ns).text);
	doc_cell(d, "%s", unit_count(t->waits).text);
	doc_cell(d, "%s", unit_ns(t->wait_ns).text);
	doc_cell(d, "%s", unit_ns(t->blame_ns).text);
	doc_cell(d, "%s", unit_share_of(t->blame_ns, of->blame_ns).text);
}

static void add_threads(struct doc *d, const struct report_lock *l)
{
	static const struct doc_column columns[] = {
		{ .title = "thread" }, { .title = "tid", .is_right = true },
		{ .title = "holds", .is_right = true }, { .title = "held", .is_right = true },
		{ .title = "share", .is_right = true }, { .title = "off CPU", .is_right = true },
		{ .title = "waits", .is_right = true }, { .title = "waited", .is_right = true },
		{ .title = "blame", .is_right = true },
		{ .title = "share", .is_right = true, .is_last = true },
	};

	if (!l->nr_threads)
		return;
	doc_table(d, columns);
	for (size_t i = 0; i < l->nr_threads && i < THREADS_MAX; i++)
		add_thread(d, l->threads[i], &l->lock->totals);
	if (l->nr_threads > THREADS_MAX)
		doc_paragraph(d, "And %s more threads (use -f json).",
			      unit_count(l->nr_threads - THREADS_MAX).text);
}

static void add_lock_title(struct doc *d, const struct report *r, const struct report_lock *l)
{
	char of[64] = "", ractor[32] = "";

	if (l->pid && json_array_size(r->target) > 1)
		snprintf(of, sizeof(of), " of process %" JSON_INTEGER_FORMAT, l->pid);
	if (l->lock->ractor)
		snprintf(ractor, sizeof(ractor), ", Ractor %" PRIu32, l->lock->ractor);
	else if (r->nr_locks > 1)
		snprintf(ractor, sizeof(ractor), ", lock %" PRIu32, l->lock->id);
	doc_title(d, "GVL%s%s", of, ractor);
}

static void add_lock(struct doc *d, const struct report *r, const struct report_lock *l)
{
	add_lock_title(d, r, l);
	if (!l->lock->totals.seen_ns) {
		doc_paragraph(d, "Nothing of it was seen%s.", r->has_window ?
			      " in this window" : "");
		return;
	}
	add_diagnosis(d, l);
	add_shares(d, &l->lock->totals);
	add_dists(d, &l->lock->totals);
	if (r->by == REPORT_BY_THREAD)
		add_threads(d, l);
}

static void add_title(struct doc *d, const struct report *r)
{
	struct clean version = string_of(r->tool, "version");
	size_t nr = json_array_size(r->target);

	doc_title(d, "gvlscope%s%s: the GVL of %s process%s", *version.text ? " " : "",
		  version.text, nr == 1 ? "a Ruby" : "Ruby", nr == 1 ? "" : "es");
}

void report_doc(const struct report *r, struct doc *d)
{
	add_title(d, r);
	add_targets(d, r);
	add_capture(d, r);
	add_method(d, r);
	add_lost(d, r);
	add_cost(d, r);
	for (size_t i = 0; i < r->nr_locks && i < LOCKS_MAX; i++)
		add_lock(d, r, &r->locks[i]);
	if (r->nr_locks > LOCKS_MAX)
		doc_paragraph(d, "And %s more locks, with less waiting (use -f json).",
			      unit_count(r->nr_locks - LOCKS_MAX).text);
	if (!r->nr_locks)
		doc_paragraph(d, "This capture has no event of a lock: no Ruby code ran while it "
			      "was made, or nothing could be traced.");
	report_close_doc(r, d);
	report_block_doc(r, d);
	report_copy_doc(r, d);
}

static int print(const struct report *r, FILE *out, bool is_markdown, bool is_bold, struct err *e)
{
	auto_release(doc_release) struct doc d = { 0 };
	int err;

	report_doc(r, &d);
	err = is_markdown ? doc_markdown(&d, out) : doc_text(&d, out, is_bold);
	return err ? err_nomem(e) : 0;
}

int report_text(const struct report *r, FILE *out, bool is_bold, struct err *e)
{
	return print(r, out, false, is_bold, e);
}

int report_markdown(const struct report *r, FILE *out, struct err *e)
{
	return print(r, out, true, false, e);
}
