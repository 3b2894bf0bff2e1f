/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Simulated runs: what gates are asked to judge where the truth is known. */
#ifndef TESTS_UNIT_GATE_RUNS_H
#define TESTS_UNIT_GATE_RUNS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "gate/verdict.h"
#include "stat/sample.h"

enum { RUNS_MAX = 40 };

enum shape {
	SHAPE_NORMAL,		/* 5 % */
	SHAPE_LOGNORMAL,	/* sigma 1 */
	SHAPE_PARETO,		/* alpha 1.5: its variance is infinite */
	SHAPE_DRIFT,		/* 5 %, while the machine becomes half as fast from the first run to the last */
	SHAPE_BIMODAL,		/* 5 %, and 30 % of the runs take 1.6 times as long, in all metrics */
	SHAPE_COUNTS,		/* few: 0, 1, 2 of something, most runs alike */
	SHAPES
};

static const char *const shape_names[SHAPES] = {
	"normal 5 %", "log-normal sigma 1", "Pareto alpha 1.5", "drifting", "bimodal", "few counts",
};

/* Both sides of a gate. Owns nothing. */
struct sim {
	struct run runs[2][RUNS_MAX];
	struct runs side[2];
	uint64_t random;
};

static inline double sim_uniform(struct sim *s)
{
	return (random_next(&s->random) >> 11) * 0x1p-53;
}

static inline double sim_normal(struct sim *s)
{
	return sqrt(-2 * log(1 - sim_uniform(s))) * cos(2 * M_PI * sim_uniform(s));
}

/* What noise makes of 1. @when is from 0 to 1, @is_slow tells the run's mode. */
static inline double sim_noise(struct sim *s, enum shape shape, double when, bool is_slow)
{
	double five = exp(0.05 * sim_normal(s));

	switch (shape) {
	case SHAPE_LOGNORMAL:
		return exp(sim_normal(s));
	case SHAPE_PARETO:
		return pow(1 - sim_uniform(s), -1 / 1.5);
	case SHAPE_DRIFT:
		return five * (1 + when);
	case SHAPE_BIMODAL:
		return five * (is_slow ? 1.6 : 1);
	case SHAPE_COUNTS:
		return floor(1 - 0.3 * log(1 - sim_uniform(s)));
	default:
		return five;
	}
}

/* One run. Facts are the same each time, unless @facts_vary. */
static inline void sim_run(struct sim *s, struct run *run, enum shape shape, double when, bool facts_vary)
{
	bool is_slow = sim_uniform(s) < 0.3;

	*run = (struct run){ .name = "simulated" };
	for (int p = 0; p < FINGERPRINT_PARTS; p++)
		run->where.part[p] = "";
	for (size_t m = 0; m < NR_METRICS; m++) {
		double v = 7;

		if (metrics[m].kind != METRIC_FACT || facts_vary)
			v = 1000 * sim_noise(s, shape, when, is_slow);
		run->values[m] = (struct value){ VALUE_CERTAIN, v };
	}
}

/* Runs without any difference, the two of a pair in random order. */
static inline void sim_fill(struct sim *s, enum shape shape, size_t nr_pairs, bool facts_vary)
{
	for (size_t i = 0; i < nr_pairs; i++) {
		int first = sim_uniform(s) < 0.5;

		for (int k = 0; k < 2; k++)
			sim_run(s, &s->runs[first ^ k][i], shape, (2 * i + k) / (2.0 * nr_pairs), facts_vary);
	}
	for (int k = 0; k < 2; k++)
		s->side[k] = (struct runs){ .run = s->runs[k], .nr = nr_pairs };
}

/* Multiplies a metric of the candidate. */
static inline void sim_change(struct sim *s, const char *metric, double factor)
{
	size_t m = metric_find(metric) - metrics;

	for (size_t i = 0; i < s->side[1].nr; i++)
		s->runs[1][i].values[m].number *= factor;
}

/* What became of gates between sides that do not differ. */
struct sim_rates {
	size_t regressions;	/* gates with at least one */
	size_t improvements;
	size_t passed, inconclusive;
};

/* Facts vary in every fourth gate. */
static inline struct sim_rates sim_nothing(struct sim *s, const struct policy *p, enum shape shape, size_t nr_pairs,
					   size_t gates)
{
	struct sim_rates r = { 0 };

	for (size_t i = 0; i < gates; i++) {
		struct gate g;

		sim_fill(s, shape, nr_pairs, i % 4 == 3);
		if (gate_judge(&g, &(struct gate_input){ &s->side[0], &s->side[1], p, 0 }, NULL))
			abort();
		r.regressions += g.count[VERDICT_REGRESSION] > 0;
		r.improvements += g.count[VERDICT_IMPROVED] > 0;
		r.passed += g.status == EXIT_DONE;
		r.inconclusive += g.status == EXIT_INCONCLUSIVE;
		gate_release(&g);
	}
	return r;
}

/* How many gates find that a candidate has @factor times as much of @metric, with 5 % noise in all. */
static inline size_t sim_found(struct sim *s, const struct policy *p, const char *metric, double factor,
			       size_t nr_pairs, size_t gates)
{
	size_t found = 0;

	for (size_t i = 0; i < gates; i++) {
		struct gate g;

		sim_fill(s, SHAPE_NORMAL, nr_pairs, false);
		sim_change(s, metric, factor);
		if (gate_judge(&g, &(struct gate_input){ &s->side[0], &s->side[1], p, 0 }, NULL))
			abort();
		for (size_t k = 0; k < g.nr; k++)
			found += g.verdicts[k].rule->metric == metric_find(metric) &&
				 g.verdicts[k].result == VERDICT_REGRESSION;
		gate_release(&g);
	}
	return found;
}

#endif
