// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/clean.h"
#include "util/scope.h"

/* A member of the right type, or NULL. */
static json_t *member(const json_t *object, const char *key, json_type type)
{
	json_t *j = json_object_get(object, key);

	return j && json_typeof(j) == type ? j : NULL;
}

/* What was known at the end is better than what was known at the start. */
static json_t *latest(const struct report *r, const char *key, json_type type)
{
	json_t *j = member(r->totals, key, type);

	return j ? j : member(r->facts, key, type);
}

/* @what is for the message. 0 and an object in *out, or -errno with @e set. */
static int parse(json_t **out, const char *text, const char *what, struct err *e)
{
	json_error_t error;

	*out = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(*out))
		return 0;
	return err_set(e, REASON_TRACE_DAMAGED, -EINVAL, "the trace's %s are not a JSON object",
		       what);
}

static int lost_add(json_t *lost, const char *key, uint64_t n)
{
	json_int_t v = n > INT64_MAX ? INT64_MAX : (json_int_t)n;

	return json_object_set_new(lost, key, json_integer(v));
}

/* The recorder's counts, if they are counts, and what the events themselves show. */
static int make_lost(struct report *r)
{
	struct lock_totals sum = { 0 };
	json_t *given = member(r->totals, "lost", JSON_OBJECT), *count;
	const char *key;
	int err = 0;

	for (size_t i = 0; i < r->nr_locks; i++) {
		const struct lock_totals *t = &r->locks[i].lock->totals;

		sum.gaps += t->gaps;
		sum.gap_events += t->gap_events;
		sum.stale_events += t->stale_events;
		sum.queue_mismatch += t->queue_mismatch;
		sum.queue_unknown += t->queue_unknown;
	}
	r->lost = json_object();
	r->is_loss_known = given;
	if (!given)
		err |= json_object_set_new(r->lost, "unknown", json_true());
	json_object_foreach(given, key, count)
		if (json_is_integer(count) && json_integer_value(count) >= 0)
			err |= json_object_set(r->lost, key, count);
	err |= lost_add(r->lost, "gaps", sum.gaps);
	err |= lost_add(r->lost, "gap_events", sum.gap_events);
	err |= lost_add(r->lost, "stale_events", sum.stale_events);
	err |= lost_add(r->lost, "queue_mismatch", sum.queue_mismatch);
	err |= lost_add(r->lost, "queue_unknown", sum.queue_unknown);
	return err;
}

static json_int_t pid_of(const struct report *r, uint16_t target)
{
	json_t *pid = member(json_array_get(r->target, target), "pid", JSON_INTEGER);

	return json_integer_value(pid);
}

static uint64_t waiting(const struct lock *l)
{
	return l->totals.blame_ns + l->totals.unowned_wait_ns;
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_waiting(const void *a, const void *b)
{
	const struct lock *x = ((const struct report_lock *)a)->lock;
	const struct lock *y = ((const struct report_lock *)b)->lock;
	int order = compare(waiting(y), waiting(x));

	if (!order)
		order = compare(y->totals.hold.ns.sum, x->totals.hold.ns.sum);
	return order ? order : compare(x->id, y->id);
}

static int make_locks(struct report *r)
{
	const struct profile *p = r->profile;

	r->locks = calloc(p->nr_locks + 1, sizeof(*r->locks));
	if (!r->locks)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_locks; i++) {
		struct report_lock *l = &r->locks[r->nr_locks];

		if (!p->locks[i])
			continue;
		l->lock = p->locks[i];
		l->pid = pid_of(r, l->lock->target);
		l->threads = profile_threads(l->lock, &l->nr_threads);
		if (!l->threads)
			return -ENOMEM;
		r->nr_locks++;
	}
	qsort(r->locks, r->nr_locks, sizeof(*r->locks), by_waiting);
	return 0;
}

static void make_duration(struct report *r)
{
	const struct profile *p = r->profile;
	json_t *given = member(r->totals, "duration_ns", JSON_INTEGER);
	uint64_t first = p->first_ns, last = p->last_ns;

	if (first > last)
		first = last = 0;
	if (json_integer_value(given) > 0)
		last = first + json_integer_value(given);
	r->has_window = p->window.from_ns || p->window.to_ns != UINT64_MAX;
	if (p->window.from_ns > first)
		first = p->window.from_ns;
	if (p->window.to_ns < last)
		last = p->window.to_ns;
	r->first_ns = first;
	r->last_ns = first < last ? last : first;
	r->duration_ns = r->last_ns - first;
}

static const struct lock *first_lock(const struct profile_target *target)
{
	const struct lock *first = target ? target->locks : NULL;

	for (const struct lock *l = first; l; l = l->next_of_target)
		first = l->id < first->id ? l : first;
	return first;
}

/* For how long target @i could be seen: from its fork, if that was traced, to its end. */
static uint64_t lifetime(const struct report *r, size_t i)
{
	const struct profile *p = r->profile;
	uint64_t first = r->first_ns, last = r->last_ns;
	uint64_t pid = pid_of(r, i);

	for (size_t n = 0; n < p->nr_life && n < PROFILE_LIFE_MAX; n++) {
		const struct profile_life *l = &p->life[n];
		bool is_birth = l->kind == EVENT_FORK && l->child == pid;
		bool is_end = l->kind != EVENT_FORK && l->target == i;

		if (is_birth && l->ts_ns > first)
			first = l->ts_ns;
		if (is_end && l->ts_ns < last)
			last = l->ts_ns;
	}
	return first < last ? last - first : 0;
}

