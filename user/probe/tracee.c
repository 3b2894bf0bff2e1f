// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/tracee.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/intake.h"
#include "probe/learn.h"
#include "probe/lockstate.h"
#include "util/clock.h"
#include "util/scope.h"

enum { RACTORS_MAX = 1024 };

#define CENSUS_NS (200 * NS_PER_MS)	/* between looks for Ractors that have ended */

const char *method_name(enum method m)
{
	return m == METHOD_SITES ? "sites" : "watch";
}

const char *tracee_method(const struct tracee *te)
{
	return te->was_probed || te->resume == SOURCE_SITES ? "sites" : "watch";
}

static struct target_cfg config(const struct tracee *te)
{
	const struct layout *l = &te->ruby.layout;
	struct target_cfg cfg = {
		.id = te->id,
		.source = te->source,
		.flags = (te->follow ? TARGET_FOLLOW : 0) |
			 (te->ruby.proc.is_nested ? TARGET_NESTED : 0) |
			 (te->is_self_owner ? TARGET_SELF_OWNER : 0),
		.generation = te->generation,
		.queue = l->ractor_queue - l->ractor_owner,
		.thread_queue_node = l->thread_queue_node,
		.thread_native = l->thread_native,
		.native_tid = l->native_tid,
		.thread_tid = l->thread_tid,
		.thread_ractor = l->thread_ractor,
		.ractor_owner = l->ractor_owner,
		.lock = te->nr_locks ? te->locks[0].id : 0,
		.lock_addr = te->nr_locks ? te->locks[0].owner_word : 0,
	};

	extras_configure(&te->extras, &te->ruby, &cfg);
	return cfg;
}

static int set_source(struct tracee *te, enum source source, struct err *e)
{
	struct target_cfg cfg;

	te->source = source;
	cfg = config(te);
	return tracer_target(te->tracer, te->pid, &cfg, e);
}

static struct tracee_lock *add_lock(struct tracee *te, const struct ruby_lock *rl, uint32_t id)
{
	struct tracee_lock *locks = realloc(te->locks, (te->nr_locks + 1) * sizeof(*locks));
	struct event ev = {
		.kind = EVENT_LOCK, .ts_ns = clock_now_ns(), .target = te->id, .lock = id,
		.thread = rl->owner_word, .seq = rl->ractor_id,
	};

	if (!locks)
		return NULL;
	te->locks = locks;
	locks[te->nr_locks] = (struct tracee_lock){
		.id = id, .ractor_id = rl->ractor_id, .owner_word = rl->owner_word,
	};
	te->sink.event(te->sink.arg, &ev);
	return &locks[te->nr_locks++];
}

struct tracee_lock *tracee_lock(struct tracee *te, uint32_t id)
{
	auto_free struct ruby_lock *found = NULL;
	struct ruby_lock born = { 0 };
	int n;

	for (uint32_t i = 0; i < te->nr_locks; i++)
		if (te->locks[i].id == id)
			return &te->locks[i];
	if (id >= tracer_nr_locks(te->tracer) || (pid_t)tracer_lock(te->tracer, id)->tgid != te->pid)
		return NULL;
	/* A program met a lock word that it did not know: which Ractor is it? */
	born.owner_word = tracer_lock(te->tracer, id)->addr;
	found = calloc(RACTORS_MAX, sizeof(*found));
	n = found ? ruby_locks(&te->ruby, found, RACTORS_MAX, NULL) : 0;
	for (int i = 0; i < n; i++)
		if (found[i].owner_word == born.owner_word)
			born = found[i];
	return add_lock(te, &born, id);
}

/* Enters the locks that are there now. 0 or -errno with @e set. */
static int find_locks(struct tracee *te, struct err *e)
{
	auto_free struct ruby_lock *found = calloc(RACTORS_MAX, sizeof(*found));
	int n;

	if (!found)
		return err_nomem(e);
	n = ruby_locks(&te->ruby, found, RACTORS_MAX, e);
	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		bool known = false;
		int id;

		for (uint32_t k = 0; k < te->nr_locks && !known; k++)
			known = !te->locks[k].dead &&
				te->locks[k].owner_word == found[i].owner_word;
		if (known)
			continue;
		id = tracer_add_lock(te->tracer, te->pid, te->id, found[i].owner_word, e);
		if (id < 0)
			return id;
		/* a program may have met it first: then tracee_lock() names it */
		if (!tracee_lock(te, id) && !add_lock(te, &found[i], id))
			return err_nomem(e);
	}
	return 0;
}

