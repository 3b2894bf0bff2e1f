// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The report for people: the sections on IO#close and on blocking regions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/call.h"
#include "render/clean.h"
#include "render/report.h"
#include "render/unit.h"
#include "util/scope.h"

enum {
	WORST_MAX = 5,
	GROUPS_MAX = 10,
	PLACES_MAX = 16,
	PLACE_WIDTH = 42,
	FUNCTION_WIDTH = 26,
};

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Why @part was not measured, if something stood against it. */
static const char *why_not(const struct report *r, const char *part)
{
	const char *how = json_string_value(json_object_get(r->methods, part));

	return how && *how && strcmp(how, "not measured") != 0 ? how : NULL;
}

/* ", N on average": how many threads a close looked at, if that is known. */
static struct unit on_average(const struct dist *visited)
{
	struct unit u = { "" };

	if (visited->count)
		snprintf(u.text, sizeof(u.text), ", %.16s on average",
			 unit_real((double)visited->sum / visited->count).text);
	return u;
}

static void add_largest(struct doc *d, const struct closes *c, enum close_part part)
{
	switch (part) {
	case CLOSE_SCAN:
		if (c->per_io)
			doc_more(d, "the scan for waiting threads%s.", on_average(&c->visited).text);
		else
			doc_more(d, "the scan: each close looks at every thread that blocks in IO%s; Ruby "
				 "4.0 keeps a list per IO.", on_average(&c->visited).text);
		return;
	case CLOSE_WAIT:
		doc_more(d, "waiting until the %s thread%s that they interrupted had left: each must "
			 "wake up and get the lock first.", unit_count(c->matched.sum).text,
			 plural(c->matched.sum));
		return;
	case CLOSE_SYSCALL:
		if (c->held_ns)
			doc_more(d, "close(2), the system call; %s of that with the lock held: no other "
				 "thread could run.", unit_share_of(c->held_ns, c->call.sum).text);
		else
			doc_more(d, "close(2), the system call, without the lock: other threads could run.");
		return;
	default:
		doc_more(d, "what lies between scan and close(2): writing of buffered output, and Ruby's "
			 "own work.");
	}
}

static void add_close_diagnosis(struct doc *d, const struct report *r, const struct closes *c)
{
	uint64_t ns[CLOSE_PARTS], all = report_close_parts(r, ns);
	enum close_part most = report_close_largest(ns);

	doc_paragraph(d, "%s close%s took %s in all.", unit_count(c->count).text,
		      plural(c->count), unit_ns(all).text);
	if (!all)
		return;
	doc_more(d, "%s (%s) went into", ns[most] > all / 2 ? "Most of it" : "The largest part",
		 unit_share_of(ns[most], all).text);
	add_largest(d, c, most);
	doc_more(d, "Scan %s, waiting %s, close(2) %s (%s with the lock held), the rest %s%s.",
		 unit_share_of(ns[CLOSE_SCAN], all).text,
		 unit_share_of(ns[CLOSE_WAIT], all).text, unit_share_of(ns[CLOSE_SYSCALL], all).text,
		 unit_share_of(c->held_ns, all).text, unit_share_of(ns[CLOSE_OTHER], all).text,
		 r->cost ? "; without what the probes took" : "");
}

/* How many closes visited nobody. */
static uint64_t nr_zero(const struct dist *d)
{
	return d->octaves[0] ? d->octaves[0][0] : 0;
}

