// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/decode.h"

static bool get_u8(struct cursor *c, uint8_t *v)
{
	if (c->at == c->end)
		return false;
	*v = *c->at++;
	return true;
}

static bool get_long_varint(struct cursor *c, uint64_t *v)
{
	uint8_t byte;

	*v = 0;
	for (int shift = 0; shift < 64; shift += 7) {
		if (!get_u8(c, &byte))
			return false;
		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return shift < 63 || byte < 2;
	}
	return false;
}

static inline bool get_varint(struct cursor *c, uint64_t *v)
{
	if (c->at == c->end || *c->at >= 0x80)
		return get_long_varint(c, v);
	*v = *c->at++;
	return true;
}

static uint32_t modes_of(const struct shape *s, int shift)
{
	return s->modes >> shift & 3;
}

static const char *new_shape(struct decoder *d)
{
	struct cursor *rare = &d->columns[COLUMN_RARE];
	struct shape *s = &d->shapes[d->nr_shapes];
	const uint8_t *at = rare->at;

	if (rare->end - at < SHAPE_SIZE)
		return "a shape is cut";
	rare->at += SHAPE_SIZE;
	s->kind = at[0];
	s->flags = at[1];
	s->modes = at[2];
	s->target = at[3] | at[4] << 8;
	s->lock = at[5] | at[6] << 8;
	if (s->kind == 0 || s->kind >= EVENT_KIND_END)
		return "an event of unknown kind";
	if (modes_of(s, SHAPE_THREAD) >= THREAD_MODE_END)
		return "a shape of unknown form";
	s->lock_index = locks_index(&d->locks, lock_key(s->target, s->lock));
	if (d->locks.ids.nr > TRACE_LOCKS_MAX)
		return "more locks than a chunk can have";
	d->nr_shapes++;
	return NULL;
}

static const char *get_shape(struct decoder *d, const struct shape **out)
{
	uint64_t i;

	if (!get_varint(&d->columns[COLUMN_SHAPE], &i))
		return "the column of shapes is cut";
	if (i >= d->nr_shapes) {
		const char *bad;

		if (i > d->nr_shapes)
			return "a shape that does not exist";
		bad = new_shape(d);
		if (bad)
			return bad;
	}
	*out = &d->shapes[i];
	return NULL;
}

static const char *get_time(struct decoder *d, bool back, uint64_t *ts_ns)
{
	uint64_t high, distance;
	uint8_t low;

	if (!get_u8(&d->columns[COLUMN_TIME_LOW], &low) ||
	    !get_varint(&d->columns[COLUMN_TIME_HIGH], &high))
		return "a column of times is cut";
	if (high >> 56)
		return "a time out of range";
	distance = high << 8 | low;
	*ts_ns = back ? d->prev_ns - distance : d->prev_ns + distance;
	if (*ts_ns < d->first_ns || *ts_ns > d->last_ns)
		return "a time outside of the chunk's range";
	d->prev_ns = *ts_ns;
	if (*ts_ns < d->min_ns)
		d->min_ns = *ts_ns;
	if (*ts_ns > d->max_ns)
		d->max_ns = *ts_ns;
	return NULL;
}

static const char *new_thread(struct decoder *d)
{
	uint64_t prev = d->nr_threads ? d->threads[d->nr_threads - 1] : 0;
	uint64_t delta;

	if (!get_varint(&d->columns[COLUMN_RARE], &delta))
		return "a thread is cut";
	d->locks.tid_of[d->nr_threads] = 0;
	d->threads[d->nr_threads++] = prev + unzigzag(delta);
	return NULL;
}

/* *index1: index plus 1, 0 where the thread is 0. */
static const char *get_thread(struct decoder *d, uint32_t mode, const struct lock_past *past,
			      uint32_t *index1)
{
	uint64_t i;

	*index1 = 0;
	if (mode == THREAD_ZERO)
		return NULL;
	if (mode == THREAD_OWNER) {
		*index1 = past->owner;
		return past->owner ? NULL : "an owner that is not known";
	}

	if (!get_varint(&d->columns[COLUMN_THREAD], &i))
		return "the column of threads is cut";
	if (i > d->nr_threads)
		return "a thread that does not exist";
	*index1 = i + 1;
	return i < d->nr_threads ? NULL : new_thread(d);
}

static const char *new_tid(struct decoder *d)
{
	uint64_t prev = d->nr_tids ? d->tids[d->nr_tids - 1] : 0;
	uint64_t tid;

	if (!get_varint(&d->columns[COLUMN_RARE], &tid))
		return "a tid is cut";
	tid = prev + unzigzag(tid);
	if (tid > UINT32_MAX)
		return "a tid out of range";
	d->tids[d->nr_tids++] = tid;
	return NULL;
}

static const char *get_tid(struct decoder *d, uint32_t mode, uint32_t subject, uint32_t owner,
			   uint32_t *tid)
{
	uint32_t index1;
	const char *bad;
	uint64_t i;

	*tid = 0;
	if (mode == TID_ZERO)
		return NULL;
	if (mode != TID_INDEX) {
		index1 = locks_tid(&d->locks, mode == TID_SUBJECT ? subject : owner);
		if (!index1)
			return "a tid that is not known";
		*tid = d->tids[index1 - 1];
		return NULL;
	}

	if (!get_varint(&d->columns[COLUMN_TID], &i))
		return "the column of tids is cut";
	if (i > d->nr_tids)
		return "a tid that does not exist";
	if (i == d->nr_tids) {
		bad = new_tid(d);
		if (bad)
			return bad;
	}
	if (subject)
		d->locks.tid_of[subject - 1] = i + 1;
	*tid = d->tids[i];
	return NULL;
}

