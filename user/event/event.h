/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One event of a capture, decoded: what the recorder writes and every analysis reads. */
#ifndef GVL_EVENT_EVENT_H
#define GVL_EVENT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "event/kind.h"

#define EVENT_TEXT_MAX 127

struct event {
	uint64_t ts_ns;		/* CLOCK_MONOTONIC */
	uint64_t thread;	/* rb_thread_t address, or as the kind says */
	uint32_t seq;		/* OWNER, QUEUE, STATE, LOCK; 0 elsewhere */
	uint32_t tid;		/* task that caused it, as the target's pid namespace counts */
	uint16_t target;
	uint16_t lock;
	uint64_t dur_ns;	/* from here to nr: where event_has_args(), else 0 */
	int32_t fd;
	uint32_t count;
	uint32_t nr;
	uint8_t kind;
	uint8_t flags;
	uint8_t text_len;	/* 0 where the kind carries no text */
	char text[EVENT_TEXT_MAX + 1];	/* raw bytes from outside, NUL-terminated */
};

static inline bool event_has_args(uint8_t kind)
{
	return (kind >= EVENT_CALL && kind <= EVENT_CLOSE) || kind == EVENT_COPY || kind == EVENT_TALLY;
}

#endif
