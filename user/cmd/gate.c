// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/gate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/format.h"
#include "cmd/gate_options.h"
#include "gate/baseline.h"
#include "render/gate.h"
#include "util/scope.h"

/* All that a gate is made of. */
struct gating {
	struct policy policy;
	struct runs runs[GATE_SIDES];
	struct gate gate;
};

static void gating_release(struct gating *g)
{
	gate_release(&g->gate);
	for (enum gate_side s = 0; s < GATE_SIDES; s++)
		runs_release(&g->runs[s]);
	policy_release(&g->policy);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* One file twice is not two runs. */
static int check_distinct(const struct gate_options *o, struct err *e)
{
	for (enum gate_side s = 0; s < GATE_SIDES; s++)
		for (size_t i = 0; i < o->files[s].nr; i++)
			for (size_t k = 0; k < i; k++)
				if (is_same_file(o->files[s].paths[i], o->files[s].paths[k]))
					return err_set(e, REASON_USAGE, -EINVAL, "gate: %s: given twice",
						       o->files[s].paths[i]);
	return 0;
}

/* What can be wrong with files is known before anything is run. */
static int read_files(const struct gate_options *o, struct gating *g, struct err *e)
{
	int err = check_distinct(o, e);

	if (!err)
		err = o->policy ? policy_read(&g->policy, o->policy, e) :
				  policy_parse(&g->policy, "", NULL, e);

	for (enum gate_side s = 0; s < GATE_SIDES; s++)
		for (size_t i = 0; !err && i < o->files[s].nr; i++)
			err = gate_read(&g->runs[s], o->files[s].paths[i], e);
	return err;
}

static int print(const struct gate_result *r, enum gate_format format, FILE *out, struct err *e)
{
	switch (format) {
	case GATE_JSON:
		return gate_json(r, out, e);
	case GATE_JUNIT:
		return gate_junit(r, out, e);
	case GATE_MARKDOWN:
		return gate_markdown(r, out, e);
	case GATE_GITHUB:
		return gate_github(r, out, e);
	case GATE_BENCHMARK_ACTION:
		return gate_benchmark_action(r, out, e);
	case GATE_BENCHER:
		return gate_bencher(r, out, e);
	default:
		return gate_text(r, out, out == stdout && format_is_bold(), e);
	}
}

static int print_to(const struct gate_result *r, const struct gate_output *o, struct err *e)
{
	FILE *out = o->path ? fopen(o->path, "we") : stdout;
	int err;

	if (!out)
		return err_sys(e, errno, o->path);
	err = print(r, o->format, out, e);
	if (out == stdout)
		return err;		/* it is checked at the very end */
	errno = 0;
	if ((ferror(out) | fclose(out)) && !err)
		return err_sys(e, errno ? errno : EIO, o->path);
	return err;
}

/* What could be measured is printed wherever that is possible; the first thing that went wrong is in @e. */
static int print_all(const struct gate_options *o, const struct gating *g, struct err *e)
{
	const struct gate_result r = {
		.gate = &g->gate, .policy = &g->policy, .policy_path = o->policy,
		.baseline = &g->runs[GATE_BASELINE], .candidate = &g->runs[GATE_CANDIDATE],
		.name = o->name, .seed = gate_options_run(o) ? &o->plan.seed : NULL,
	};

	int err = 0;

	for (size_t i = 0; i < o->nr_outputs; i++) {
		int failed = print_to(&r, &o->outputs[i], err ? NULL : e);

		err = err ? err : failed;
	}
	return err;
}

/* A first baseline has nothing to be compared with: no reason to doubt it. */
static void accept_first(const struct gate_options *o, struct gating *in)
{
	struct gate *g = &in->gate;

	if (o->save && !in->runs[GATE_BASELINE].nr && g->status == EXIT_INCONCLUSIVE &&
	    g->candidate_usable == in->runs[GATE_CANDIDATE].nr &&
	    g->count[VERDICT_NOT_MEASURED] == g->nr) {
		g->status = EXIT_DONE;
		snprintf(g->summary, sizeof(g->summary),
			 "there is nothing to compare with, this is the first baseline");
	}
}

/* What did not pass does not become what others are compared with. */
static int save(const struct gate_options *o, const struct gating *g, struct err *e)
{
	if (!o->save)
		return 0;
	if (g->gate.status == EXIT_DONE)
		return baseline_write(&g->runs[GATE_CANDIDATE], o->save, e);
	fprintf(stderr, "%s: not written, as the gate did not pass\n", o->save);
	return 0;
}

/* 0 and the gate's exit status, or -errno with @e set. */
static int gate(const struct gate_options *o, int *status, struct err *e)
{
	auto_release(gating_release) struct gating g = { 0 };
	int err = read_files(o, &g, e);

	if (!err && gate_options_run(o))
		err = gate_run(&o->plan, g.runs, e);
	if (!err)
		err = gate_judge(&g.gate, &(struct gate_input){
			.baseline = &g.runs[GATE_BASELINE], .candidate = &g.runs[GATE_CANDIDATE],
			.policy = &g.policy, .may_differ = o->may_differ }, e);
	accept_first(o, &g);
	if (!err)
		err = print_all(o, &g, e);
	if (!err)
		err = save(o, &g, e);
	*status = g.gate.status;
	return err;
}

int cmd_gate(int argc, char **argv)
{
	auto_release(gate_options_release) struct gate_options o;
	struct err e = { 0 };
	int err = gate_options_parse(&o, argc, argv, &e), status = EXIT_DONE;

	if (err > 0)
		return EXIT_DONE;
	if (!err)
		err = gate(&o, &status, &e);
	return err ? cmd_fail(&e) : status;
}
