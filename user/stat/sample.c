// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stat/sample.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/scope.h"

enum {
	RESAMPLES = 2000,
	TAIL = RESAMPLES / 40,		/* 2.5 % at either end are outside the interval */
};

#define SEED 0x6776736f63706531ULL

uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Any index below @nr, which fits 32 bits. */
static size_t pick(uint64_t *state, size_t nr)
{
	return (random_next(state) >> 32) * nr >> 32;
}

void sample_release(struct sample *s)
{
	free(s->values);
	*s = (struct sample){ 0 };
}

int sample_add(struct sample *s, double value)
{
	if (s->nr == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		double *more = reallocarray(s->values, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->values = more;
		s->room = room;
	}
	s->values[s->nr++] = value;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The values in order of size, the caller's to free; NULL when out of memory. */
static double *sorted(const struct sample *s)
{
	double *v = malloc((s->nr + 1) * sizeof(*v));

	if (!v || !s->nr)
		return v;
	memcpy(v, s->values, s->nr * sizeof(*v));
	qsort(v, s->nr, sizeof(*v), by_value);
	return v;
}

static double middle(const double *v, size_t nr)
{
	return (v[(nr - 1) / 2] + v[nr / 2]) / 2;
}

double sample_median(const struct sample *s)
{
	auto_free double *v = sorted(s);

	return v && s->nr ? middle(v, s->nr) : 0;
}

double sample_mean(const struct sample *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->nr; i++)
		sum += s->values[i];
	return s->nr ? sum / s->nr : 0;
}

/*
 * The median of as many values as there are, drawn from them with replacement. Only how often each rank
 * is drawn matters: @counts has room for all.
 */
static double median_of_draw(const double *v, uint32_t *counts, size_t nr, uint64_t *random)
{
	size_t low = 0, high, seen;

	memset(counts, 0, nr * sizeof(*counts));
	for (size_t i = 0; i < nr; i++)
		counts[pick(random, nr)]++;
	for (seen = counts[0]; seen <= (nr - 1) / 2; seen += counts[low])
		low++;
	for (high = low; seen <= nr / 2; seen += counts[high])
		high++;
	return (v[low] + v[high]) / 2;
}

/* The limits between which 95 % of what resampling gave lies. Sorts it. */
static void interval(double *draws, double *low, double *high)
{
	qsort(draws, RESAMPLES, sizeof(*draws), by_value);
	*low = draws[TAIL];
	*high = draws[RESAMPLES - 1 - TAIL];
}

int sample_figure(const struct sample *s, struct figure *out)
{
	auto_free double *v = sorted(s);
	auto_free uint32_t *counts = malloc((s->nr + 1) * sizeof(*counts));
	double draws[RESAMPLES];
	uint64_t random = SEED;

	if (!v || !counts)
		return -ENOMEM;
	*out = (struct figure){ .nr = s->nr };
	if (!s->nr)
		return 0;
	for (int i = 0; i < RESAMPLES; i++)
		draws[i] = median_of_draw(v, counts, s->nr, &random);
	interval(draws, &out->low, &out->high);
	out->value = middle(v, s->nr);
	out->min = v[0];
	out->max = v[s->nr - 1];
	return 0;
}

/* The work of as many speeds as there are, drawn with replacement, over the time it takes. */
static double speed_of_draw(const double *v, size_t nr, uint64_t *random)
{
	double time = 0;

	for (size_t i = 0; i < nr; i++)
		time += 1 / v[pick(random, nr)];
	return nr / time;
}

int sample_speed(const struct sample *s, struct figure *out)
{
	double draws[RESAMPLES], time = 0;
	uint64_t random = SEED;
	int err = sample_figure(s, out);

	if (err || !s->nr)
		return err;
	for (int i = 0; i < RESAMPLES; i++)
		draws[i] = speed_of_draw(s->values, s->nr, &random);
	interval(draws, &out->low, &out->high);
	for (size_t i = 0; i < s->nr; i++)
		time += 1 / s->values[i];
	out->value = s->nr / time;
	return 0;
}

static void scope_sample(struct sample *s)
{
	sample_release(s);
}

int sample_ratio(const struct sample *a, const struct sample *b, struct figure *out)
{
	auto_release(scope_sample) struct sample ratios = { 0 };

	for (size_t i = 0; i < a->nr && i < b->nr; i++)
		if (a->values[i] != 0 && sample_add(&ratios, b->values[i] / a->values[i]))
			return -ENOMEM;
	return sample_figure(&ratios, out);
}

struct point {
	double x, y;
};

/*
 * The line of least squares. False if it has no slope: there are no two different x. Counted from the first
 * point, so that equal x are so exactly.
 */
static bool line(const struct point *p, size_t nr, double *slope, double *intercept)
{
	double mx = 0, my = 0, xx = 0, xy = 0;

	for (size_t i = 0; i < nr; i++) {
		mx += (p[i].x - p[0].x) / nr;
		my += (p[i].y - p[0].y) / nr;
	}
	for (size_t i = 0; i < nr; i++) {
		double dx = p[i].x - p[0].x - mx, dy = p[i].y - p[0].y - my;

		xx += dx * dx;
		xy += dx * dy;
	}
	if (!(xx > 0))
		return false;
	*slope = xy / xx;
	*intercept = p[0].y + my - *slope * (p[0].x + mx);
	return true;
}

int sample_fit(const double *x, const double *y, size_t nr, struct fit *out)
{
	auto_free struct point *all = malloc((nr + 1) * sizeof(*all));
	auto_free struct point *drawn = malloc((nr + 1) * sizeof(*drawn));
	double draws[RESAMPLES], unused;
	uint64_t random = SEED;

	if (!all || !drawn)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		all[i] = (struct point){ x[i], y[i] };
	*out = (struct fit){ 0 };
	if (!line(all, nr, &out->slope, &out->intercept))
		return -EINVAL;
	for (int done = 0; done < RESAMPLES;) {
		for (size_t i = 0; i < nr; i++)
			drawn[i] = all[pick(&random, nr)];
		done += line(drawn, nr, &draws[done], &unused);
	}
	interval(draws, &out->low, &out->high);
	return 0;
}
