// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/encode.h"

static inline void put_u8(struct column *c, uint8_t v)
{
	c->bytes[c->size++] = v;
}

/* Seven bits a byte, low ones first, the top bit says that more follow. */
static inline void put_varint(struct column *c, uint64_t v)
{
	while (v >= 0x80) {
		put_u8(c, v | 0x80);
		v >>= 7;
	}
	put_u8(c, v);
}

static void put_bytes(struct column *c, const void *data, size_t size)
{
	memcpy(c->bytes + c->size, data, size);
	c->size += size;
}

static enum thread_mode thread_mode(const struct encoder *e, const struct lock_past *past,
				    uint64_t thread)
{
	if (thread == 0)
		return THREAD_ZERO;
	if (past->owner && e->threads.values[past->owner - 1] == thread)
		return THREAD_OWNER;
	return THREAD_INDEX;
}

static bool is_tid(const struct encoder *e, uint32_t index1, uint32_t tid)
{
	return index1 && e->tids.values[index1 - 1] == tid;
}

static enum tid_mode tid_mode(const struct encoder *e, const struct lock_past *past,
			      uint32_t subject, uint32_t tid)
{
	if (tid == 0)
		return TID_ZERO;
	if (is_tid(e, locks_tid(&e->locks, subject), tid))
		return TID_SUBJECT;
	if (is_tid(e, locks_tid(&e->locks, past->owner), tid))
		return TID_OWNER;
	return TID_INDEX;
}

static enum seq_mode seq_mode(const struct lock_past *past, const struct event *ev)
{
	if (ev->seq == 0)
		return SEQ_ZERO;
	if (ev->seq == past->seq + 1)
		return SEQ_NEXT;
	if (ev->seq == past->kind_seq[ev->kind] + 1)
		return SEQ_KIND_NEXT;
	return SEQ_DELTA;
}

/* The time goes to its columns; what is left to say of it is the sign. */
static uint8_t add_time(struct encoder *e, uint64_t ts_ns)
{
	bool back = (int64_t)(ts_ns - e->prev_ns) < 0;
	uint64_t distance = back ? e->prev_ns - ts_ns : ts_ns - e->prev_ns;

	put_u8(&e->columns[COLUMN_TIME_LOW], distance);
	put_varint(&e->columns[COLUMN_TIME_HIGH], distance >> 8);

	if (e->nr_events == 0 || ts_ns < e->first_ns)
		e->first_ns = ts_ns;
	if (e->nr_events == 0 || ts_ns > e->last_ns)
		e->last_ns = ts_ns;
	e->prev_ns = ts_ns;
	return back ? SHAPE_BACK : 0;
}

static void add_shape(struct encoder *e, const struct event *ev, uint8_t modes)
{
	uint64_t key = lock_key(ev->target, ev->lock) | (uint64_t)modes << 32 |
		       (uint64_t)ev->flags << 40 | (uint64_t)ev->kind << 48;
	struct column *rare = &e->columns[COLUMN_RARE];
	bool added;

	put_varint(&e->columns[COLUMN_SHAPE], dict_index(&e->shapes, key, &added));
	if (!added)
		return;
	put_u8(rare, ev->kind);
	put_u8(rare, ev->flags);
	put_u8(rare, modes);
	put_u8(rare, ev->target);
	put_u8(rare, ev->target >> 8);
	put_u8(rare, ev->lock);
	put_u8(rare, ev->lock >> 8);
}

/* Writes the index of a value, and the value itself the first time. */
static void add_indexed(struct encoder *e, enum column_id id, uint32_t index, bool added,
			uint64_t value, uint64_t *prev)
{
	put_varint(&e->columns[id], index);
	if (!added)
		return;
	put_varint(&e->columns[COLUMN_RARE], zigzag(value - *prev));
	*prev = value;
}

static void add_args(struct column *c, const struct event *ev)
{
	put_varint(c, ev->dur_ns);
	put_varint(c, zigzag((int64_t)ev->fd));
	put_varint(c, ev->count);
	put_varint(c, ev->nr);
}

bool encoder_add(struct encoder *e, const struct event *ev)
{
	struct lock_past *past = &e->locks.past[locks_index(&e->locks,
							     lock_key(ev->target, ev->lock))];
	enum thread_mode thread_how = thread_mode(e, past, ev->thread);
	uint32_t thread = thread_how == THREAD_OWNER ? past->owner : 0;
	struct column *rare = &e->columns[COLUMN_RARE];
	bool new_thread = false, new_tid;
	uint32_t tid, subject, size = 0;
	enum tid_mode tid_how;
	enum seq_mode seq_how;

	if (thread_how == THREAD_INDEX) {
		thread = dict_index(&e->threads, ev->thread, &new_thread) + 1;
		if (new_thread)
			e->locks.tid_of[thread - 1] = 0;
	}
	subject = thread ? thread : past->owner;
	tid_how = tid_mode(e, past, subject, ev->tid);
	seq_how = seq_mode(past, ev);

	add_shape(e, ev, add_time(e, ev->ts_ns) | thread_how << SHAPE_THREAD |
			 tid_how << SHAPE_TID | seq_how << SHAPE_SEQ |
			 (ev->text_len ? SHAPE_TEXT : 0));
	if (thread_how == THREAD_INDEX)
		add_indexed(e, COLUMN_THREAD, thread - 1, new_thread, ev->thread,
			    &e->prev_thread_value);
	if (tid_how == TID_INDEX) {
		tid = dict_index(&e->tids, ev->tid, &new_tid);
		add_indexed(e, COLUMN_TID, tid, new_tid, ev->tid, &e->prev_tid_value);
		if (subject)
			e->locks.tid_of[subject - 1] = tid + 1;
	}
	if (seq_how == SEQ_DELTA)
		put_varint(rare, zigzag((int64_t)(int32_t)(ev->seq - past->seq - 1)));
	if (ev->text_len) {
		put_u8(rare, ev->text_len);
		put_bytes(rare, ev->text, ev->text_len);
	}
	if (event_has_args(ev->kind))
		add_args(&e->columns[COLUMN_ARGS], ev);
	lock_learn(past, ev, thread);
	e->nr_events++;

	for (int i = 0; i < COLUMN_COUNT; i++)
		size += e->columns[i].size;
	return size >= TRACE_RAW_FLUSH || e->locks.ids.nr == TRACE_LOCKS_MAX;
}

void encoder_reset(struct encoder *e)
{
	e->nr_events = 0;
	e->prev_ns = 0;
	e->prev_thread_value = 0;
	e->prev_tid_value = 0;
	dict_reset(&e->shapes);
	dict_reset(&e->threads);
	dict_reset(&e->tids);
	dict_reset(&e->locks.ids);
	for (int i = 0; i < COLUMN_COUNT; i++)
		e->columns[i].size = 0;
}
