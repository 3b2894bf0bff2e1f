// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/lockstate.h"

#include <stdlib.h>

#include "probe/names.h"
#include "util/clock.h"
#include "util/scope.h"

enum { READ_TRIES = 2000 };	/* a lock that changes while it is read is read again */

#define ASTRAY_NS (200 * NS_PER_MS)

static void emit_state(struct tracee *te, struct tracee_lock *l, const struct lock_reading *now)
{
	struct event ev = {
		.kind = EVENT_STATE, .ts_ns = clock_now_ns(), .target = te->id, .lock = l->id,
		.thread = now->owner, .seq = l->seq,
	};

	names_need(te, now->owner, 0, ev.ts_ns);
	for (uint32_t i = 0; i < now->nr_queued; i++)
		names_need(te, now->queued[i], 0, ev.ts_ns);
	if (now->owner)
		ev.tid = names_tid(te, now->owner);
	if (ev.tid) {
		bool on_cpu = proc_task_state(&te->ruby.proc, ev.tid) == 'R';

		tracer_owner_task(te->tracer, te->pid, ev.tid, l->id, on_cpu);
		ev.flags = on_cpu ? 0 : EVENT_OWNER_OFF_CPU;
	}
	te->sink.event(te->sink.arg, &ev);
	ev.kind = EVENT_STATE_QUEUED;
	ev.flags = ev.tid = 0;
	for (uint32_t i = 0; i < now->nr_queued; i++) {
		ev.thread = now->queued[i];
		te->sink.event(te->sink.arg, &ev);
	}
	l->last_ts_ns = ev.ts_ns;
	l->open = true;
}

void lockstate_begin(struct tracee *te, struct tracee_lock *l)
{
	volatile struct lock_state *state = tracer_lock(te->tracer, l->id);
	auto_free uint64_t *queued = malloc(LOCK_QUEUE_MAX * sizeof(*queued));
	struct lock_reading now = { .queued = queued };

	for (int i = 0; queued && i < READ_TRIES; i++) {
		uint32_t seq = __atomic_load_n(&state->seq, __ATOMIC_ACQUIRE);
		uint64_t unknown = OWNER_UNKNOWN;

		if (ruby_read_lock(&te->ruby, l->owner_word, &now) || now.truncated)
			continue;
		state->from_memory = 1;
		if (!__atomic_compare_exchange_n((uint64_t *)&state->owner, &unknown, now.owner, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
		    unknown != now.owner)
			continue;	/* an event is ahead of the word: its store comes next */
		if (__atomic_load_n(&state->seq, __ATOMIC_ACQUIRE) != seq)
			continue;
		l->seq = l->begin_seq = seq;
		l->same = state->same;
		l->needs_state = false;
		emit_state(te, l, &now);
		return;
	}
	l->needs_state = true;
}

void lockstate_end(struct tracee *te, struct tracee_lock *l, uint64_t ts_ns, uint32_t seq)
{
	struct event ev = {
		.kind = EVENT_STATE_END, .ts_ns = ts_ns, .target = te->id, .lock = l->id, .seq = seq,
	};

	if (l->open) {
		te->due += seq - l->begin_seq;
		te->sink.event(te->sink.arg, &ev);
	}
	l->open = l->needs_state = false;
}

void lockstate_begin_anew(struct tracee *te, struct tracee_lock *l)
{
	te->unseen_writer++;
	tracer_drain(te->tracer);
	lockstate_end(te, l, l->last_ts_ns, l->seq);
	tracer_lock(te->tracer, l->id)->owner = OWNER_UNKNOWN;
	lockstate_begin(te, l);
}

bool lockstate_is_astray(struct tracee *te, struct tracee_lock *l, uint64_t now_ns)
{
	volatile struct lock_state *state = tracer_lock(te->tracer, l->id);
	uint32_t seq = __atomic_load_n(&state->seq, __ATOMIC_ACQUIRE);
	bool again = l->astray_since_ns && l->astray_seq == seq;
	uint64_t owner;

	if (state->owner == OWNER_UNKNOWN || proc_read_u64(&te->ruby.proc, l->owner_word, &owner)) {
		l->astray_since_ns = 0;
		return false;
	}
	/* written once more, and still no event: the first write's probe must have run before that */
	if (again && owner != l->astray_owner)
		return true;
	if (again)
		return now_ns - l->astray_since_ns >= ASTRAY_NS;
	l->astray_since_ns = owner == state->owner ? 0 : now_ns;
	l->astray_seq = seq;
	l->astray_owner = owner;
	return false;
}
