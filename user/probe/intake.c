// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/intake.h"

#include <string.h>

#include "probe/names.h"
#include "probe/tracee.h"
#include "target/frame.h"

static void pass_on(const struct tracee *te, const struct event *ev)
{
	te->sink.event(te->sink.arg, ev);
}

static bool is_late(const struct tracee *te, const struct event *ev)
{
	return te->end_ns && ev->ts_ns > te->end_ns;
}

/* Owner changes and queue entries are numbered; what was read from memory already has some of them. */
static void take_change(struct tracee *te, struct tracee_lock *l, const struct event *ev)
{
	uint32_t self = te->is_self_owner && ev->kind == EVENT_OWNER ? ev->tid : 0;
	int32_t step = ev->seq - l->seq;

	if (is_late(te, ev)) {
		l->late++;
		return;
	}
	if (step <= 0)
		return;
	if (step > 1 && te->extras.measures & MEASURE_CLOSE)
		tracer_want_waiters(te->tracer, te->id);	/* who is on the list is not known any more */
	names_need(te, ev->thread, self, ev->ts_ns);
	l->seq = ev->seq;
	l->open = true;
	l->last_ts_ns = ev->ts_ns;
	te->stored++;
	pass_on(te, ev);
}

/*
 * What IO::Buffer gave to a scheduler is copied by whoever calls it, no method of IO::Buffer: the frame's may
 * be Fiber::Scheduler::BlockingOperation#call (scheduler.c, blocking_operation_call(), 4.0). 0 is for unknown.
 */
static uint64_t copying_method(const struct tracee *te, uint64_t function, uint8_t flags)
{
	bool is_foreign = flags & COPY_BUFFER &&
			  !copying_is_buffer_method(&te->extras.copying, function - te->ruby.object.bias);

	return is_foreign ? 0 : function;
}

static void take_lock_event(struct tracee *te, struct event *ev)
{
	struct tracee_lock *l = tracee_lock(te, ev->lock);

	if (!l || l->needs_state || l->dead)
		return;
	if (ev->kind == EVENT_OWNER || ev->kind == EVENT_QUEUE)
		take_change(te, l, ev);
	else if (l->open && !is_late(te, ev)) {
		if (ev->kind == EVENT_COPY)
			ev->thread = copying_method(te, ev->thread, ev->flags);
		if (ev->kind == EVENT_FUNCTION || ev->kind == EVENT_COPY)
			symbols_need(te, ev->thread, ev->ts_ns);
		pass_on(te, ev);
	}
}

static void set_text(struct event *ev, const char *text)
{
	ev->text_len = strnlen(text, EVENT_TEXT_MAX);
	memcpy(ev->text, text, ev->text_len);
	ev->text[ev->text_len] = '\0';
}

static void set_place(struct event *ev, const struct tracee *te, uint64_t iseq, uint64_t pc)
{
	struct frame f = { .iseq = iseq, .pc = pc };
	char line[EVENT_TEXT_MAX + 1] = "";

	if (iseq)
		frame_line(&te->ruby.proc, &te->ruby.layout, &f, line, sizeof(line));
	set_text(ev, line[0] ? line : "?");
}

/* The code stays where it is while its method exists, so it can be looked up now. */
static void take_foreign(struct tracee *te, const struct rec_foreign *r, struct event *ev)
{
	struct event closer = *ev;

	closer.kind = EVENT_CLOSER;
	closer.thread = 0;
	set_place(&closer, te, r->closer_iseq, r->closer_pc);
	pass_on(te, &closer);
	set_place(ev, te, r->waiter_iseq, r->waiter_pc);
	pass_on(te, ev);
}

void intake_record(struct tracee *te, const struct rec *r, size_t size)
{
	struct event ev = {
		.ts_ns = r->ts_ns, .thread = r->thread, .seq = r->seq, .tid = r->tid,
		.target = r->target, .lock = r->lock, .kind = r->kind, .flags = r->flags,
		.dur_ns = r->dur_ns, .fd = r->fd, .count = r->count, .nr = r->nr,
	};

	switch (r->kind) {
	case EVENT_EXIT:
		if (size < sizeof(struct rec_exit))
			return;
		memcpy(ev.text, ((const struct rec_exit *)r)->comm, COMM_LEN);
		ev.text_len = strnlen(ev.text, COMM_LEN);
		names_exit(te, ev.tid);
		pass_on(te, &ev);
		return;
	case EVENT_FORK:
	case EVENT_EXEC:
		pass_on(te, &ev);
		return;
	case EVENT_FOREIGN:
		if (size >= sizeof(struct rec_foreign) && !is_late(te, &ev))
			take_foreign(te, (const struct rec_foreign *)r, &ev);
		return;
	default:
		take_lock_event(te, &ev);
	}
}

struct tallying {
	struct tracee *te;
	uint64_t ts_ns;
};

static void take_tally(void *arg, const struct tally_key *key, const struct tally *tally)
{
	struct tallying *t = arg;
	uint64_t function = copying_method(t->te, key->function, key->flags);
	struct event ev = {
		.kind = EVENT_TALLY, .ts_ns = t->ts_ns, .target = t->te->id, .thread = function,
		.flags = key->flags, .dur_ns = tally->bytes, .fd = key->kind, .nr = key->slot,
		.count = tally->count < UINT32_MAX ? tally->count : UINT32_MAX,
	};

	symbols_need(t->te, function, t->ts_ns);
	pass_on(t->te, &ev);
}

void intake_tallies(struct tracee *te, uint64_t ts_ns)
{
	struct tallying t = { te, ts_ns };

	tracer_tallies(te->tracer, te->id, take_tally, &t);
}
