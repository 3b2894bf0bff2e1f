// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/record.h"

#include <jansson.h>
#include <time.h>

#include "cmd/target_json.h"
#include "render/json.h"

static json_t *targets(const struct capture *c)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < capture_nr_tracees(c); i++)
		json_array_append_new(list, target_json(capture_tracee(c, i)));
	return list;
}

static json_t *methods(const struct capture *c)
{
	const struct tracee *te = capture_nr_tracees(c) ? capture_tracee(c, 0) : NULL;

	if (!te)
		return json_object();
	return json_pack("{s:s, s:s, s:s, s:s}", "gvl", tracee_method(te),
			 "close", extras_close_method(&te->extras), "block", extras_block_method(&te->extras),
			 "copy", extras_copy_method(&te->extras));
}

static json_t *now_rfc3339(void)
{
	char buf[40];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(buf);
}

static char *dump(json_t *j)
{
	char *s = j ? json_dumps(j, JSON_COMPACT) : NULL;

	json_decref(j);
	return s;
}

char *record_facts(const struct capture *c, const char *command_line)
{
	json_t *j = json_object();

	json_object_set_new(j, "tool", json_pack("{s:s, s:o}", "version", GVLSCOPE_VERSION,
						 "options", text_json(command_line)));
	json_object_set_new(j, "host", json_host());
	json_object_set_new(j, "target", targets(c));
	json_object_set_new(j, "capture", json_pack("{s:o, s:o}", "start", now_rfc3339(),
						    "methods", methods(c)));
	return dump(j);
}

static json_t *lost(const struct capture_totals *t)
{
	const uint64_t *s = t->stats;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "processes", (json_int_t)t->lost_processes,
			 "events", (json_int_t)(t->due - t->stored),
			 "ring", (json_int_t)s[STAT_LOST_RING],
			 "unseen_writer", (json_int_t)t->unseen_writer,
			 "unreadable", (json_int_t)s[STAT_LOST_READ],
			 "task_table", (json_int_t)s[STAT_LOST_TASK],
			 "lock_table", (json_int_t)s[STAT_LOST_LOCK],
			 "closes", (json_int_t)s[STAT_LOST_CLOSE],
			 "copies", (json_int_t)s[STAT_LOST_COPY],
			 "truncated_walk", (json_int_t)s[STAT_TRUNCATED_WALK]);
}

static json_t *cost(const struct capture_totals *t)
{
	const uint64_t *s = t->stats;
	uint64_t hits = t->hits_sites + s[STAT_HIT_WATCH] + s[STAT_HIT_SCAN] + s[STAT_HIT_NOGVL] + s[STAT_HIT_COPY];
	uint64_t runs = hits + s[STAT_HIT_SWITCH] + s[STAT_HIT_CALL];

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:f}",
			 "hits", (json_int_t)hits,
			 "hits_sites", (json_int_t)t->hits_sites,
			 "hits_stepped", (json_int_t)t->hits_stepped,
			 "hits_watch", (json_int_t)s[STAT_HIT_WATCH],
			 "hits_close", (json_int_t)s[STAT_HIT_SCAN],
			 "hits_copy", (json_int_t)s[STAT_HIT_COPY],
			 "hits_switch", (json_int_t)s[STAT_HIT_SWITCH],
			 "hits_call", (json_int_t)s[STAT_HIT_CALL],
			 "walked_nodes", (json_int_t)s[STAT_WALKED],
			 "walk_ns", (json_int_t)s[STAT_WALK_NS],
			 "ns_per_hit", hits ? (double)t->hits_ns / hits : 0.0,
			 "uprobe_ns", t->cost.emulated_ns,
			 "uprobe_stepped_ns", t->cost.stepped_ns,
			 "watch_ns", t->cost.watch_ns,
			 "bpf_ns", (json_int_t)(runs * t->cost.program_ns),
			 "target_share", t->target_share);
}

char *record_totals(struct capture *c, enum capture_end end)
{
	struct capture_totals t;
	json_t *j = json_object();

	capture_totals(c, &t);
	json_object_set_new(j, "duration_ns", json_integer(t.duration_ns));
	json_object_set_new(j, "seen_ns", json_integer(t.seen_ns));
	json_object_set_new(j, "stop", json_string(capture_end_name(end)));
	json_object_set_new(j, "events", json_integer(t.due));
	json_object_set_new(j, "stored", json_integer(t.stored));
	json_object_set_new(j, "records", json_integer(t.records));
	json_object_set_new(j, "methods", methods(c));
	json_object_set_new(j, "target", targets(c));
	json_object_set_new(j, "lost", lost(&t));
	json_object_set_new(j, "cost", cost(&t));
	return dump(j);
}
