/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events into the columns of one chunk. */
#ifndef GVL_TRACE_ENCODE_H
#define GVL_TRACE_ENCODE_H

#include "trace/locks.h"

struct column {
	uint32_t size;
	uint8_t bytes[TRACE_RAW_FLUSH + TRACE_EVENT_ROOM];
};

/* Large: for the heap. All zero is an empty one. */
struct encoder {
	uint32_t nr_events;
	uint64_t first_ns, last_ns;	/* earliest and latest event */
	uint64_t prev_ns;		/* the event before, 0 at the start */
	uint64_t prev_thread_value;	/* the thread and tid that appeared last */
	uint64_t prev_tid_value;
	struct dict shapes;
	struct dict threads;
	struct dict tids;
	struct locks locks;
	struct column columns[COLUMN_COUNT];
};

/* Adds an event. True once the chunk is full: it must be written before the next one. */
bool encoder_add(struct encoder *e, const struct event *ev);

void encoder_reset(struct encoder *e);

#endif
