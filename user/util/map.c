// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "util/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void map_init(struct map *m)
{
	*m = (struct map){ 0 };
}

void map_release(struct map *m)
{
	free(m->slots);
	map_init(m);
}

/* Keys are addresses and ids, alike in their low bits: multiply by 2^64 / golden ratio, take the top. */
static size_t home(const struct map *m, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ULL >> 32) & (m->nr_slots - 1);
}

static struct map_slot *find(const struct map *m, uint64_t key)
{
	size_t i;

	if (!m->nr_slots)
		return NULL;
	for (i = home(m, key); m->slots[i].key; i = (i + 1) & (m->nr_slots - 1))
		if (m->slots[i].key == key)
			return &m->slots[i];
	return NULL;
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	struct map_slot *s = find(m, key);

	return s ? &s->value : NULL;
}

static void place(struct map *m, struct map_slot slot)
{
	size_t i = home(m, slot.key);

	while (m->slots[i].key)
		i = (i + 1) & (m->nr_slots - 1);
	m->slots[i] = slot;
	m->nr_used++;
}

static int grow(struct map *m)
{
	struct map bigger = { .nr_slots = m->nr_slots ? 2 * m->nr_slots : 64 };

	bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->nr_slots; i++)
		if (m->slots[i].key)
			place(&bigger, m->slots[i]);
	free(m->slots);
	*m = bigger;
	return 0;
}

int map_put(struct map *m, uint64_t key, uint64_t value)
{
	struct map_slot *s = find(m, key);

	if (s) {
		s->value = value;
		return 0;
	}
	if (4 * (m->nr_used + 1) > 3 * m->nr_slots && grow(m))
		return -ENOMEM;
	place(m, (struct map_slot){ key, value });
	return 0;
}

bool map_remove(struct map *m, uint64_t key)
{
	struct map_slot *s = find(m, key);
	size_t i;

	if (!s)
		return false;
	s->key = 0;
	m->nr_used--;
	/* what stands behind it may have been pushed there by it */
	for (i = (s - m->slots + 1) & (m->nr_slots - 1); m->slots[i].key;
	     i = (i + 1) & (m->nr_slots - 1)) {
		struct map_slot moved = m->slots[i];

		m->slots[i].key = 0;
		m->nr_used--;
		place(m, moved);
	}
	return true;
}
