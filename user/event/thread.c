// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "event/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct task {
	uint64_t thread;	/* address of the one it runs, or 0 */
	char *name;		/* or NULL */
};

static void thread_free(struct thread *t)
{
	free(t->name);
	free(t);
}

void threads_free(struct thread *first)
{
	while (first) {
		struct thread *t = first;

		first = t->next_of_lock;
		thread_free(t);
	}
}

static struct thread *known_at(const struct threads *ts, uint64_t addr)
{
	uint64_t *at = addr ? map_get(&ts->by_addr, addr) : NULL;

	return at ? (struct thread *)*at : NULL;
}

static struct task *task_of(const struct threads *ts, uint32_t tid)
{
	uint64_t *at = tid ? map_get(&ts->by_tid, tid) : NULL;

	return at ? (struct task *)*at : NULL;
}

/* Those without a lock come first: threads_get() and fresh() see to it. */
static void free_unlocked(struct thread *first)
{
	while (first && first->lock == THREAD_NO_LOCK) {
		struct thread *t = first;

		first = t->next_known;
		thread_free(t);
	}
}

void threads_release(struct threads *ts)
{
	for (size_t i = 0; i < ts->by_addr.nr_slots; i++)
		if (ts->by_addr.slots[i].key)
			free_unlocked((struct thread *)ts->by_addr.slots[i].value);
	for (size_t i = 0; i < ts->by_tid.nr_slots; i++) {
		struct task *task = (struct task *)ts->by_tid.slots[i].value;

		if (!ts->by_tid.slots[i].key)
			continue;
		free(task->name);
		free(task);
	}
	map_release(&ts->by_addr);
	map_release(&ts->by_tid);
}

/* 0 or -ENOMEM, which leaves *at as it was. */
static int rename_to(char **at, const char *name)
{
	char *copy;

	if (!name || !*name || (*at && strcmp(*at, name) == 0))
		return 0;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	free(*at);
	*at = copy;
	return 0;
}

/* The list from @first on without those that have ended and are not in the middle of something. */
static struct thread *without_idle(struct thread *first)
{
	struct thread **at = &first;

	while (*at) {
		struct thread *t = *at;

		if (!t->is_ended || t->is_queued || t->is_owner) {
			at = &t->next_known;
			continue;
		}
		*at = t->next_known;
		t->next_known = NULL;
		if (t->lock == THREAD_NO_LOCK)
			thread_free(t);
	}
	return first;
}

/* A thread with neither lock nor task, in front of the others known at @addr; or NULL. */
static struct thread *fresh(struct threads *ts, uint64_t addr)
{
	struct thread *first = without_idle(known_at(ts, addr));
	struct thread *t = calloc(1, sizeof(*t));

	if (!t || map_put(&ts->by_addr, addr, (uint64_t)t)) {
		/* the map may still name one that was left out: it must not be found again */
		map_remove(&ts->by_addr, addr);
		free(t);
		return NULL;
	}
	t->addr = addr;
	t->lock = THREAD_NO_LOCK;
	t->next_known = first;
	return t;
}

struct thread *threads_get(struct threads *ts, uint32_t lock, uint64_t addr,
			   struct thread **of_lock)
{
	struct thread *same = NULL, *t;

	for (t = known_at(ts, addr); t; t = t->next_known) {
		if (t->lock == lock && (!t->is_ended || t->is_queued || t->is_owner))
			return t;
		if (!t->is_ended && (!same || t->lock == THREAD_NO_LOCK))
			same = t;
	}
	if (same && same->lock == THREAD_NO_LOCK) {
		t = same;
	} else {
		t = fresh(ts, addr);
		if (!t)
			return NULL;
		t->lock = lock;		/* releasable from here on */
		if (same && rename_to(&t->name, same->name)) {
			t->next_of_lock = *of_lock;
			*of_lock = t;
			return NULL;
		}
		if (same) {
			t->tid = same->tid;
			t->is_tid_guessed = same->is_tid_guessed;
			t->is_named = same->is_named;
		}
	}
	t->lock = lock;
	t->next_of_lock = *of_lock;
	*of_lock = t;
	return t;
}

static struct task *task_get(struct threads *ts, uint32_t tid)
{
	struct task *task = task_of(ts, tid);

	if (task)
		return task;
	task = calloc(1, sizeof(*task));
	if (task && map_put(&ts->by_tid, tid, (uint64_t)task)) {
		free(task);
		return NULL;
	}
	return task;
}

static int tie(struct threads *ts, struct thread *t, uint32_t tid)
{
	struct task *task = task_get(ts, tid);

	if (!task)
		return -ENOMEM;
	task->thread = t->addr;
	for (; t; t = t->next_known) {
		if (t->is_ended)
			continue;
		t->tid = tid;
		t->is_tid_guessed = false;
		if (!t->is_named && rename_to(&t->name, task->name))
			return -ENOMEM;
	}
	return 0;
}

int threads_learn_tid(struct threads *ts, struct thread *t, uint32_t tid)
{
	int err;

	if (!tid || t->tid || t->is_ended || ts->is_tied)
		return 0;
	err = tie(ts, t, tid);
	t->is_tid_guessed = true;
	return err;
}

static int name_task(struct threads *ts, uint32_t tid, const char *name)
{
	struct task *task = task_get(ts, tid);

	if (!task || rename_to(&task->name, name))
		return -ENOMEM;
	for (struct thread *t = known_at(ts, task->thread); t; t = t->next_known) {
		if (t->is_ended || t->is_named || t->tid != tid)
			continue;
		if (rename_to(&t->name, name))
			return -ENOMEM;
	}
	return 0;
}

/* The one at @addr that task @tid runs; one that another task runs has ended. NULL: no memory. */
static struct thread *run_by(struct threads *ts, uint64_t addr, uint32_t tid)
{
	struct thread *alive = NULL;

	for (struct thread *t = known_at(ts, addr); t; t = t->next_known) {
		if (tid && t->tid && t->tid != tid && !t->is_tid_guessed)
			t->is_ended = true;
		if (!t->is_ended && !alive)
			alive = t;
	}
	return alive ? alive : fresh(ts, addr);
}

int threads_name(struct threads *ts, uint64_t addr, uint32_t tid, const char *name)
{
	struct thread *t;

	if (!addr)
		return tid ? name_task(ts, tid, name) : 0;
	t = run_by(ts, addr, tid);
	if (!t)
		return -ENOMEM;
	if (tid) {
		ts->is_tied = true;
		if (tie(ts, t, tid))
			return -ENOMEM;
	}
	for (; t; t = t->next_known) {
		if (t->is_ended)
			continue;
		if (!tid)
			t->tid = 0;
		t->is_named = t->is_named || *name;
		if (rename_to(&t->name, name))
			return -ENOMEM;
	}
	return 0;
}

int threads_exit(struct threads *ts, uint32_t tid, const char *comm, struct thread **out)
{
	struct task *task = task_of(ts, tid);

	*out = task ? known_at(ts, task->thread) : NULL;
	if (!task)
		return 0;
	for (struct thread *t = *out; t; t = t->next_known) {
		if (t->is_ended || t->tid != tid)
			continue;
		t->is_ended = true;
		if (!t->name && rename_to(&t->name, comm))
			return -ENOMEM;
	}
	map_remove(&ts->by_tid, tid);
	free(task->name);
	free(task);
	return 0;
}
