// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stat/paired.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stat/sample.h"
#include "util/scope.h"

enum {
	ALL_OF = 12,		/* all subsets of up to so many pairs */
	SUBSETS = 1 << ALL_OF,
	WORD = 64,
	BYTE = 8,
};

#define SEED 0x6776736f63706532ULL

/* Sums as equal as this are: the order in which they were added up is no difference. */
#define NEAR 1e-9

struct subsets {
	uint64_t *words;	/* a bit for each pair; the first subset is empty: what was seen itself */
	size_t per_set;		/* words */
	size_t nr;
};

/* One quantity under resampling. */
struct quantity {
	double *sums;		/* of each subset */
	double sum;
	double least;		/* sum that counts as far from 0 */
	double scale;		/* times the sum: by the root of the sum of squares */
	double seen;		/* how far from 0 it is */
	size_t index;
};

/*
 * Of up to 12 pairs all subsets. Of more 4096 that are a group as all are: what two of them differ in is one of
 * them too, which is all that keeps the test exact. Pair i is in those subsets whose number has an odd number of
 * bits in common with its key; keys have an odd number of bits, so all subsets of any three pairs are as frequent.
 */
static int subsets_make(struct subsets *s, size_t nr_pairs)
{
	uint64_t random = SEED;

	s->nr = nr_pairs < ALL_OF ? 1u << nr_pairs : SUBSETS;
	s->per_set = (nr_pairs + WORD - 1) / WORD + !nr_pairs;
	s->words = calloc(s->nr * s->per_set, sizeof(*s->words));
	if (!s->words)
		return -ENOMEM;
	for (size_t i = 0; i < nr_pairs; i++) {
		uint32_t key = i < ALL_OF ? 1u << i : random_next(&random) % SUBSETS;

		if (__builtin_parity(key) == 0)
			key ^= 1;
		for (size_t set = 0; set < s->nr; set++)
			s->words[set * s->per_set + i / WORD] |=
				(uint64_t)__builtin_parity(key & set) << i % WORD;
	}
	return 0;
}

/* The value that has @rank smaller ones (Hoare). Reorders them. */
static double select_rank(double *v, ptrdiff_t nr, ptrdiff_t rank)
{
	ptrdiff_t from = 0, to = nr - 1;

	while (from < to) {
		double pivot = v[from + (to - from) / 2];
		ptrdiff_t i = from, k = to;

		while (i <= k) {
			double swap;

			for (; v[i] < pivot; i++)
				;
			for (; v[k] > pivot; k--)
				;
			if (i > k)
				break;
			swap = v[i];
			v[i++] = v[k];
			v[k--] = swap;
		}
		if (rank > k && rank < i)
			break;
		if (rank <= k)
			to = k;
		else
			from = i;
	}
	return v[rank];
}

/*
 * @means has those of @nr subsets that are not empty, of @all. A value is in the interval unless too few
 * of them are on one side of it; the empty ones are on both.
 */
static void interval(double *means, size_t nr, size_t all, double tail, struct paired *out)
{
	size_t needed = (size_t)(tail * all * (1 + NEAR)) + 1, empty = all - nr;

	out->low = -INFINITY;
	out->high = INFINITY;
	if (!nr || needed <= empty || needed - empty > nr)
		return;
	out->low = select_rank(means, nr, needed - empty - 1);
	out->high = select_rank(means, nr, nr - (needed - empty));
}

/*
 * Adds up the differences in every subset, and counts them. They are taken eight at a time: each subset of
 * eight is added up once.
 */
static void add_up(const double *diff, size_t nr_pairs, const struct subsets *s, double *sums, uint32_t *counts)
{
	for (size_t from = 0; from < nr_pairs; from += BYTE) {
		size_t left = nr_pairs - from, nr = left < BYTE ? left : BYTE;
		double sum[1 << BYTE] = { 0 };
		uint32_t count[1 << BYTE] = { 0 };

		for (unsigned int set = 1; set < 1u << nr; set++) {
			double d = diff[from + __builtin_ctz(set)];

			sum[set] = sum[set & (set - 1)] + (isnan(d) ? 0 : d);
			count[set] = count[set & (set - 1)] + !isnan(d);
		}
		for (size_t i = 0; i < s->nr; i++) {
			uint64_t word = s->words[i * s->per_set + from / WORD] >> from % WORD;

			sums[i] += sum[word & ((1u << nr) - 1)];
			counts[i] += count[word & ((1u << nr) - 1)];
		}
	}
}

