// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/names.h"

#include <string.h>

void names_init(struct names *n)
{
	map_init(&n->tid_of);
	map_init(&n->thread_of);
}

void names_release(struct names *n)
{
	map_release(&n->tid_of);
	map_release(&n->thread_of);
}

void names_need(struct names *n, struct tracee *te, uint64_t thread, uint64_t ts_ns)
{
	struct event ev = {
		.kind = EVENT_NAME, .ts_ns = ts_ns, .target = te->id, .thread = thread,
	};

	if (!thread || map_get(&n->tid_of, thread))
		return;
	ev.tid = ruby_thread_tid(&te->ruby, thread);
	map_put(&n->tid_of, thread, ev.tid);
	if (ev.tid)
		map_put(&n->thread_of, ev.tid, thread);
	if (!ruby_thread_name(&te->ruby, thread, ev.text, sizeof(ev.text)) && ev.tid)
		proc_task_comm(&te->ruby.proc, ev.tid, ev.text);
	ev.text_len = strlen(ev.text);
	te->sink.event(te->sink.arg, &ev);
}

void names_exit(struct names *n, uint32_t tid)
{
	uint64_t *thread = tid ? map_get(&n->thread_of, tid) : NULL;

	if (!thread)
		return;
	map_remove(&n->tid_of, *thread);
	map_remove(&n->thread_of, tid);
}
