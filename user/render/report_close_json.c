// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The parts "close" and "block" of the report as JSON. */
#include "render/call.h"
#include "render/clean.h"
#include "render/json.h"
#include "render/report.h"

static json_t *worst(const struct report *r, const struct close_one *one)
{
	json_t *pid = json_object_get(json_array_get(r->target, one->target), "pid");
	json_t *j = json_pack("{s:o, s:O*, s:I, s:o, s:I, s:I, s:o, s:o, s:o, s:o}",
			      "ts_ns", json_number(one->start_ns),
			      "pid", json_is_integer(pid) ? pid : NULL, "tid", (json_int_t)one->tid,
			      "thread", json_address(one->thread), "fd", (json_int_t)one->fd,
			      "matched", (json_int_t)one->matched,
			      "scan_ns", json_number(one->scan_ns), "wait_ns", json_number(one->wait_ns),
			      "syscall_ns", json_number(one->call_ns),
			      "total_ns", json_number(one->total_ns));

	if (j && one->visited != WAITERS_UNKNOWN)
		json_object_set_new(j, "visited", json_number(one->visited));
	return j;
}

static json_t *place(const struct close_place *p)
{
	return json_pack("{s:s, s:s, s:o}", "closer", clean(p->closer).text, "waiter",
			 clean(p->waiter).text, "count", json_number(p->count));
}

json_t *report_close_json(const struct report *r)
{
	const struct closes *c = &r->profile->closes;
	static const char *const parts[CLOSE_PARTS] = { "scan", "wait", "syscall", "other" };
	json_t *list = json_array(), *places = json_array();
	uint64_t ns[CLOSE_PARTS];

	report_close_parts(r, ns);

	for (size_t i = 0; i < c->nr_worst; i++)
		json_array_append_new(list, worst(r, &c->worst[i]));
	for (size_t i = 0; i < c->nr_places && i < CLOSES_PLACES; i++)
		json_array_append_new(places, place(&c->places[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:s,"
			 " s:o, s:o}",
			 "count", json_number(c->count), "visited", json_dist(&c->visited),
			 "matched", json_dist(&c->matched), "foreign", json_number(c->foreign),
			 "scan_ns", json_dist(&c->scan), "wait_ns", json_dist(&c->wait),
			 "syscall_ns", json_dist(&c->call), "syscall_held_ns", json_number(c->held_ns),
			 "other_ns", json_number(c->other_ns), "total_ns", json_dist(&c->total),
			 "per_io", json_number(c->per_io), "visited_exact", report_visited_exact(r),
			 "visited_unknown", json_number(c->visited_unknown),
			 "orphans", json_number(c->orphans), "unfinished", json_number(c->unfinished),
			 "cost_is", parts[report_close_largest(ns)], "worst", list, "foreign_at", places);
}

static json_t *group(const struct report *r, const struct block_group *g, const char *arch)
{
	const char *function = profile_function(r->profile, g->function);
	json_t *j = json_pack("{s:s, s:s, s:o, s:o, s:o}", "call", call_name(g->call, arch).text,
			      "file", file_kind_name(g->file), "count", json_number(g->ns.count),
			      "ns", json_dist(&g->ns), "short", json_number(g->is_short));

	if (j && function)
		json_object_set_new(j, "function", json_string(clean(function).text));
	return j;
}

json_t *report_block_json(const struct report *r)
{
	const struct blocks *b = &r->profile->blocks;
	const char *arch = json_string_value(json_object_get(r->host, "arch"));
	const struct block_group **groups = blocks_sorted(b);
	json_t *list = json_array(), *j = NULL;
	uint64_t nr_short;
	struct dist all;

	for (size_t i = 0; groups && i < b->nr_groups; i++)
		json_array_append_new(list, group(r, groups[i], arch ? arch : ""));
	free(groups);
	if (blocks_sum(b, &all, &nr_short) == 0)
		j = json_pack("{s:o, s:o, s:o, s:o, s:O}", "count", json_number(all.count),
			      "ns", json_dist(&all), "short", json_number(nr_short),
			      "wait_ns", json_number(b->wait_ns), "by", list);
	json_decref(list);
	dist_release(&all);
	return j;
}
