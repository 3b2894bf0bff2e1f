/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The numbers of the trace format and its integers on the wire. docs/trace.md is the manual. */
#ifndef GVL_TRACE_FORMAT_H
#define GVL_TRACE_FORMAT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event/event.h"

#define TRACE_VERSION 2

enum trace_limit {
	TRACE_EVENTS_RAW_MAX = 1 << 20,		/* bytes of an events chunk, before compression */
	TRACE_EVENTS_MAX = 1 << 15,		/* events in one chunk */
	TRACE_LOCKS_MAX = 1024,			/* locks in one chunk */
	TRACE_JSON_MAX = 4 << 20,		/* bytes of facts and of totals */
	TRACE_RAW_FLUSH = 64 << 10,		/* the writer ends a chunk at this size */
	TRACE_EVENT_MIN = 3,			/* an event's least bytes: shape, time, time */
	TRACE_EVENT_ROOM = 256,			/* more than an event's most bytes */
};
_Static_assert(TRACE_RAW_FLUSH / TRACE_EVENT_MIN < TRACE_EVENTS_MAX,
	       "size ends the writer's chunks, not the count");

/* An events chunk is these columns one after the other, behind a table of their lengths. */
enum column_id {
	COLUMN_SHAPE,		/* index of the event's shape */
	COLUMN_TIME_LOW,	/* time since the event before: lowest byte */
	COLUMN_TIME_HIGH,	/* the rest of it */
	COLUMN_THREAD,		/* index of the thread, unless the shape says it */
	COLUMN_TID,		/* index of the tid, unless the shape says it */
	COLUMN_RARE,		/* first appearances, unexpected sequence numbers, text */
	COLUMN_ARGS,		/* dur_ns, fd, count, nr of events that have them */
	COLUMN_COUNT
};

#define TRACE_TABLE_SIZE (COLUMN_COUNT * sizeof(uint32_t))

/* Where an event's thread comes from. */
enum thread_mode {
	THREAD_ZERO,		/* it is 0 */
	THREAD_OWNER,		/* last owner of the lock */
	THREAD_INDEX,		/* next of COLUMN_THREAD */
	THREAD_MODE_END
};

/* Where its tid comes from. The subject is its thread, or the lock's last owner if that is 0. */
enum tid_mode {
	TID_ZERO,
	TID_SUBJECT,		/* tid last seen with the subject */
	TID_OWNER,		/* tid last seen with the last owner of the lock */
	TID_INDEX,		/* next of COLUMN_TID */
};

enum seq_mode {
	SEQ_ZERO,
	SEQ_NEXT,		/* last non-zero one of the lock, plus 1 */
	SEQ_KIND_NEXT,		/* last non-zero one of the lock in this kind of event, plus 1 */
	SEQ_DELTA,		/* SEQ_NEXT plus next of COLUMN_RARE */
};

/* What events have in common: kind, flags, modes, target and lock, in 7 bytes on the wire. */
enum shape_bits {
	SHAPE_THREAD = 0,	/* 2 bits, enum thread_mode */
	SHAPE_TID = 2,		/* 2 bits */
	SHAPE_SEQ = 4,		/* 2 bits */
	SHAPE_TEXT = 1 << 6,	/* a text follows in COLUMN_RARE */
	SHAPE_BACK = 1 << 7,	/* earlier than the event before */
	SHAPE_SIZE = 7,
};

static inline void put_le32(uint8_t *at, uint32_t v)
{
	v = htole32(v);
	memcpy(at, &v, sizeof(v));
}

static inline uint32_t get_le32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return le32toh(v);
}

static inline void put_le64(uint8_t *at, uint64_t v)
{
	v = htole64(v);
	memcpy(at, &v, sizeof(v));
}

static inline uint64_t get_le64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return le64toh(v);
}

/* Small numbers of either sign become small numbers: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
static inline uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ -(v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

#endif