/* What has to be known of the figures. */
static void add_close_notes(struct doc *d, const struct report *r, const struct closes *c)
{
	uint64_t walks = 0, wrong = 0;

	for (size_t i = 0; i < r->profile->nr_targets; i++) {
		const struct profile_target *t = r->profile->targets[i];

		walks += t ? t->waiters.walks : 0;
		wrong += t ? t->waiters.mismatches : 0;
	}
	if (c->per_io)
		doc_paragraph(d, "Each IO keeps a list of its own waiters (Ruby 4.0 and later): %s of "
			      "%s closes found nobody to visit.", unit_count(nr_zero(&c->visited)).text,
			      unit_count(c->visited.count).text);
	if (c->orphans)
		doc_paragraph(d, "%s close%s ended in an exception before close(2): of these, only the "
			      "scan counts.", unit_count(c->orphans).text, plural(c->orphans));
	if (c->unfinished)
		doc_paragraph(d, "%s close%s had not ended when tracing did: of these, only the scan "
			      "counts.", unit_count(c->unfinished).text, plural(c->unfinished));
	if (c->visited_unknown)
		doc_paragraph(d, "How many threads %s close%s visited is not known: the list of waiters "
			      "had not been read yet, or events were missing.",
			      unit_count(c->visited_unknown).text, plural(c->visited_unknown));
	if (wrong)
		doc_paragraph(d, "The figures of visited are not exact: %s of %s walks over the list of "
			      "waiters found others on it than events had told.",
			      unit_count(wrong).text, unit_count(walks).text);
}

struct clean report_end_of(const char *s, size_t width)
{
	struct clean all = clean(s), out = { "..." };
	const char *from = all.text;

	if (clean_width(from) <= width)
		return all;
	while (clean_width(from) > width - 3)
		from += clean_length(from);
	strcat(out.text, from);		/* less than was cut */
	return out;
}

static void add_quantile(struct doc *d, const struct dist *of, unsigned int permille,
			 struct unit (*unit)(uint64_t))
{
	doc_cell(d, "%s", of->count ? unit(dist_quantile(of, permille)).text : "-");
}

static void add_close_dist(struct doc *d, const char *what, const struct dist *of,
			   struct unit (*unit)(uint64_t), const char *meaning)
{
	doc_cell(d, "%s", what);
	doc_cell(d, "%s", unit_count(of->count).text);
	doc_cell(d, "%s", unit(of->sum).text);
	add_quantile(d, of, 500, unit);
	add_quantile(d, of, 900, unit);
	add_quantile(d, of, 990, unit);
	doc_cell(d, "%s", of->count ? unit(of->max).text : "-");
	doc_cell(d, "%s", meaning);
}

static void add_close_dists(struct doc *d, const struct closes *c)
{
	static const struct doc_column columns[] = {
		{ .title = "each close" }, { .title = "count", .is_right = true },
		{ .title = "in all", .is_right = true }, { .title = "p50", .is_right = true },
		{ .title = "p90", .is_right = true }, { .title = "p99", .is_right = true },
		{ .title = "max", .is_right = true }, { .title = "", .is_last = true },
	};

	doc_table(d, columns);
	add_close_dist(d, "visited", &c->visited, unit_count, "threads looked at");
	add_close_dist(d, "matched", &c->matched, unit_count, "of them: interrupted");
	add_close_dist(d, "scan", &c->scan, unit_ns, "looking at them");
	add_close_dist(d, "wait", &c->wait, unit_ns, "until those had left");
	add_close_dist(d, "close(2)", &c->call, unit_ns, "the system call");
	add_close_dist(d, "total", &c->total, unit_ns, "from scan to close(2)");
}

/* The thread at that address; of several, one after the other, the one that this task ran. */
static const struct thread *closer(const struct report *r, const struct close_one *one)
{
	const struct thread *found = NULL;

	for (size_t i = 0; i < r->nr_locks; i++) {
		if (r->locks[i].lock->target != one->target)
			continue;
		for (const struct thread *t = r->locks[i].lock->threads; t; t = t->next_of_lock) {
			if (t->addr == one->thread && (!found || t->tid == one->tid))
				found = t;
		}
	}
	return found;
}

