/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The columns of one chunk into events. Trusts nothing. */
#ifndef GVL_TRACE_DECODE_H
#define GVL_TRACE_DECODE_H

#include "trace/chunk.h"
#include "trace/locks.h"

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

struct shape {
	uint32_t lock_index;
	uint16_t target;
	uint16_t lock;
	uint8_t kind;
	uint8_t flags;
	uint8_t modes;
};

/* Large: for the heap. All zero is a fresh one, with nothing left to read. */
struct decoder {
	uint32_t nr_left;
	uint32_t nr_shapes;
	uint32_t nr_threads;
	uint32_t nr_tids;
	uint64_t first_ns, last_ns;	/* as the header says */
	uint64_t min_ns, max_ns;	/* as the events say */
	uint64_t prev_ns;
	struct cursor columns[COLUMN_COUNT];
	struct locks locks;
	struct shape shapes[TRACE_EVENTS_MAX];
	uint64_t threads[TRACE_EVENTS_MAX];
	uint32_t tids[TRACE_EVENTS_MAX];
};

/*
 * Starts on the @size bytes at @raw, which must stay until the last event. @c has passed
 * chunk_check(). NULL, or what is wrong.
 */
const char *decoder_start(struct decoder *d, const struct chunk *c, const uint8_t *raw,
			  size_t size);

/* Fills *ev with the next event while d->nr_left. NULL, or what is wrong. */
const char *decoder_next(struct decoder *d, struct event *ev);

/* After the last event: NULL, or what the chunk holds beyond them. */
const char *decoder_end(const struct decoder *d);

#endif
