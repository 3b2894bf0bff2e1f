/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers the distinct values of one chunk in the order of their first appearance. */
#ifndef GVL_TRACE_DICT_H
#define GVL_TRACE_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

#define DICT_SLOTS (2 * TRACE_EVENTS_MAX)

/* All zero is an empty one. A chunk adds at most one value an event, so it never fills up. */
struct dict {
	uint32_t nr;
	uint16_t slots[DICT_SLOTS];		/* index + 1, or 0 */
	uint16_t slot_of[TRACE_EVENTS_MAX];
	uint64_t values[TRACE_EVENTS_MAX];
};
_Static_assert(TRACE_EVENTS_MAX <= UINT16_MAX, "index + 1 fits a slot");
_Static_assert(DICT_SLOTS <= UINT16_MAX + 1, "a slot number fits");

/* Forgets all values, in time that depends on how many there are. */
void dict_reset(struct dict *d);

/* The index of @value, which is d->nr - 1 and *added if it is new. */
static inline uint32_t dict_index(struct dict *d, uint64_t value, bool *added)
{
	/* Fibonacci hashing: addresses and small ids alike end up in the top bits. */
	uint32_t slot = (value * 0x9e3779b97f4a7c15ULL) >> 48;
	uint32_t i;

	while ((i = d->slots[slot]) != 0) {
		if (d->values[i - 1] == value) {
			*added = false;
			return i - 1;
		}
		slot = (slot + 1) % DICT_SLOTS;
	}
	i = d->nr++;
	d->values[i] = value;
	d->slot_of[i] = slot;
	d->slots[slot] = i + 1;
	*added = true;
	return i;
}
_Static_assert(DICT_SLOTS == 1 << 16, "as many as the hash can name");

#endif
