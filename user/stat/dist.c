// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stat/dist.h"

#include <errno.h>
#include <stdlib.h>

void dist_init(struct dist *d)
{
	*d = (struct dist){ 0 };
}

void dist_release(struct dist *d)
{
	for (int i = 0; i < DIST_OCTAVES; i++)
		free(d->octaves[i]);
	dist_init(d);
}

/* How many times the slots of an octave are as wide as those of the first, as a shift. */
static int octave_shift(int octave)
{
	return octave ? octave - 1 : 0;
}

static int octave_of(uint64_t value)
{
	return value < DIST_SUB ? 0 : 64 - DIST_SUB_BITS - __builtin_clzll(value);
}

int dist_add(struct dist *d, uint64_t value)
{
	int octave = octave_of(value);

	if (!d->octaves[octave]) {
		d->octaves[octave] = calloc(DIST_SUB, sizeof(*d->octaves[octave]));
		if (!d->octaves[octave])
			return -ENOMEM;
	}
	d->octaves[octave][value >> octave_shift(octave) & (DIST_SUB - 1)]++;
	if (!d->count || value < d->min)
		d->min = value;
	if (value > d->max)
		d->max = value;
	d->count++;
	d->sum += value;
	return 0;
}

int dist_merge(struct dist *d, const struct dist *from)
{
	if (!from->count)
		return 0;
	for (int o = 0; o < DIST_OCTAVES; o++) {
		if (!from->octaves[o])
			continue;
		if (!d->octaves[o])
			d->octaves[o] = calloc(DIST_SUB, sizeof(*d->octaves[o]));
		if (!d->octaves[o])
			return -ENOMEM;
		for (int i = 0; i < DIST_SUB; i++)
			d->octaves[o][i] += from->octaves[o][i];
	}
	if (!d->count || from->min < d->min)
		d->min = from->min;
	if (from->max > d->max)
		d->max = from->max;
	d->count += from->count;
	d->sum += from->sum;
	return 0;
}

/* The @nth of the values in a slot (from 0), as if they lay evenly in it. */
static uint64_t inside_slot(const struct dist *d, int octave, int slot, uint64_t nth)
{
	uint64_t width = 1ULL << octave_shift(octave);
	uint64_t low = (octave ? (uint64_t)DIST_SUB + slot : (uint64_t)slot) * width;
	double part = (nth + 0.5) / d->octaves[octave][slot];
	uint64_t value = low + (uint64_t)((width - 1) * part);

	if (value < d->min)
		return d->min;
	return value > d->max ? d->max : value;
}

static uint64_t rank_of(uint64_t count, unsigned int permille)
{
	/* as count * permille / 1000, rounded up, without its overflow */
	uint64_t rank = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;

	return rank ? rank : 1;
}

uint64_t dist_quantile(const struct dist *d, unsigned int permille)
{
	uint64_t rank = rank_of(d->count, permille), left = rank;

	if (rank >= d->count)
		return d->max;
	if (rank == 1)
		return d->min;
	for (int o = 0; o < DIST_OCTAVES; o++) {
		if (!d->octaves[o])
			continue;
		for (int i = 0; i < DIST_SUB; i++) {
			if (left <= d->octaves[o][i])
				return inside_slot(d, o, i, left - 1);
			left -= d->octaves[o][i];
		}
	}
	return d->max;
}

uint64_t dist_mean(const struct dist *d)
{
	if (!d->count)
		return 0;
	return d->sum / d->count + (d->sum % d->count >= d->count - d->count / 2);
}
