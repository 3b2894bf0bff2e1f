// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The report as JSON: schema gvlscope.report/1, docs/schema.md. */
#include <errno.h>
#include <stdio.h>

#include "render/clean.h"
#include "render/json.h"
#include "render/report.h"
#include "util/scope.h"

static json_t *dist(const struct lock_dist *d)
{
	json_t *j = json_dist(&d->ns);

	if (j)
		json_object_set_new(j, "cut", json_number(d->cut));
	return j;
}

static json_t *thread(const struct thread *t)
{
	return json_pack("{s:o, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "thread", json_address(t->addr), "tid", (json_int_t)t->tid,
			 "name", clean(t->name).text,
			 "holds", json_number(t->holds), "hold_ns", json_number(t->hold_ns),
			 "waits", json_number(t->waits), "wait_ns", json_number(t->wait_ns),
			 "blame_ns", json_number(t->blame_ns),
			 "offcpu_hold_ns", json_number(t->offcpu_hold_ns),
			 "handoff_ns", json_number(t->handoff_ns));
}

static json_t *threads(const struct report_lock *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->nr_threads; i++) {
		if (json_array_append_new(list, thread(l->threads[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *lock(const struct report_lock *l)
{
	const struct lock_totals *t = &l->lock->totals;
	json_t *j = json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			      "lock", (json_int_t)l->lock->id,
			      "ractor", (json_int_t)l->lock->ractor,
			      "address", json_address(l->lock->addr), "seen_ns", json_number(t->seen_ns),
			      "switches", json_number(t->switches), "hold_ns", dist(&t->hold),
			      "wait_ns", dist(&t->wait), "handoff_ns", dist(&t->handoff),
			      "free_ns", json_number(t->free_ns),
			      "contended_ns", json_number(t->contended_ns),
			      "blame_ns", json_number(t->blame_ns),
			      "unowned_wait_ns", json_number(t->unowned_wait_ns),
			      "offcpu_hold_ns", json_number(t->offcpu_hold_ns));
	int err = 0;

	if (l->pid)
		err = json_object_set_new(j, "pid", json_integer(l->pid));
	if (err || json_object_set_new(j, "threads", threads(l))) {
		json_decref(j);
		return NULL;
	}
	return j;
}

static json_t *gvl(const struct report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->nr_locks; i++) {
		if (json_array_append_new(list, lock(&r->locks[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return json_pack("{s:o}", "locks", list);
}

static json_t *life(const struct report *r, const struct profile_life *l)
{
	json_t *pid = json_object_get(json_array_get(r->target, l->target), "pid");
	json_t *j = json_pack("{s:s, s:o, s:O*}",
			      "what", l->kind == EVENT_FORK ? "fork" :
			      l->kind == EVENT_EXEC ? "exec" : "end",
			      "ts_ns", json_number(l->ts_ns), "pid", json_is_integer(pid) ? pid : NULL);

	if (l->kind == EVENT_FORK)
		json_object_set_new(j, "child", json_number(l->child));
	return j;
}

static json_t *lives(const struct report *r)
{
	const struct profile *p = r->profile;
	json_t *list = json_array();

	for (size_t i = 0; i < p->nr_life && i < PROFILE_LIFE_MAX; i++) {
		if (json_array_append_new(list, life(r, &p->life[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *capture(const struct report *r)
{
	const struct lock_window *w = &r->profile->window;
	json_t *j = json_pack("{s:s*, s:o, s:f, s:b, s:s*, s:O*, s:o}", "start", r->start,
			      "duration_ns", json_number(r->duration_ns),
			      "seen_share", r->seen_share, "complete", (int)r->is_complete,
			      "stop", r->stop, "methods", r->methods, "life", lives(r));
	json_t *window;

	if (!j || !r->has_window)
		return j;
	window = json_pack("{s:o}", "from_ns", json_number(w->from_ns));
	if (window && w->to_ns != UINT64_MAX)
		json_object_set_new(window, "to_ns", json_number(w->to_ns));
	json_object_set_new(j, "window", window);
	return j;
}

/* The recorder's own count of what was due and what was put by: with lost.ring they add up. */
static void add_events(const struct report *r, json_t *to)
{
	static const char *const keys[] = { "events", "stored", "records" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		json_t *n = json_object_get(r->totals, keys[i]);

		if (json_is_integer(n))
			json_object_set(to, keys[i], n);
	}
}

json_t *report_document(const struct report *r)
{
	json_t *j = json_pack("{s:s, s:O*, s:O*, s:O*, s:o, s:O, s:O*, s:o, s:o*, s:o*, s:o*}",
			      "schema", "gvlscope.report/1", "tool", r->tool, "host", r->host,
			      "target", r->target, "capture", capture(r), "lost", r->lost,
			      "cost", r->cost, "gvl", gvl(r),
			      "close", r->has_close ? report_close_json(r) : NULL,
			      "block", r->has_block ? report_block_json(r) : NULL,
			      "copy", r->has_copy ? report_copy_json(r) : NULL);

	if (j)
		add_events(r, json_object_get(j, "capture"));
	return j;
}

int report_json(const struct report *r, FILE *out, struct err *e)
{
	json_t *j = report_document(r);
	int err;

	if (!j)
		return err_nomem(e);
	/* ASCII: texts of the file that are passed on as they are may hold control characters */
	err = json_dumpf(j, out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	fputc('\n', out);
	json_decref(j);
	return err && !ferror(out) ? err_nomem(e) : 0;
}
