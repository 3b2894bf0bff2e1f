// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/names.h"

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
static uint32_t find_tid(const struct tracee *te, uint64_t thread)
{
	uint32_t tid = ruby_thread_tid(&te->ruby, thread);

	return tid && proc_task_state(&te->ruby.proc, tid) != 'X' ? tid : 0;
}

static void tell(struct tracee *te, uint64_t thread, uint32_t tid, uint64_t ts_ns)
{
	struct names *n = &te->names;
	struct event ev = {
		.kind = EVENT_NAME, .ts_ns = ts_ns, .target = te->id, .thread = thread, .tid = tid,
	};
	uint64_t *old_tid = map_get(&n->tid_of, thread), *old = map_get(&n->hash_of, thread);
	uint64_t h;

	if (!ruby_thread_name(&te->ruby, thread, ev.text, sizeof(ev.text)) && tid)
		proc_task_comm(&te->ruby.proc, tid, ev.text);
	h = hash(ev.text);
	if (old && old_tid && *old == h && *old_tid == tid)
		return;
	map_put(&n->tid_of, thread, tid);
	map_put(&n->hash_of, thread, h);
	if (tid)
		map_put(&n->thread_of, tid, thread);
	ev.text_len = strlen(ev.text);
	te->sink.event(te->sink.arg, &ev);
}

void names_need(struct tracee *te, uint64_t thread, uint32_t tid, uint64_t ts_ns)
{
	if (!thread || map_get(&te->names.tid_of, thread))
		return;
	/* an M:N thread is on one task now and on another later: it goes by its address */
	if (ruby_is_mn_thread(&te->ruby, thread))
		tid = 0;
	else if (!tid)
		tid = find_tid(te, thread);
	tell(te, thread, tid, ts_ns);
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

	/* telling changes values only: the keys are all there already */
	for (size_t i = 0; i < m->nr_slots; i++) {
		uint64_t thread = m->slots[i].key;
		uint32_t tid = m->slots[i].value;

		if (!thread)
			continue;
		if (!tid && !ruby_is_mn_thread(&te->ruby, thread))
			tid = find_tid(te, thread);
		tell(te, thread, tid, clock_now_ns());
	}
}
