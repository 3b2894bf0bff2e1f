/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The distribution of a 64-bit quantity. Count, sum, least and largest value are exact; a quantile
 * is within 1 % of the value at its rank (1/128: the width of a slot), and exact below 128.
 */
#ifndef GVL_STAT_DIST_H
#define GVL_STAT_DIST_H

#include <stdint.h>

#define DIST_SUB_BITS 7
#define DIST_SUB (1 << DIST_SUB_BITS)			/* slots an octave */
#define DIST_OCTAVES (64 - DIST_SUB_BITS + 1)		/* the first holds the values below 128 */

/* All zero is an empty one. */
struct dist {
	uint64_t count;
	uint64_t sum;
	uint64_t min;			/* 0 when empty */
	uint64_t max;
	uint64_t *octaves[DIST_OCTAVES];	/* NULL where no value fell */
};

void dist_init(struct dist *d);
void dist_release(struct dist *d);

/* 0 or -ENOMEM, which leaves @d as it was. */
int dist_add(struct dist *d, uint64_t value);

/* Adds all of @from. 0 or -ENOMEM, which leaves @d useless but releasable. */
int dist_merge(struct dist *d, const struct dist *from);

/* The value at rank ceil(count * permille / 1000), at least the first; 0 when empty. */
uint64_t dist_quantile(const struct dist *d, unsigned int permille);

uint64_t dist_mean(const struct dist *d);	/* rounded; 0 when empty */

#endif
