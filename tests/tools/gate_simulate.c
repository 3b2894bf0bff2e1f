// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How often a gate is wrong, by simulation: `gate_simulate [GATES [SEED]]` judges that many pairs of sides for
 * each kind of noise and number of pairs, with the built-in policy. The figures are in docs/gate.md.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/gate_runs.h"
#include "util/scope.h"

static struct sim sim;

struct rates {
	size_t regressions;	/* gates with at least one */
	size_t improvements;
	size_t passed, open;
};

static struct rates judge(const struct policy *p, enum shape shape, size_t nr_pairs, size_t gates)
{
	struct rates r = { 0 };

	for (size_t i = 0; i < gates; i++) {
		struct gate g;

		sim_fill(&sim, shape, nr_pairs, i % 4 == 3);
		if (gate_judge(&g, &(struct gate_input){ &sim.side[0], &sim.side[1], p, 0 }, NULL))
			exit(1);
		r.regressions += g.count[VERDICT_REGRESSION] > 0;
		r.improvements += g.count[VERDICT_IMPROVED] > 0;
		r.passed += g.status == EXIT_DONE;
		r.open += g.status == EXIT_INCONCLUSIVE;
		gate_release(&g);
	}
	return r;
}

/* How many gates find that @metric takes @factor times as long. */
static size_t found(const struct policy *p, const char *metric, double factor, size_t nr_pairs, size_t gates)
{
	size_t nr = 0;

	for (size_t i = 0; i < gates; i++) {
		struct gate g;

		sim_fill(&sim, SHAPE_NORMAL, nr_pairs, false);
		sim_change(&sim, metric, factor);
		if (gate_judge(&g, &(struct gate_input){ &sim.side[0], &sim.side[1], p, 0 }, NULL))
			exit(1);
		for (size_t k = 0; k < g.nr; k++)
			nr += g.verdicts[k].rule->metric == metric_find(metric) &&
			      g.verdicts[k].result == VERDICT_REGRESSION;
		gate_release(&g);
	}
	return nr;
}

int main(int argc, char **argv)
{
	static const size_t pairs[] = { 5, 10, 20 };
	static const double factors[] = { 1.05, 1.08, 1.1, 1.15 };
	size_t gates = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 6;
	struct policy p;

	if (policy_parse(&p, "built-in", NULL, NULL))
		return 1;
	sim.random = seed;
	printf("seed %ju, %zu gates each, %zu rules\n\n", (uintmax_t)seed, gates, p.nr);
	printf("nothing differs       pairs  regression  improved  passed  inconclusive\n");
	for (int s = 0; s < SHAPES; s++) {
		for (size_t k = 0; k < ARRAY_LEN(pairs); k++) {
			struct rates r = judge(&p, s, pairs[k], gates);

			printf("%-20s %6zu %9.2f %% %7.2f %% %5.1f %% %9.1f %%\n", shape_names[s], pairs[k],
			       100.0 * r.regressions / gates, 100.0 * r.improvements / gates,
			       100.0 * r.passed / gates, 100.0 * r.open / gates);
		}
	}
	printf("\ngvl.hold_ns.mean slower, 5 %% noise: found\nslower ");
	for (size_t k = 0; k < ARRAY_LEN(pairs); k++)
		printf(" %5zu pairs", pairs[k]);
	for (size_t f = 0; f < ARRAY_LEN(factors); f++) {
		printf("\n%4.0f %% ", 100 * (factors[f] - 1));
		for (size_t k = 0; k < ARRAY_LEN(pairs); k++)
			printf(" %9.1f %%",
			       100.0 * found(&p, "gvl.hold_ns.mean", factors[f], pairs[k], gates) / gates);
	}
	printf("\n");
	policy_release(&p);
	return 0;
}
