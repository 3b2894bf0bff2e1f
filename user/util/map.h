/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A hash map from nonzero 64-bit keys to 64-bit values. */
#ifndef GVL_UTIL_MAP_H
#define GVL_UTIL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot {
		uint64_t key;	/* 0: free */
		uint64_t value;
	} *slots;
	size_t nr_slots;	/* a power of two, or 0 */
	size_t nr_used;
};

void map_init(struct map *m);		/* no memory yet */
void map_release(struct map *m);

/* The value of @key, to be read or changed until the next map_put or map_remove; NULL if absent. */
uint64_t *map_get(const struct map *m, uint64_t key);

/* Sets the value of @key (not 0). 0 or -ENOMEM. */
int map_put(struct map *m, uint64_t key, uint64_t value);

/* True if it was there. */
bool map_remove(struct map *m, uint64_t key);

#endif
