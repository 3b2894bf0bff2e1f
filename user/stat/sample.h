/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Repeated measurements of one quantity, and what can be said of it: resampling (bootstrap, percentile
 * method) gives the interval. Its random numbers have a fixed seed: the same sample, the same figures.
 */
#ifndef GVL_STAT_SAMPLE_H
#define GVL_STAT_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* All zero is an empty one. */
struct sample {
	double *values;		/* in order of measurement */
	size_t nr, room;
};

/* A figure with its spread. */
struct figure {
	double value;		/* the median, unless said otherwise */
	double low, high;	/* 95 % interval of the value */
	double min, max;	/* of what was measured; of a ratio: of the pairs */
	size_t nr;		/* measurements; 0: there is no figure */
};

void sample_release(struct sample *s);
int sample_add(struct sample *s, double value);		/* 0 or -ENOMEM, which leaves it as it was */

double sample_median(const struct sample *s);		/* 0 when empty, or out of memory */
double sample_mean(const struct sample *s);

/* Median and interval. 0 or -ENOMEM. */
int sample_figure(const struct sample *s, struct figure *out);

/*
 * Of speeds at which equal work was done: that of all of it (their harmonic mean), and its interval. 0 or
 * -ENOMEM.
 */
int sample_speed(const struct sample *s, struct figure *out);

/*
 * How many times @b is of @a: the median of the ratios of their pairs (the i-th of both, measured one after
 * the other), as many as the shorter has; pairs with a 0 in @a are left out. 0 or -ENOMEM.
 */
int sample_ratio(const struct sample *a, const struct sample *b, struct figure *out);

/*
 * The straight line through points (least squares): slope and intercept, with the slope's interval by
 * resampling the points. 0, -EINVAL when there are no two different x, or -ENOMEM.
 */
struct fit {
	double slope, intercept;
	double low, high;	/* 95 % interval of the slope */
};
int sample_fit(const double *x, const double *y, size_t nr, struct fit *out);

/* Random numbers for resampling and schedules: splitmix64. @state is any seed, and changes. */
uint64_t random_next(uint64_t *state);

#endif