/* Room for resampling one quantity. */
struct scratch {
	double *means;
	uint32_t *counts;
};

static void resample(const double *diff, size_t nr_pairs, const struct subsets *s, double tail,
		     struct scratch *scratch, struct quantity *q, struct paired *out)
{
	size_t nr = 0;
	double squares = 0;

	*out = (struct paired){ .p_up = 1, .p_down = 1 };
	for (size_t i = 0; i < nr_pairs; i++) {
		if (isnan(diff[i]))
			continue;
		q->sum += diff[i];
		squares += diff[i] * diff[i];
		out->nr++;
	}
	q->scale = squares > 0 ? 1 / sqrt(squares) : 1;
	out->mean = out->nr ? q->sum / out->nr : 0;
	memset(scratch->counts, 0, s->nr * sizeof(*scratch->counts));
	add_up(diff, nr_pairs, s, q->sums, scratch->counts);
	for (size_t i = 0; i < s->nr; i++)
		if (scratch->counts[i])
			scratch->means[nr++] = q->sums[i] / scratch->counts[i];
	interval(scratch->means, nr, s->nr, tail, out);
}

/*
 * How far from 0 the sum is with the signs in a subset turned, or of what was seen (the empty subset). What
 * would not count as a difference is not there.
 */
static double distance(const struct quantity *q, size_t set, double sign)
{
	double sum = sign * (q->sum - 2 * q->sums[set]);

	return sum >= q->least - NEAR ? sum * q->scale : -INFINITY;
}

static int by_distance(const void *a, const void *b)
{
	double x = ((const struct quantity *)a)->seen, y = ((const struct quantity *)b)->seen;

	return (x > y) - (x < y);
}

/*
 * Westfall and Young's step-down: a quantity is compared with the largest of all that are not farther out than
 * itself, towards @sign. Reorders them.
 */
static void correct(struct quantity *q, size_t nr, size_t nr_subsets, double sign, double *p)
{
	for (size_t i = 0; i < nr; i++) {
		q[i].seen = distance(&q[i], 0, sign);
		p[q[i].index] = 0;
	}
	qsort(q, nr, sizeof(*q), by_distance);
	for (size_t set = 0; set < nr_subsets; set++) {
		double most = -INFINITY;

		for (size_t i = 0; i < nr; i++) {
			double far = distance(&q[i], set, sign);

			most = most < far ? far : most;
			if (most >= q[i].seen - NEAR)
				p[q[i].index] += 1.0 / nr_subsets;
		}
	}
	for (size_t i = nr; i > 1; i--)
		p[q[i - 2].index] = fmax(p[q[i - 2].index], p[q[i - 1].index]);
}

static void scope_subsets(struct subsets *s)
{
	free(s->words);
}

int paired_test(const double *diff, const double *least, size_t nr_quantities, size_t nr_pairs, double tail,
		struct paired *out)
{
	auto_release(scope_subsets) struct subsets s = { 0 };
	auto_free struct quantity *q = calloc(nr_quantities + 1, sizeof(*q));
	auto_free double *sums = NULL, *means = NULL, *p = calloc(nr_quantities + 1, sizeof(*p));
	auto_free uint32_t *counts = NULL;

	if (!q || !p || subsets_make(&s, nr_pairs))
		return -ENOMEM;
	sums = calloc(nr_quantities * s.nr + 1, sizeof(*sums));
	means = calloc(s.nr, sizeof(*means));
	counts = calloc(s.nr, sizeof(*counts));
	if (!sums || !means || !counts)
		return -ENOMEM;
	for (size_t i = 0; i < nr_quantities; i++) {
		q[i].sums = sums + i * s.nr;
		q[i].index = i;
		resample(diff + i * nr_pairs, nr_pairs, &s, tail,
			 &(struct scratch){ means, counts }, &q[i], &out[i]);
		q[i].least = least[i] * out[i].nr;
	}
	correct(q, nr_quantities, s.nr, 1, p);
	for (size_t i = 0; i < nr_quantities; i++)
		out[i].p_up = p[i];
	correct(q, nr_quantities, s.nr, -1, p);
	for (size_t i = 0; i < nr_quantities; i++)
		out[i].p_down = p[i];
	return 0;
}

size_t paired_least(double tail)
{
	return ceil(-log2(tail) - NEAR);
}