static int open_watches(struct tracee *te, struct err *e)
{
	int64_t queue_tail = te->ruby.layout.ractor_queue - te->ruby.layout.ractor_owner + 8;

	for (uint32_t i = 0; i < te->nr_locks; i++) {
		struct tracee_lock *l = &te->locks[i];
		int err;

		if (l->watched || l->dead)
			continue;
		err = tracer_watch(te->tracer, &l->watch[WORD_OWNER], l->owner_word, WORD_OWNER, e);
		if (!err) {
			err = tracer_watch(te->tracer, &l->watch[WORD_QUEUE],
					   l->owner_word + queue_tail, WORD_QUEUE, e);
			if (err)
				watch_close(&l->watch[WORD_OWNER]);
		}
		l->watched = !err;
		/* with the first lock watched, the others' writers are learned from it */
		if (err)
			return i ? 0 : err;
	}
	return 0;
}

static void close_watches(struct tracee *te)
{
	for (uint32_t i = 0; i < te->nr_locks; i++) {
		watch_close(&te->locks[i].watch[WORD_OWNER]);
		watch_close(&te->locks[i].watch[WORD_QUEUE]);
		te->locks[i].watched = false;
	}
}

/* Placing takes a while: what was told meanwhile may need its process alive to be understood. */
static int place(struct tracee *te, struct uprobes *u, enum site_state state, uint32_t generation,
		 struct err *e)
{
	int err = tracer_probe_sites(te->tracer, u, te->pid, te->ruby.object.open_path, te->sites,
				     te->nr_sites, state, generation, e);

	if (te->source != SOURCE_NONE)
		tracer_drain(te->tracer);
	return err;
}

/*
 * Probes what is not disproven. An older set stays until the new one has taken over at one moment:
 * no event is missed, and one that both see is told once (lock_state.same) or ignored by readers.
 */
static int probe_sites(struct tracee *te, struct err *e)
{
	struct uprobes proven = UPROBES_NONE, candidates = UPROBES_NONE;
	uint32_t next = (te->generation + 1) % SITE_GENERATIONS;
	int err = place(te, &proven, SITE_PROVEN, next, e);

	if (!err)
		err = place(te, &candidates, SITE_CANDIDATE, next, e);
	if (err) {
		uprobes_detach(&proven);
		return err;
	}
	te->generation = next;
	te->was_probed = true;
	te->is_regrouped = false;
	err = set_source(te, te->source, e);
	uprobes_detach(&te->proven);
	uprobes_detach(&te->candidates);
	te->proven = proven;
	te->candidates = candidates;
	for (uint32_t i = 0; i < te->nr_locks; i++)
		te->locks[i].same = tracer_lock(te->tracer, te->locks[i].id)->same;
	return err;
}

/* For a new window: the candidates are still placed, if nothing was learned since. */
static int resume_sites(struct tracee *te, struct err *e)
{
	if (!te->was_probed || te->is_regrouped)
		return probe_sites(te, e);
	return place(te, &te->proven, SITE_PROVEN, te->generation, e);
}

/* Sites where there are any and uprobes can be placed, else watchpoints. */
static int start_probes(struct tracee *te, uint64_t now_ns, struct err *e)
{
	int err = te->resume == SOURCE_SITES ? resume_sites(te, e) : -ENOENT, watch;

	if (!err) {
		te->next_check_ns = now_ns;
		return 0;
	}
	watch = open_watches(te, te->resume == SOURCE_SITES ? NULL : e);
	if (!watch) {
		te->resume = SOURCE_WATCH;
		te->watch_since_ns = now_ns;
		return 0;
	}
	if (te->resume == SOURCE_SITES)
		return err;
	if (te->method == METHOD_SITES)
		return err_set(e, REASON_NO_SITES, watch,
			       "process %d: no instruction was found that may write the lock's owner, and "
			       "watchpoints do not work here", te->pid);
	return watch;
}

int tracee_start(struct tracee *te, struct err *e)
{
	uint64_t now = clock_now_ns();
	int err;

	te->is_self_owner = te->ruby.layout.ractor_queue_count < 0;
	err = find_locks(te, e);
	if (err)
		return err;
	extras_start(&te->extras, te->tracer, te->id, &te->ruby);
	for (uint32_t i = 0; i < te->nr_locks; i++) {
		/* whatever was known of it is out of date */
		tracer_lock(te->tracer, te->locks[i].id)->owner = OWNER_UNKNOWN;
		tracer_lock(te->tracer, te->locks[i].id)->owner_tid = 0;
		te->locks[i].open = false;
		te->locks[i].late = 0;
	}
	err = start_probes(te, now, e);
	if (!err)
		err = set_source(te, te->resume, e);
	if (err)
		return err;
	for (uint32_t i = 0; i < te->nr_locks; i++)
		if (!te->locks[i].dead &&
		    (te->resume == SOURCE_SITES || te->locks[i].watched))
			lockstate_begin(te, &te->locks[i]);
	te->end_ns = 0;
	te->seen_since_ns = clock_now_ns();
	return 0;
}