static void add_worst(struct doc *d, const struct report *r, const struct close_one *one)
{
	const struct thread *t = closer(r, one);
	uint64_t first = r->profile->first_ns;

	doc_cell(d, "%s", t ? report_thread_name(t).text : "-");
	doc_cell(d, "%" PRIu32, one->tid);
	doc_cell(d, "%s", unit_ns(one->start_ns > first ? one->start_ns - first : 0).text);
	doc_cell(d, "%" PRId32, one->fd);
	doc_cell(d, "%s", one->visited == WAITERS_UNKNOWN ? "-" : unit_count(one->visited).text);
	doc_cell(d, "%s", unit_count(one->matched).text);
	doc_cell(d, "%s", unit_ns(one->scan_ns).text);
	doc_cell(d, "%s", unit_ns(one->wait_ns).text);
	doc_cell(d, "%s", one->call_ns ? unit_ns(one->call_ns).text : "-");
	doc_cell(d, "%s", unit_ns(one->total_ns).text);
}

static void add_worsts(struct doc *d, const struct report *r)
{
	static const struct doc_column columns[] = {
		{ .title = "thread" }, { .title = "tid", .is_right = true },
		{ .title = "at", .is_right = true }, { .title = "fd", .is_right = true },
		{ .title = "visited", .is_right = true }, { .title = "matched", .is_right = true },
		{ .title = "scan", .is_right = true }, { .title = "wait", .is_right = true },
		{ .title = "close(2)", .is_right = true },
		{ .title = "total", .is_right = true, .is_last = true },
	};
	const struct closes *c = &r->profile->closes;

	if (!c->nr_worst)
		return;
	doc_paragraph(d, "The longest, and when since the capture began:");
	doc_table(d, columns);
	for (size_t i = 0; i < c->nr_worst && i < WORST_MAX; i++)
		add_worst(d, r, &c->worst[i]);
}

static void add_foreign(struct doc *d, const struct closes *c)
{
	static const struct doc_column columns[] = {
		{ .title = "closed at" }, { .title = "waited at" },
		{ .title = "count", .is_right = true, .is_last = true },
	};

	if (!c->foreign)
		return;
	doc_paragraph(d, "WARNING: %s thread%s interrupted although %s waited through another IO "
		      "object on the same descriptor: from Ruby 4.0 they are not interrupted, and "
		      "go on waiting.", unit_count(c->foreign).text,
		      c->foreign == 1 ? " was" : "s were", c->foreign == 1 ? "it" : "they");
	doc_table(d, columns);
	for (size_t i = 0; i < c->nr_places && i < PLACES_MAX; i++) {
		doc_cell(d, "%s", report_end_of(c->places[i].closer, PLACE_WIDTH).text);
		doc_cell(d, "%s", report_end_of(c->places[i].waiter, PLACE_WIDTH).text);
		doc_cell(d, "%s", unit_count(c->places[i].count).text);
	}
	if (c->nr_places > PLACES_MAX)
		doc_paragraph(d, "And other places (use -f json).");
}

void report_close_doc(const struct report *r, struct doc *d)
{
	const struct closes *c = &r->profile->closes;
	const char *why = why_not(r, "close");

	if (!r->has_close && !why)
		return;
	doc_title(d, "IO#close");
	if (!r->has_close) {
		doc_paragraph(d, "Not measured: %s.", clean(why).text);
		return;
	}
	if (!c->count) {
		doc_paragraph(d, "No IO was closed.");
		return;
	}
	add_close_diagnosis(d, r, c);
	add_close_dists(d, c);
	add_foreign(d, c);
	add_close_notes(d, r, c);
	add_worsts(d, r);
}

static void add_block_diagnosis(struct doc *d, const struct blocks *b, const struct dist *all,
				uint64_t nr_short)
{
	doc_paragraph(d, "Threads released the lock %s time%s for a call that may block, or to compute "
		      "without it: for %s, summed over threads.", unit_count(all->count).text,
		      plural(all->count), unit_ns(all->sum).text);
	if (nr_short)
		doc_more(d, "%s of these regions (%s) %s shorter than %s: the lock was released for "
			 "nothing.", unit_count(nr_short).text,
			 unit_share_of(nr_short, all->count).text, nr_short == 1 ? "was" : "were",
			 unit_ns(BLOCK_SHORT_NS).text);
	else
		doc_more(d, "None of these regions was shorter than %s.", unit_ns(BLOCK_SHORT_NS).text);
	if (b->wait_ns)
		doc_more(d, "After them, threads waited for the lock for %s.", unit_ns(b->wait_ns).text);
}

