/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events without sense: the same ones again and again, and the edges of what a field can hold. */
#ifndef TESTS_TOOLS_ANY_EVENT_H
#define TESTS_TOOLS_ANY_EVENT_H

#include <stdint.h>
#include <string.h>

#include "event/event.h"
#include "util/scope.h"

static inline uint64_t any_number(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 32 ^ *state << 32;
}

/* @prev_ns: the time of the event before; most are near it. */
static inline void any_event(uint64_t *state, struct event *ev, uint64_t prev_ns)
{
	static const uint64_t edges[] = { 0, 1, 2, 127, 128, 255, 256, UINT16_MAX, INT32_MAX,
					  UINT32_MAX, INT64_MAX, 1ULL << 63, UINT64_MAX };
	uint64_t choice = any_number(state);
	uint64_t edge = edges[any_number(state) % ARRAY_LEN(edges)];

	memset(ev, 0, sizeof(*ev));
	ev->kind = 1 + any_number(state) % (EVENT_KIND_END - 1);
	ev->ts_ns = choice & 7 ? prev_ns + any_number(state) % 100000 - 1000 :
		    choice & 8 ? edge : any_number(state);
	ev->thread = choice & 0x30 ? any_number(state) % 7 * 0x1000 :
		     choice & 0x40 ? edge : any_number(state);
	ev->tid = choice & 0x300 ? any_number(state) % 9 : choice & 0x400 ? edge :
		  any_number(state);
	ev->seq = choice & 0x3000 ? any_number(state) % 5 : choice & 0x4000 ? edge :
		  any_number(state);
	ev->target = choice & 0x30000 ? any_number(state) % 2 : choice & 0x40000 ? edge :
		     any_number(state);
	ev->lock = choice & 0x300000 ? any_number(state) % 3 : choice & 0x400000 ? edge :
		   any_number(state);
	ev->flags = choice & 0x3000000 ? any_number(state) % 4 : any_number(state);
	ev->text_len = choice & 0x30000000 ? 0 : any_number(state) % (EVENT_TEXT_MAX + 1);
	for (int i = 0; i < ev->text_len; i++)
		ev->text[i] = any_number(state);
	if (!event_has_args(ev->kind))
		return;
	ev->dur_ns = choice & 0x300000000 ? any_number(state) % 100000 : edge;
	ev->fd = choice & 0xc00000000 ? any_number(state) % 20 - 1 : edge;
	ev->count = choice & 0x3000000000 ? any_number(state) % 9 : edge;
	ev->nr = choice & 0xc000000000 ? any_number(state) % 400 : edge;
}

#endif