static const char *get_seq(struct decoder *d, uint32_t mode, const struct lock_past *past,
			   struct event *ev)
{
	uint64_t delta;

	switch (mode) {
	case SEQ_ZERO:
		ev->seq = 0;
		return NULL;
	case SEQ_NEXT:
		ev->seq = past->seq + 1;
		return NULL;
	case SEQ_KIND_NEXT:
		ev->seq = past->kind_seq[ev->kind] + 1;
		return NULL;
	}
	if (!get_varint(&d->columns[COLUMN_RARE], &delta))
		return "a sequence number is cut";
	if (delta > UINT32_MAX)
		return "a sequence number out of range";
	ev->seq = past->seq + 1 + (uint32_t)unzigzag(delta);
	return NULL;
}

static const char *get_text(struct decoder *d, struct event *ev)
{
	struct cursor *rare = &d->columns[COLUMN_RARE];
	uint8_t size;

	if (!get_u8(rare, &size))
		return "a text is cut";
	if (size == 0 || size > EVENT_TEXT_MAX)
		return "a text of impossible length";
	if (rare->end - rare->at < size)
		return "a text is cut";
	memcpy(ev->text, rare->at, size);
	ev->text[size] = '\0';
	ev->text_len = size;
	rare->at += size;
	return NULL;
}

static const char *get_args(struct decoder *d, struct event *ev)
{
	struct cursor *c = &d->columns[COLUMN_ARGS];
	uint64_t fd, count, nr;
	int64_t value;

	if (!get_varint(c, &ev->dur_ns) || !get_varint(c, &fd) || !get_varint(c, &count) ||
	    !get_varint(c, &nr))
		return "the column of arguments is cut";
	value = unzigzag(fd);
	if (value < INT32_MIN || value > INT32_MAX || count > UINT32_MAX || nr > UINT32_MAX)
		return "an argument out of range";
	ev->fd = value;
	ev->count = count;
	ev->nr = nr;
	return NULL;
}

const char *decoder_start(struct decoder *d, const struct chunk *c, const uint8_t *raw,
			  size_t size)
{
	const uint8_t *at = raw + TRACE_TABLE_SIZE;
	const uint8_t *end = raw + size;

	d->nr_left = 0;
	if (size < TRACE_TABLE_SIZE)
		return "the table of columns is cut";
	for (int i = 0; i < COLUMN_COUNT; i++) {
		uint32_t length = get_le32(raw + i * sizeof(uint32_t));

		if (length > (size_t)(end - at))
			return "a column reaches beyond the chunk";
		d->columns[i] = (struct cursor){ at, at + length };
		at += length;
	}
	if (at != end)
		return "bytes outside of the columns";

	d->nr_shapes = 0;
	d->nr_threads = 0;
	d->nr_tids = 0;
	d->first_ns = c->first_ns;
	d->last_ns = c->last_ns;
	d->min_ns = UINT64_MAX;
	d->max_ns = 0;
	d->prev_ns = 0;
	dict_reset(&d->locks.ids);
	d->nr_left = c->nr_events;
	return NULL;
}

const char *decoder_next(struct decoder *d, struct event *ev)
{
	const struct shape *s = NULL;
	struct lock_past *past;
	uint32_t thread = 0;
	const char *bad;

	bad = get_shape(d, &s);
	if (bad)
		return bad;
	past = &d->locks.past[s->lock_index];
	ev->kind = s->kind;
	ev->flags = s->flags;
	ev->target = s->target;
	ev->lock = s->lock;

	bad = get_time(d, s->modes & SHAPE_BACK, &ev->ts_ns);
	if (bad)
		return bad;
	bad = get_thread(d, modes_of(s, SHAPE_THREAD), past, &thread);
	if (bad)
		return bad;
	ev->thread = thread ? d->threads[thread - 1] : 0;
	bad = get_tid(d, modes_of(s, SHAPE_TID), thread ? thread : past->owner, past->owner,
		      &ev->tid);
	if (bad)
		return bad;
	bad = get_seq(d, modes_of(s, SHAPE_SEQ), past, ev);
	if (bad)
		return bad;
	ev->text_len = 0;
	ev->text[0] = '\0';
	if (s->modes & SHAPE_TEXT) {
		bad = get_text(d, ev);
		if (bad)
			return bad;
	}
	ev->dur_ns = 0;
	ev->fd = 0;
	ev->count = ev->nr = 0;
	if (event_has_args(ev->kind)) {
		bad = get_args(d, ev);
		if (bad)
			return bad;
	}
	lock_learn(past, ev, thread);
	d->nr_left--;
	return NULL;
}

const char *decoder_end(const struct decoder *d)
{
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (d->columns[i].at != d->columns[i].end)
			return "bytes beyond the last event";
	}
	if (d->min_ns != d->first_ns || d->max_ns != d->last_ns)
		return "no event at the begin or end of the chunk's range";
	return NULL;
}
