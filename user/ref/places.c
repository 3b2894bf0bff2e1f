// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/places.h"

#include <stdbool.h>

void places_add(struct places *p, uint16_t cpu)
{
	if (p->nr < PLACES_MAX)
		p->cpus[p->nr++] = cpu;
}

void placements_add(struct placements *all, const struct places *p)
{
	if (all->nr && all->missed++ < all->left_out)
		return;
	all->missed = 0;
	if (all->nr == PLACEMENTS_MAX) {
		for (uint32_t i = 0; i < PLACEMENTS_MAX / 2; i++)
			all->at[i] = all->at[2 * i];
		all->nr = PLACEMENTS_MAX / 2;
		all->left_out = 2 * all->left_out + 1;
	}
	all->at[all->nr++] = *p;
}

static bool is_first(const struct places *p, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (p->cpus[k] == p->cpus[i])
			return false;
	return p->cpus[i];
}

int places_on(const struct places *p, uint32_t i, uint32_t cpus)
{
	uint32_t at = 0;

	if (i >= p->nr || !p->cpus[i])
		return -1;
	for (uint32_t k = 0; p->cpus[k] != p->cpus[i]; k++)
		at += is_first(p, k);
	return at % cpus;
}