uint64_t tracee_pause(struct tracee *te)
{
	uint64_t end_ns = clock_now_ns();

	if (te->source != SOURCE_NONE)
		te->resume = te->source;
	set_source(te, SOURCE_NONE, NULL);
	close_watches(te);
	extras_stop(&te->extras);
	uprobes_detach(&te->proven);
	if (te->is_regrouped)		/* some of these are proven by now, and hit */
		uprobes_detach(&te->candidates);
	te->check_until_ns = 0;
	te->end_ns = end_ns;
	return end_ns;
}

void tracee_withdraw(struct tracee *te)
{
	uprobes_detach(&te->candidates);
	te->is_regrouped = true;	/* to be placed anew with the next window */
}

void tracee_close_window(struct tracee *te, uint64_t end_ns)
{
	if (!te->is_other)
		names_refresh(te);
	for (uint32_t i = 0; i < te->nr_locks; i++) {
		struct tracee_lock *l = &te->locks[i];

		lockstate_end(te, l, end_ns, tracer_lock(te->tracer, l->id)->seq - l->late);
	}
	if (te->extras.measures & MEASURE_COPY)
		intake_tallies(te, end_ns);
	if (te->seen_since_ns)
		te->seen_ns += end_ns - te->seen_since_ns;
	te->seen_since_ns = 0;
}

static const struct ruby_lock *find_ractor(const struct ruby_lock *list, int n,
					   const struct tracee_lock *l)
{
	for (int i = 0; i < n; i++)
		if (list[i].owner_word == l->owner_word &&
		    (!l->ractor_id || list[i].ractor_id == l->ractor_id))
			return &list[i];
	return NULL;
}

/* Lets go of the locks of Ractors that have ended, before others are made where they were. */
static void take_census(struct tracee *te, uint64_t now_ns)
{
	auto_free struct ruby_lock *list = NULL;
	int n;

	if (te->nr_locks < 2 || now_ns < te->next_census_ns)
		return;
	te->next_census_ns = now_ns + CENSUS_NS;
	list = calloc(RACTORS_MAX, sizeof(*list));
	n = list ? ruby_locks(&te->ruby, list, RACTORS_MAX, NULL) : 0;
	if (n < 1 || n == RACTORS_MAX)
		return;
	for (uint32_t i = 0; i < te->nr_locks; i++) {
		struct tracee_lock *l = &te->locks[i];

		/* the list changes while it is read: twice absent is gone */
		if (l->dead || (find_ractor(list, n, l) ? (l->absent = 0) : ++l->absent) < 2)
			continue;
		lockstate_end(te, l, l->last_ts_ns, l->seq);
		tracer_remove_lock(te->tracer, te->pid, l->owner_word);
		watch_close(&l->watch[WORD_OWNER]);
		watch_close(&l->watch[WORD_QUEUE]);
		l->watched = false;
		l->dead = true;
	}
}

static bool check_words(struct tracee *te, uint64_t now_ns)
{
	bool astray = false;

	for (uint32_t i = 0; i < te->nr_locks; i++) {
		struct tracee_lock *l = &te->locks[i];
		uint64_t same = tracer_lock(te->tracer, l->id)->same;

		if (l->dead)
			continue;
		if (l->needs_state)
			lockstate_begin(te, l);
		if (!l->open || (same == l->same && !lockstate_is_astray(te, l, now_ns)))
			continue;
		l->same = same;
		l->astray_since_ns = 0;
		lockstate_begin_anew(te, l);
		astray = true;
	}
	return astray;
}

/* A writer was missed: watch, if that is to be had, until it is known. */
static void watch_again(struct tracee *te, uint64_t now_ns)
{
	if (open_watches(te, NULL))
		return;
	set_source(te, SOURCE_WATCH, NULL);
	te->watch_since_ns = now_ns;
	te->hits_at_news = te->writer_hits;
	te->check_until_ns = 0;
	te->check_period_ns = LEARN_CHECK_PERIOD_NS;
}