static void add_group(struct doc *d, const struct report *r, const struct block_group *g,
		      bool has_functions)
{
	const char *arch = json_string_value(json_object_get(r->host, "arch"));
	const char *function = profile_function(r->profile, g->function);

	if (has_functions)
		doc_cell(d, "%s", function ? report_end_of(function, FUNCTION_WIDTH).text : "-");
	doc_cell(d, "%s", call_name(g->call, arch ? arch : "").text);
	doc_cell(d, "%s", g->file == FILE_NONE ? "-" : file_kind_name(g->file));
	doc_cell(d, "%s", unit_count(g->ns.count).text);
	doc_cell(d, "%s", unit_count(g->is_short).text);
	doc_cell(d, "%s", unit_ns(g->ns.sum).text);
	add_quantile(d, &g->ns, 500, unit_ns);
	add_quantile(d, &g->ns, 990, unit_ns);
	doc_cell(d, "%s", unit_ns(g->ns.max).text);
}

static void add_other_groups(struct doc *d, const struct block_group **groups, size_t nr)
{
	uint64_t count = 0, ns = 0;

	for (size_t i = 0; i < nr; i++) {
		count += groups[i]->ns.count;
		ns += groups[i]->ns.sum;
	}
	doc_paragraph(d, "And %s more, %s times, %s in all (--by call lists all).", unit_count(nr).text,
		      unit_count(count).text, unit_ns(ns).text);
}

static void add_groups(struct doc *d, const struct report *r, const struct block_group **groups)
{
	static const struct doc_column columns[] = {
		{ .title = "function" },	/* only where they were asked for */
		{ .title = "call" }, { .title = "file" }, { .title = "count", .is_right = true },
		{ .title = "short", .is_right = true }, { .title = "in all", .is_right = true },
		{ .title = "p50", .is_right = true }, { .title = "p99", .is_right = true },
		{ .title = "max", .is_right = true, .is_last = true },
	};
	size_t nr = r->profile->blocks.nr_groups;
	size_t shown = r->by == REPORT_BY_CALL || nr < GROUPS_MAX ? nr : GROUPS_MAX;
	bool has_functions = false, has_cpu = false;

	for (size_t i = 0; i < shown; i++) {
		has_functions |= groups[i]->function != 0;
		has_cpu |= groups[i]->call == BLOCK_NO_CALL;
	}
	doc_table(d, has_functions ? columns : columns + 1);
	for (size_t i = 0; i < shown; i++)
		add_group(d, r, groups[i], has_functions);
	if (nr > shown)
		add_other_groups(d, groups + shown, nr - shown);
	if (has_cpu)
		doc_paragraph(d, "cpu: without a system call, it only computed.");
}

static void add_blocks(struct doc *d, const struct report *r)
{
	const struct blocks *b = &r->profile->blocks;
	auto_free const struct block_group **groups = blocks_sorted(b);
	auto_release(dist_release) struct dist all;
	uint64_t nr_short;

	if (blocks_sum(b, &all, &nr_short) || !groups) {
		d->is_broken = true;
		return;
	}
	if (!all.count) {
		doc_paragraph(d, "No thread released the lock to block.");
		return;
	}
	add_block_diagnosis(d, b, &all, nr_short);
	add_groups(d, r, groups);
}

void report_block_doc(const struct report *r, struct doc *d)
{
	const char *why = why_not(r, "block");

	if (!r->has_block && !why && r->by != REPORT_BY_CALL)
		return;
	doc_title(d, "Blocking regions");
	if (r->has_block)
		add_blocks(d, r);
	else
		doc_paragraph(d, "Not measured%s%s.", why ? ": " : "", clean(why).text);
}