/* Of the lifetimes of all targets, going by the first lock of each, which is the main Ractor's. */
static void make_seen_share(struct report *r)
{
	const struct profile *p = r->profile;
	double seen = 0, alive = 0;

	for (size_t i = 0; i < p->nr_targets; i++) {
		const struct lock *first = first_lock(p->targets[i]);

		if (!first)
			continue;
		seen += first->totals.seen_ns;
		alive += lifetime(r, i);
	}
	if (alive > 0)
		r->seen_share = seen < alive ? seen / alive : 1;
}

/* capture.methods names the method of what was measured, and says why not of the rest. */
static bool is_measured(const struct report *r, const char *part)
{
	static const char *const methods[] = {
		"symbol", "recovered", "calls", "buffer, samples", "buffer, large, samples",
		"large, samples", "samples",
		"large, samples", "samples",
	};
	const char *how = json_string_value(json_object_get(r->methods, part));

	for (size_t i = 0; how && i < ARRAY_LEN(methods); i++)
		if (strcmp(how, methods[i]) == 0)
			return true;
	return false;
}

bool report_visited_exact(const struct report *r)
{
	const struct profile *p = r->profile;

	for (size_t i = 0; i < p->nr_targets; i++)
		if (p->targets[i] && p->targets[i]->waiters.mismatches)
			return false;
	return p->closes.visited_unknown == 0;
}

struct copy_name report_copy_name(const struct report *r, uint64_t function, uint8_t flags)
{
	const char *name = profile_function(r->profile, function);
	struct copy_name out;

	if (!name || !*name)
		snprintf(out.text, sizeof(out.text), "%s", flags & COPY_BUFFER ? "IO::Buffer" : "Ruby code");
	else
		snprintf(out.text, sizeof(out.text), "%s%s", flags & COPY_BUFFER ? "IO::Buffer#" : "",
			 clean(name).text);
	return out;
}

struct share report_copy_share(const struct report *r, uint64_t ticks)
{
	uint64_t all = r->profile->copies.ticks;

	return share_of(ticks < all ? ticks : all, all);
}

static uint64_t less(uint64_t ns, double by)
{
	return by < ns ? ns - by : 0;
}

/* One trap is counted with each scan, about two between it and close(2). */
uint64_t report_close_parts(const struct report *r, uint64_t ns[CLOSE_PARTS])
{
	const struct closes *c = &r->profile->closes;
	double trap_ns = json_number_value(json_object_get(r->cost, "uprobe_ns"));
	uint64_t sum = 0;

	ns[CLOSE_SCAN] = less(c->scan.sum, trap_ns * c->scan.count);
	ns[CLOSE_WAIT] = c->wait.sum;
	ns[CLOSE_SYSCALL] = c->call.sum;
	ns[CLOSE_OTHER] = less(c->other_ns, 2 * trap_ns * c->total.count);
	for (enum close_part i = 0; i < CLOSE_PARTS; i++)
		sum += ns[i];
	return sum;
}

enum close_part report_close_largest(const uint64_t ns[CLOSE_PARTS])
{
	enum close_part most = 0;

	for (enum close_part i = 1; i < CLOSE_PARTS; i++)
		if (ns[i] > ns[most])
			most = i;
	return most;
}

int report_init(struct report *r, const struct report_source *src, struct err *e)
{
	json_t *capture;
	int err;

	*r = (struct report){ .profile = src->profile, .is_complete = src->is_complete, .by = src->by };
	err = parse(&r->facts, src->facts ? src->facts : "{}", "facts", e);
	if (!err && src->totals)
		err = parse(&r->totals, src->totals, "totals", e);
	if (err)
		return err;
	capture = member(r->facts, "capture", JSON_OBJECT);
	r->tool = member(r->facts, "tool", JSON_OBJECT);
	r->host = member(r->facts, "host", JSON_OBJECT);
	r->target = latest(r, "target", JSON_ARRAY);
	r->methods = member(r->totals, "methods", JSON_OBJECT);
	if (!r->methods)
		r->methods = member(capture, "methods", JSON_OBJECT);
	r->has_close = is_measured(r, "close");
	r->has_block = is_measured(r, "block");
	r->has_copy = is_measured(r, "copy") || src->profile->copies.ticks;
	r->cost = member(r->totals, "cost", JSON_OBJECT);
	r->start = json_string_value(member(capture, "start", JSON_STRING));
	r->stop = json_string_value(member(r->totals, "stop", JSON_STRING));
	if (make_locks(r) || make_lost(r))
		return err_nomem(e);
	make_duration(r);
	make_seen_share(r);
	return 0;
}

void report_release(struct report *r)
{
	for (size_t i = 0; i < r->nr_locks; i++)
		free(r->locks[i].threads);
	free(r->locks);
	json_decref(r->lost);
	json_decref(r->facts);
	json_decref(r->totals);
}
