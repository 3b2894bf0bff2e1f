// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "gate/metric.h"

#include <stdlib.h>
#include <string.h>

#include "util/scope.h"

#define LOCKS "gvl.locks[]."

#define SUM(name, kind, unit, path) { name, METRIC_##kind, FINDING_##unit, METRIC_SUM, path, NULL, NULL, NULL }
#define PER(name, kind, unit, path, per) { name, METRIC_##kind, FINDING_##unit, METRIC_SUM, path, per, per, NULL }

/* Of a distribution: its mean, and the largest of a quantile. */
#define MEAN(name, kind, unit, path) PER(name ".mean", kind, unit, path ".sum", path ".count")
#define MOST(name, q, kind, unit, path) \
	{ name "." q, METRIC_##kind, FINDING_##unit, METRIC_WORST, path "." q, NULL, path ".count", NULL }

/* Of waiters visited, where the report may say that it is not certain. */
#define VISITED(name, fold, path, per, seen) \
	{ "close.visited." name, METRIC_FACT, FINDING_COUNT, METRIC_##fold, "close.visited." path, per, seen, \
	  "close.visited_exact" }
#define VISITS "close.visited.count"

const struct metric metrics[NR_METRICS] = {
	SUM("block.count", COUNT, COUNT, "block.count"),
	PER("block.count.per_close", COUNT, COUNT, "block.count", "close.count"),
	MEAN("block.ns", TIME, NS, "block.ns"),
	SUM("block.short", COUNT, COUNT, "block.short"),
	PER("block.short.per_region", COUNT, SHARE, "block.short", "block.count"),
	PER("block.wait_ns.per_region", TIME, NS, "block.wait_ns", "block.count"),
	SUM("close.count", FACT, COUNT, "close.count"),
	SUM("close.foreign", FACT, COUNT, "close.foreign"),
	MOST("close.matched", "max", FACT, COUNT, "close.matched"),
	MEAN("close.matched", FACT, COUNT, "close.matched"),
	SUM("close.matched.sum", FACT, COUNT, "close.matched.sum"),
	MEAN("close.scan_ns", TIME, NS, "close.scan_ns"),
	MOST("close.scan_ns", "p50", TIME, NS, "close.scan_ns"),
	MOST("close.scan_ns", "p99", TIME, NS, "close.scan_ns"),
	SUM("close.scan_ns.sum", TIME, NS, "close.scan_ns.sum"),
	PER("close.syscall_held_ns.per_close", TIME, NS, "close.syscall_held_ns", "close.syscall_ns.count"),
	MEAN("close.syscall_ns", TIME, NS, "close.syscall_ns"),
	MOST("close.syscall_ns", "p99", TIME, NS, "close.syscall_ns"),
	MEAN("close.total_ns", TIME, NS, "close.total_ns"),
	MOST("close.total_ns", "p50", TIME, NS, "close.total_ns"),
	MOST("close.total_ns", "p99", TIME, NS, "close.total_ns"),
	SUM("close.total_ns.sum", TIME, NS, "close.total_ns.sum"),
	VISITED("max", WORST, "max", NULL, VISITS),
	VISITED("mean", SUM, "sum", VISITS, VISITS),
	VISITED("p50", WORST, "p50", NULL, VISITS),
	VISITED("p99", WORST, "p99", NULL, VISITS),
	VISITED("sum", SUM, "sum", NULL, NULL),
	MEAN("close.wait_ns", TIME, NS, "close.wait_ns"),
	MOST("close.wait_ns", "p99", TIME, NS, "close.wait_ns"),
	SUM("copy.held.blame_ns", TIME, NS, "copy.held.blame_ns"),
	SUM("copy.held.bytes", FACT, BYTES, "copy.held.bytes"),
	SUM("copy.held.count", FACT, COUNT, "copy.held.count"),
	MEAN("copy.held.ns", TIME, NS, "copy.held.ns"),
	MOST("copy.held.ns", "p99", TIME, NS, "copy.held.ns"),
	SUM("copy.held.ns.sum", TIME, NS, "copy.held.ns.sum"),
	SUM("copy.released.bytes", FACT, BYTES, "copy.released.bytes"),
	SUM("copy.released.count", FACT, COUNT, "copy.released.count"),
	PER("copy.sampled.share", TIME, SHARE, "copy.sampled.copy_ticks", "copy.sampled.ticks"),
	SUM("gvl.blame_ns", TIME, NS, LOCKS "blame_ns"),
	PER("gvl.contended_ns.share", TIME, SHARE, LOCKS "contended_ns", LOCKS "seen_ns"),
	PER("gvl.free_ns.share", TIME, SHARE, LOCKS "free_ns", LOCKS "seen_ns"),
	MEAN("gvl.handoff_ns", TIME, NS, LOCKS "handoff_ns"),
	MOST("gvl.handoff_ns", "p99", TIME, NS, LOCKS "handoff_ns"),
	SUM("gvl.hold_ns.count", COUNT, COUNT, LOCKS "hold_ns.count"),
	MOST("gvl.hold_ns", "max", TIME, NS, LOCKS "hold_ns"),
	MEAN("gvl.hold_ns", TIME, NS, LOCKS "hold_ns"),
	MOST("gvl.hold_ns", "p50", TIME, NS, LOCKS "hold_ns"),
	MOST("gvl.hold_ns", "p99", TIME, NS, LOCKS "hold_ns"),
	PER("gvl.hold_ns.share", TIME, SHARE, LOCKS "hold_ns.sum", LOCKS "seen_ns"),
	SUM("gvl.hold_ns.sum", TIME, NS, LOCKS "hold_ns.sum"),
	PER("gvl.offcpu_hold_ns.share", TIME, SHARE, LOCKS "offcpu_hold_ns", LOCKS "hold_ns.sum"),
	SUM("gvl.switches", COUNT, COUNT, LOCKS "switches"),
	PER("gvl.switches.per_hold", COUNT, SHARE, LOCKS "switches", LOCKS "hold_ns.count"),
	SUM("gvl.wait_ns.count", COUNT, COUNT, LOCKS "wait_ns.count"),
	MEAN("gvl.wait_ns", TIME, NS, LOCKS "wait_ns"),
	MOST("gvl.wait_ns", "p50", TIME, NS, LOCKS "wait_ns"),
	MOST("gvl.wait_ns", "p99", TIME, NS, LOCKS "wait_ns"),
	SUM("gvl.wait_ns.sum", TIME, NS, LOCKS "wait_ns.sum"),
};

static int by_name(const void *name, const void *m)
{
	return strcmp(name, ((const struct metric *)m)->name);
}

const struct metric *metric_find(const char *name)
{
	return bsearch(name, metrics, NR_METRICS, sizeof(*metrics), by_name);
}

const char *metric_kind_name(enum metric_kind k)
{
	static const char *const names[] = { "fact", "count", "time" };

	return names[k];
}

/* What several places of a report come to. */
struct total {
	double number;
	size_t nr;		/* places */
	bool is_broken;		/* one of them is missing, or no number */
};

static void total_add(struct total *t, const json_t *j, enum metric_fold fold)
{
	double v = json_is_true(j) ? 1 : json_number_value(j);

	if ((!json_is_number(j) && !json_is_boolean(j)) || v < 0) {
		t->is_broken = true;
		return;
	}
	t->nr++;
	if (fold == METRIC_SUM)
		t->number += v;
	else if (v > t->number)
		t->number = v;
}

static void walk(struct total *t, const json_t *j, const char *path, enum metric_fold fold)
{
	size_t len = strcspn(path, ".["), i;
	bool is_list = path[len] == '[', is_last = !path[len];
	const char *rest = path + len + (is_list ? strlen("[].") : 1);
	json_t *at = json_object_getn(j, path, len), *element;

	if (is_last) {
		total_add(t, at, fold);
	} else if (!is_list) {
		walk(t, at, rest, fold);
	} else {
		json_array_foreach(at, i, element)
			walk(t, element, rest, fold);
	}
}

static bool read_path(const json_t *report, const char *path, enum metric_fold fold, double *out)
{
	struct total t = { 0 };

	walk(&t, report, path, fold);
	*out = t.number;
	return t.nr && !t.is_broken;
}

struct value metric_read(const struct metric *m, const json_t *report)
{
	struct value v = { .state = VALUE_CERTAIN };
	double by = 1, seen = 1, certain = 1;

	if (!read_path(report, m->path, m->fold, &v.number) ||
	    (m->per && !read_path(report, m->per, METRIC_SUM, &by)) ||
	    (m->seen && !read_path(report, m->seen, METRIC_SUM, &seen)) ||
	    (m->certain && !read_path(report, m->certain, METRIC_SUM, &certain)))
		return (struct value){ VALUE_ABSENT, 0 };
	if (seen == 0 || by == 0)
		return (struct value){ VALUE_NONE, 0 };
	v.number /= by;
	if (certain == 0)
		v.state = VALUE_UNCERTAIN;
	return v;
}
