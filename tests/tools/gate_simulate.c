// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * How often a gate is wrong: `gate_simulate [GATES [SEED]]` judges so many pairs of sides for each kind of noise
 * and number of pairs, with the built-in policy, and fails if that is more often than it may be. The figures are
 * in docs/gate.md.
 */
#include <stdio.h>

#include "tests/unit/gate_runs.h"
#include "util/scope.h"

static struct sim sim;
static const size_t pairs[] = { 5, 10, 20 };

/* The share of gates with a false regression, at most. */
static double print_nothing(const struct policy *p, size_t gates)
{
	double most = 0;

	printf("nothing differs       pairs  regression  improved   passed  inconclusive\n");
	for (int s = 0; s < SHAPES; s++) {
		for (size_t k = 0; k < ARRAY_LEN(pairs); k++) {
			struct sim_rates r = sim_nothing(&sim, p, s, pairs[k], gates);
			double percent = 100.0 / gates;

			printf("%-20s %6zu %9.2f %% %7.2f %% %6.1f %% %11.1f %%\n", shape_names[s], pairs[k],
			       percent * r.regressions, percent * r.improvements, percent * r.passed,
			       percent * r.inconclusive);
			most = fmax(most, (double)r.regressions / gates);
		}
	}
	return most;
}

/* The share of 10 % that is found with 20 pairs. */
static double print_found(const struct policy *p, size_t gates)
{
	static const double percents[] = { 5, 8, 10, 15 };
	double at_ten = 0;

	printf("\nfound, of gvl.hold_ns.mean with 5 %% noise\nslower by");
	for (size_t k = 0; k < ARRAY_LEN(pairs); k++)
		printf("  %2zu pairs", pairs[k]);
	for (size_t i = 0; i < ARRAY_LEN(percents); i++) {
		printf("\n%7.0f %%", percents[i]);
		for (size_t k = 0; k < ARRAY_LEN(pairs); k++) {
			double share = (double)sim_found(&sim, p, "gvl.hold_ns.mean", 1 + percents[i] / 100,
							 pairs[k], gates) / gates;

			printf("  %6.1f %%", 100 * share);
			if (percents[i] == 10 && pairs[k] == 20)
				at_ten = share;
		}
	}
	printf("\n");
	return at_ten;
}

int main(int argc, char **argv)
{
	size_t gates = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 6;
	double alarms, found;
	struct policy p;

	if (!gates || policy_parse(&p, "built-in", NULL, NULL))
		return 2;
	sim.random = seed;
	printf("seed %ju, %zu gates each, %zu rules\n\n", (uintmax_t)seed, gates, p.nr);
	alarms = print_nothing(&p, gates);
	found = print_found(&p, (gates + 2) / 3);
	policy_release(&p);
	return alarms > 0.01 || found < 0.95;
}
