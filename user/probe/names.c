// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/names.h"

#include <stdlib.h>
#include <string.h>

#include "probe/tracee.h"
#include "util/clock.h"

void names_init(struct names *n)
{
	map_init(&n->tid_of);
	map_init(&n->hash_of);
	map_init(&n->thread_of);
}

void names_release(struct names *n)
{
	map_release(&n->tid_of);
	map_release(&n->hash_of);
	map_release(&n->thread_of);
	for (int i = 0; i < NAMES_LOOKS; i++)
		free(n->looks[i]);
}

/* FNV-1a; only tells whether a name has changed. */
static uint64_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 0x100000001b3ULL;
	return h;
}

/* Up to 3.1 a forked child keeps its parent's id in memory: only a live task is believed. */
uint32_t names_tid(const struct tracee *te, uint64_t thread)
{
	uint32_t tid = ruby_thread_tid(&te->ruby, thread);

	return tid && proc_task_state(&te->ruby.proc, tid) != 'X' ? tid : 0;
}

static void read_name(const struct tracee *te, uint64_t thread, uint32_t tid, char *out, size_t size)
{
	out[0] = '\0';
	if (ruby_thread_name(&te->ruby, thread, out, size))
		return;
	if (!tid && ruby_is_main_thread(&te->ruby, thread))
		tid = te->ruby.proc.pid_inside;
	if (tid)
		proc_task_comm(&te->ruby.proc, tid, out);
}

/* Sends what has changed. What cannot be read any more stays as it was told. */
static void tell(struct tracee *te, uint64_t thread, uint32_t tid, uint64_t ts_ns)
{
	struct names *n = &te->names;
	struct event ev = {
		.kind = EVENT_NAME, .ts_ns = ts_ns, .target = te->id, .thread = thread, .tid = tid,
	};
	uint64_t *old_tid = map_get(&n->tid_of, thread), *old_hash = map_get(&n->hash_of, thread);
	uint64_t name_hash;

	read_name(te, thread, tid, ev.text, sizeof(ev.text));
	name_hash = hash(ev.text);
	if (old_tid && old_hash &&
	    (!ev.text[0] || *old_hash == name_hash) && (!tid || *old_tid == tid))
		return;
	map_put(&n->tid_of, thread, tid);
	map_put(&n->hash_of, thread, name_hash);
	if (tid)
		map_put(&n->thread_of, tid, thread);
	ev.text_len = strlen(ev.text);
	te->sink.event(te->sink.arg, &ev);
}

static void look_later(struct names *n, int round, uint64_t thread, uint64_t now_ns)
{
	static const uint64_t after_ns[NAMES_LOOKS] = {
		20 * NS_PER_MS, 200 * NS_PER_MS, 2000 * NS_PER_MS,
	};
	struct names_look *looks;

	if (round >= NAMES_LOOKS)
		return;
	looks = realloc(n->looks[round], (n->nr_looks[round] + 1) * sizeof(*looks));
	if (!looks)
		return;
	looks[n->nr_looks[round]++] = (struct names_look){ thread, now_ns + after_ns[round] };
	n->looks[round] = looks;
}

void names_need(struct tracee *te, uint64_t thread, uint32_t tid, uint64_t ts_ns)
{
	uint64_t *known = map_get(&te->names.tid_of, thread);

	if (!thread || (known && (*known || !tid)))
		return;
	/* an M:N thread is on one task now and on another later: it goes by its address */
	if (ruby_is_mn_thread(&te->ruby, thread))
		tid = 0;
	else if (!tid)
		tid = names_tid(te, thread);
	tell(te, thread, tid, ts_ns);
	if (!known)
		look_later(&te->names, 0, thread, clock_now_ns());
}

static void look(struct tracee *te, uint64_t thread, uint64_t now_ns)
{
	uint64_t *known = map_get(&te->names.tid_of, thread);
	uint32_t tid = known ? *known : 0;

	if (!known)
		return;		/* ended since */
	if (!tid && !ruby_is_mn_thread(&te->ruby, thread))
		tid = names_tid(te, thread);
	tell(te, thread, tid, now_ns);
}

void names_tick(struct tracee *te, uint64_t now_ns)
{
	struct names *n = &te->names;

	for (int round = NAMES_LOOKS - 1; round >= 0; round--) {
		struct names_look *looks = n->looks[round];
		size_t due = 0;

		while (due < n->nr_looks[round] && looks[due].due_ns <= now_ns) {
			look(te, looks[due].thread, now_ns);
			look_later(n, round + 1, looks[due++].thread, now_ns);
		}
		if (!due)
			continue;
		n->nr_looks[round] -= due;
		memmove(looks, looks + due, n->nr_looks[round] * sizeof(*looks));
	}
}

void names_exit(struct tracee *te, uint32_t tid)
{
	struct names *n = &te->names;
	uint64_t *thread = tid ? map_get(&n->thread_of, tid) : NULL;

	if (!thread)
		return;
	map_remove(&n->tid_of, *thread);
	map_remove(&n->hash_of, *thread);
	map_remove(&n->thread_of, tid);
}

void names_refresh(struct tracee *te)
{
	struct map *m = &te->names.tid_of;
	uint64_t now = clock_now_ns();

	/* telling changes values only: the keys are all there already */
	for (size_t i = 0; i < m->nr_slots; i++)
		if (m->slots[i].key)
			look(te, m->slots[i].key, now);
}
