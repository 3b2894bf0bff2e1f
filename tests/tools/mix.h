/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A made-up process under a lock: an endless sequence of events that could have been recorded.
 * Threads block, come back, queue and get the lock in turn; times are exponential, the seed fixed.
 */
#ifndef TESTS_TOOLS_MIX_H
#define TESTS_TOOLS_MIX_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"

#define MIX_THREADS_MAX 16384
#define MIX_PENDING 8

enum mix_style {
	MIX_HANDOFF,	/* 3.3+: the owner names the next one, who then gets a CPU */
	MIX_RELEASE,	/* until 3.2: the owner writes 0, a thread that is awake takes the lock */
};

struct mix {
	enum mix_style style;
	uint32_t nr_threads;
	double hold_ns;		/* mean */
	uint64_t random;
	uint64_t start_ns, now_ns;
	uint64_t owner_changes;
	uint32_t closes_every;	/* holds: one has a close in it, of an IO nobody waits in; 0: none has */
	uint32_t seq;
	uint32_t introduced;	/* threads named so far; then the lock and its state */
	int owner;		/* -1: nobody */
	uint32_t queue[MIX_THREADS_MAX];
	uint32_t queue_head, queue_len;
	uint8_t is_queued[MIX_THREADS_MAX];
	struct event pending[MIX_PENDING];
	uint32_t pending_head, pending_len;
};

static inline uint64_t mix_random(struct mix *m)
{
	m->random ^= m->random >> 12;
	m->random ^= m->random << 25;
	m->random ^= m->random >> 27;
	return m->random * 0x2545f4914f6cdd1dULL;
}

static inline double mix_unit(struct mix *m)
{
	return ((mix_random(m) >> 11) + 1) * (1.0 / (1ULL << 53));
}

static inline void mix_pass(struct mix *m, double mean_ns)
{
	m->now_ns += 200 + (uint64_t)(-log(mix_unit(m)) * mean_ns);
}

static inline uint64_t mix_thread(uint32_t i)
{
	return 0x55d0c0de0000ULL + i * 0x5c0ULL + (i % 7) * 0x10;
}

static inline uint32_t mix_tid(int i)
{
	return 41000 + i;
}

static inline struct event *mix_add(struct mix *m, enum event_kind kind)
{
	struct event *ev = &m->pending[(m->pending_head + m->pending_len++) % MIX_PENDING];

	memset(ev, 0, sizeof(*ev));
	ev->kind = kind;
	ev->ts_ns = m->now_ns;
	return ev;
}

static inline void mix_init(struct mix *m, enum mix_style style, uint32_t nr_threads)
{
	memset(m, 0, sizeof(*m));
	m->style = style;
	m->nr_threads = nr_threads < MIX_THREADS_MAX ? nr_threads : MIX_THREADS_MAX;
	m->hold_ns = 8000;
	m->random = 0x6776e73636f7065ULL;
	m->start_ns = m->now_ns = 123456789012345ULL;
	m->owner = -1;
}

static inline void mix_introduce(struct mix *m)
{
	struct event *ev;

	if (m->introduced++ == 0) {
		ev = mix_add(m, EVENT_LOCK);
		ev->thread = 0x55d0c0ffee10ULL;
		ev->seq = 1;
		ev = mix_add(m, EVENT_STATE);
		return;
	}
	ev = mix_add(m, EVENT_NAME);
	ev->tid = mix_tid(m->introduced - 2);
	ev->thread = mix_thread(m->introduced - 2);
	ev->text_len = snprintf(ev->text, sizeof(ev->text), "worker-%u", m->introduced - 2);
}

static inline void mix_own(struct mix *m, int next, uint32_t writer)
{
	struct event *ev = mix_add(m, EVENT_OWNER);

	ev->thread = next < 0 ? 0 : mix_thread(next);
	ev->tid = mix_tid(writer);
	ev->seq = ++m->seq;
	ev->flags = m->queue_len ? 0 : EVENT_QUEUE_EMPTY;
	if (next >= 0 && (uint32_t)next != writer)
		ev->flags |= EVENT_OWNER_OFF_CPU;
	m->owner = next;
	m->owner_changes++;
}

/* Some thread that blocked comes back while the lock is taken. */
static inline void mix_queue(struct mix *m)
{
	uint32_t i = mix_random(m) % m->nr_threads;
	struct event *ev;

	if ((int)i == m->owner || m->is_queued[i])
		return;
	ev = mix_add(m, EVENT_QUEUE);
	ev->thread = mix_thread(i);
	ev->tid = mix_tid(i);
	ev->seq = ++m->seq;
	m->is_queued[i] = 1;
	m->queue[(m->queue_head + m->queue_len++) % MIX_THREADS_MAX] = i;
}

static inline int mix_dequeue(struct mix *m)
{
	uint32_t i;

	if (!m->queue_len)
		return -1;
	i = m->queue[m->queue_head];
	m->queue_head = (m->queue_head + 1) % MIX_THREADS_MAX;
	m->queue_len--;
	m->is_queued[i] = 0;
	return (int)i;
}

static inline void mix_cpu(struct mix *m, enum event_kind kind, uint8_t flags)
{
	struct event *ev = mix_add(m, kind);

	ev->thread = mix_thread(m->owner);
	ev->tid = mix_tid(m->owner);
	ev->flags = flags;
}

/* IO#close by the owner, who scans a hundred waiters and finds none. */
static inline void mix_close(struct mix *m)
{
	struct event *ev = mix_add(m, EVENT_SCAN);

	ev->tid = mix_tid(m->owner);
	ev->fd = 9;
	ev->count = 100;
	ev->dur_ns = 1500;
	ev->flags = SCAN_WALKED | SCAN_SHARED;
	mix_pass(m, 1000);
	ev = mix_add(m, EVENT_CLOSE);
	ev->tid = mix_tid(m->owner);
	ev->fd = 9;
	ev->dur_ns = 150;
	ev->flags = CLOSE_HELD;
}

/* One hold, from the moment the lock has an owner. */
static inline void mix_hold(struct mix *m)
{
	uint32_t writer = m->owner;
	int next;

	mix_pass(m, m->hold_ns / 2);
	if (m->closes_every && m->owner_changes % m->closes_every == 0)
		mix_close(m);
	if (mix_random(m) % 64 == 0) {		/* the kernel takes its CPU away */
		mix_cpu(m, EVENT_OFF_CPU, EVENT_PREEMPTED);
		mix_pass(m, 200000);
		mix_cpu(m, EVENT_ON_CPU, 0);
	} else if (m->queue_len < 3) {
		mix_queue(m);
	}
	mix_pass(m, m->hold_ns / 2);

	if (m->style == MIX_RELEASE) {
		mix_own(m, -1, writer);
		return;
	}
	next = mix_dequeue(m);
	mix_own(m, next, writer);
	if (next < 0)
		return;
	mix_pass(m, 4000);
	mix_cpu(m, EVENT_ON_CPU, 0);
}

static inline void mix_take(struct mix *m)
{
	int next = mix_dequeue(m);

	mix_pass(m, 3000);
	if (next < 0)
		next = mix_random(m) % m->nr_threads;
	mix_own(m, next, next);
}

static inline void mix_next(struct mix *m, struct event *ev)
{
	while (!m->pending_len) {
		if (m->introduced <= m->nr_threads)
			mix_introduce(m);
		else if (m->owner < 0)
			mix_take(m);
		else
			mix_hold(m);
	}
	*ev = m->pending[m->pending_head];
	m->pending_head = (m->pending_head + 1) % MIX_PENDING;
	m->pending_len--;
}

#endif