static void tick_watching(struct tracee *te, uint64_t now_ns)
{
	learn_writers(te);
	if (te->method != METHOD_SITES || !learn_is_settled(te, now_ns) || !learn_has_sites(te) ||
	    probe_sites(te, NULL))
		return;
	set_source(te, SOURCE_SITES, NULL);
	te->check_until_ns = now_ns + LEARN_CHECK_NS;
}

/* Probing: now and then a short watch looks for writers that are not probed yet. */
static void tick_probing(struct tracee *te, uint64_t now_ns)
{
	if (learn_prove(te))
		probe_sites(te, NULL);
	if (te->check_until_ns) {
		if (learn_writers(te)) {
			te->unseen_writer++;
			watch_again(te, now_ns);
			return;
		}
		if (now_ns < te->check_until_ns)
			return;
		close_watches(te);
		te->check_until_ns = 0;
		te->next_check_ns = now_ns + te->check_period_ns;
		if (te->check_period_ns < LEARN_CHECK_PERIOD_MAX_NS)
			te->check_period_ns *= 2;
		return;
	}
	if (now_ns < te->next_check_ns)
		return;
	te->check_until_ns = open_watches(te, NULL) ? 0 : now_ns + LEARN_CHECK_NS;
	te->next_check_ns = now_ns + te->check_period_ns;
}

void tracee_tick(struct tracee *te, uint64_t now_ns)
{
	if (te->source == SOURCE_NONE || te->gone)
		return;
	names_tick(te, now_ns);
	take_census(te, now_ns);
	if (check_words(te, now_ns) && te->source == SOURCE_SITES) {
		if (!learn_again(te) || probe_sites(te, NULL))
			watch_again(te, now_ns);
		return;
	}
	if (te->source == SOURCE_SITES) {
		tick_probing(te, now_ns);
		return;
	}
	if (find_locks(te, NULL) == 0)
		open_watches(te, NULL);
	tick_watching(te, now_ns);
}

static int inherit(struct tracee *te, const struct tracee *parent, struct err *e)
{
	int err;

	te->ruby = parent->ruby;
	te->ruby.has_object = false;	/* the parent's to release; the file is the same */
	te->ruby.proc.pidfd = -1;
	err = proc_init(&te->ruby.proc, te->pid, e);
	if (err)
		return err;
	memcpy(te->sites, parent->sites, sizeof(te->sites));
	te->nr_sites = parent->nr_sites;
	te->generation = parent->generation;
	te->method = parent->method;
	extras_inherit(&te->extras, &parent->extras);
	te->follow = parent->follow;
	te->resume = parent->source != SOURCE_NONE ? parent->source : parent->resume;
	return 0;
}

void tracee_init(struct tracee *te, struct tracer *t, uint16_t id, pid_t pid, enum method method)
{
	*te = (struct tracee){
		.tracer = t, .id = id, .pid = pid, .method = method,
		.resume = SOURCE_WATCH, .proven = UPROBES_NONE, .candidates = UPROBES_NONE,
		.check_period_ns = LEARN_CHECK_PERIOD_NS,
		.ruby = { .proc = { .pidfd = -1 } },
	};
}

int tracee_open(struct tracee *te, struct tracer *t, uint16_t id, pid_t pid,
		enum method method, const struct ruby_options *opt, const struct tracee *parent,
		struct err *e)
{
	int err;

	tracee_init(te, t, id, pid, method);
	if (parent)
		return inherit(te, parent, e);
	err = ruby_open(&te->ruby, pid, opt, e);
	if (err || method == METHOD_WATCH)
		return err;
	learn_begin(te);
	if (learn_has_sites(te))
		te->resume = SOURCE_SITES;
	return 0;
}

void tracee_forget(struct tracee *te)
{
	if (!te->tracer || te->gone)
		return;
	if (te->source != SOURCE_NONE)
		tracee_pause(te);
	uprobes_detach(&te->candidates);
	learn_save(te);
	for (uint32_t i = 0; i < te->nr_locks; i++)
		if (!te->locks[i].dead)
			tracer_remove_lock(te->tracer, te->pid, te->locks[i].owner_word);
	tracer_remove_target(te->tracer, te->pid);
	te->gone = true;
}

void tracee_free(struct tracee *te)
{
	tracee_forget(te);
	ruby_release(&te->ruby);
	names_release(&te->names);
	symbols_release(&te->symbols);
	extras_release(&te->extras);
	free(te->locks);
	te->locks = NULL;
	te->nr_locks = 0;
}
