// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/gate_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "gate/policy.h"
#include "util/parse.h"
#include "util/scope.h"

enum { RUNS = 20, RUNS_MAX = 10000 };

static const char usage[] =
	"usage: gvlscope gate --candidate FILE... [--baseline FILE...] [options]\n"
	"       gvlscope gate --run-candidate COMMAND [--run-baseline COMMAND] [options]\n"
	"\n"
	"Says whether a program is worse than it was. A FILE is a trace of `gvlscope record`, its\n"
	"report as JSON, or a baseline. A COMMAND is run and traced here; it is split into words as a\n"
	"shell does that (for more: \"sh -c 'cd app; exec ruby x.rb'\"). Without a baseline only the\n"
	"policy's bounds are checked.\n"
	"\n"
	"  -f, --format FORMAT       text (default), json, junit, markdown, github (annotations),\n"
	"                            benchmark-action (customSmallerIsBetter), bencher. FORMAT=FILE\n"
	"                            writes it there; several may be given\n"
	"      --policy FILE         what to check; --print-policy prints the built-in one\n"
	"      --may-differ LIST     compare times in spite of it: cpu, cpus, kernel, ruby, tool, options\n"
	"      --save-baseline FILE  write the candidate's runs to it, if the gate passes\n"
	"      --name NAME           of what is measured (default gvlscope)\n"
	"  -n, --runs N              run each COMMAND N times, in random order (default 20)\n"
	"      --warmup K            before that K times that do not count (default 0)\n"
	"      --seed S              of the random order\n"
	"  -q, --quiet               say nothing on standard error but errors\n"
	"  -h, --help\n"
	"\n"
	"Exit status: 0 passed, 3 regression, 4 inconclusive, 77 cannot measure here.\n";

enum { OPT_CANDIDATE = 256, OPT_BASELINE, OPT_RUN_CANDIDATE, OPT_RUN_BASELINE, OPT_POLICY, OPT_PRINT,
       OPT_DIFFER, OPT_SAVE, OPT_NAME, OPT_WARMUP, OPT_SEED };

static const struct option long_options[] = {
	{ "candidate", required_argument, NULL, OPT_CANDIDATE },
	{ "baseline", required_argument, NULL, OPT_BASELINE },
	{ "run-candidate", required_argument, NULL, OPT_RUN_CANDIDATE },
	{ "run-baseline", required_argument, NULL, OPT_RUN_BASELINE },
	{ "format", required_argument, NULL, 'f' },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "print-policy", no_argument, NULL, OPT_PRINT },
	{ "may-differ", required_argument, NULL, OPT_DIFFER },
	{ "save-baseline", required_argument, NULL, OPT_SAVE },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "runs", required_argument, NULL, 'n' },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int parse_format(const char *arg, size_t len, enum gate_format *out, struct err *e)
{
	static const char *const formats[GATE_FORMATS] = {
		"text", "json", "junit", "markdown", "github", "benchmark-action", "bencher",
	};

	for (int i = 0; i < GATE_FORMATS; i++) {
		if (strlen(formats[i]) == len && strncmp(arg, formats[i], len) == 0) {
			*out = i;
			return 0;
		}
	}
	return err_set(e, REASON_USAGE, -EINVAL,
		       "-f %s: not one of text, json, junit, markdown, github, benchmark-action, bencher", arg);
}

/* FORMAT or FORMAT=FILE */
static int parse_output(struct gate_options *o, const char *arg, struct err *e)
{
	size_t len = strcspn(arg, "=");
	struct gate_output out = { .path = arg[len] ? arg + len + 1 : NULL };
	int err = parse_format(arg, len, &out.format, e);

	if (err)
		return err;
	for (size_t i = 0; i < o->nr_outputs; i++)
		if (o->outputs[i].format == out.format || (!o->outputs[i].path && !out.path))
			return err_set(e, REASON_USAGE, -EINVAL,
				       "-f %s: each format is printed once, one of them to standard output",
				       arg);
	o->outputs[o->nr_outputs++] = out;
	return 0;
}

/* People want to read something, too. */
static void add_text(struct gate_options *o)
{
	for (size_t i = 0; i < o->nr_outputs; i++)
		if (!o->outputs[i].path || o->outputs[i].format == GATE_TEXT)
			return;
	o->outputs[o->nr_outputs++] = (struct gate_output){ GATE_TEXT, NULL };
}

static int parse_part(const char *word, unsigned int *out, struct err *e)
{
	for (int p = 0; p < FINGERPRINT_PARTS; p++) {
		if (strcmp(word, fingerprint_part_name(p)) == 0) {
			*out |= 1u << p;
			return 0;
		}
	}
	return err_set(e, REASON_USAGE, -EINVAL,
		       "--may-differ %s: not one of cpu, cpus, kernel, ruby, tool, options", word);
}

static int parse_differ(const char *arg, unsigned int *out, struct err *e)
{
	auto_free char *copy = strdup(arg);
	char *save = NULL;

	if (!copy)
		return err_nomem(e);
	for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		int err = parse_part(s, out, e);

		if (err)
			return err;
	}
	return 0;
}

static int parse_number(const char *option, const char *arg, uint64_t least, uint64_t most, uint64_t *out,
			struct err *e)
{
	uint64_t n;

	if (parse_u64(arg, &n) || n < least || n > most)
		return err_set(e, REASON_USAGE, -EINVAL, "%s %s: not a number from %ju to %ju", option, arg,
			       (uintmax_t)least, (uintmax_t)most);
	*out = n;
	return 0;
}

static int parse_plan(struct gate_options *o, int opt, struct err *e)
{
	o->has_plan = true;
	o->has_seed |= opt == OPT_SEED;
	switch (opt) {
	case 'n':
		return parse_number("-n", optarg, 1, RUNS_MAX, &o->plan.nr, e);
	case OPT_WARMUP:
		return parse_number("--warmup", optarg, 0, RUNS_MAX, &o->plan.warmup, e);
	default:
		return parse_number("--seed", optarg, 0, INT64_MAX, &o->plan.seed, e);
	}
}

/* No shell runs it: most would stay its parent, and only what is executed in its place is traced. */
static int parse_command(struct gate_options *o, const char *option, enum gate_side side, struct err *e)
{
	wordexp_t *w = &o->words[side];
	int err;

	wordfree(w);
	*w = (wordexp_t){ 0 };
	err = wordexp(optarg, w, WRDE_NOCMD);
	if (err == WRDE_NOSPACE)
		return err_nomem(e);
	if (err || !w->we_wordc)
		return err_set(e, REASON_USAGE, -EINVAL,
			       "%s %s: not words of one command, as a shell splits them", option, optarg);
	o->plan.commands[side] = w->we_wordv;
	return 0;
}

static void add_file(struct gate_options *o, enum gate_side side, char *path)
{
	o->files[side].paths[o->files[side].nr++] = path;
}

/* @side is the one that files are for which follow without an option; GATE_SIDES: none was named. */
static int parse_one(struct gate_options *o, int opt, enum gate_side *side, char **argv, struct err *e)
{
	switch (opt) {
	case OPT_CANDIDATE:
	case OPT_BASELINE:
		*side = opt == OPT_CANDIDATE ? GATE_CANDIDATE : GATE_BASELINE;
		add_file(o, *side, optarg);
		return 0;
	case 1:
		if (*side == GATE_SIDES)
			return err_set(e, REASON_USAGE, -EINVAL,
				       "gate %s: say whose file it is, --candidate or --baseline", optarg);
		add_file(o, *side, optarg);
		return 0;
	case OPT_RUN_CANDIDATE:
		return parse_command(o, "--run-candidate", GATE_CANDIDATE, e);
	case OPT_RUN_BASELINE:
		return parse_command(o, "--run-baseline", GATE_BASELINE, e);
	case 'f':
		return parse_output(o, optarg, e);
	case OPT_POLICY:
		o->policy = optarg;
		return 0;
	case OPT_DIFFER:
		return parse_differ(optarg, &o->may_differ, e);
	case OPT_SAVE:
		o->save = optarg;
		return 0;
	case OPT_NAME:
		o->name = optarg;
		return 0;
	case 'q':
		o->plan.is_quiet = true;
		return 0;
	case 'n':
	case OPT_WARMUP:
	case OPT_SEED:
		return parse_plan(o, opt, e);
	}
	return err_set(e, REASON_USAGE, -EINVAL, "gate %s: unknown option or missing value",
		       argv[optind - 1]);
}

bool gate_options_run(const struct gate_options *o)
{
	return o->plan.commands[GATE_BASELINE] || o->plan.commands[GATE_CANDIDATE];
}

static int check(struct gate_options *o, struct err *e)
{
	char ***commands = o->plan.commands;

	if (!o->files[GATE_CANDIDATE].nr && !commands[GATE_CANDIDATE])
		return err_set(e, REASON_USAGE, -EINVAL,
			       "gate: give --candidate FILE... or --run-candidate COMMAND");
	if (o->files[GATE_CANDIDATE].nr && gate_options_run(o))
		return err_set(e, REASON_USAGE, -EINVAL,
			       "gate: a candidate from files is compared with files; nothing is run");
	if (o->files[GATE_BASELINE].nr && commands[GATE_BASELINE])
		return err_set(e, REASON_USAGE, -EINVAL,
			       "gate: the baseline is either --baseline FILE... or --run-baseline COMMAND");
	if (o->has_plan && !gate_options_run(o))
		return err_set(e, REASON_USAGE, -EINVAL,
			       "gate: -n, --warmup and --seed are for --run-candidate and --run-baseline");
	if (!*o->name)
		return err_set(e, REASON_USAGE, -EINVAL, "gate: --name must not be empty");
	if (!o->has_seed && getrandom(&o->plan.seed, sizeof(uint32_t), 0) < 0)
		return err_sys(e, errno, "a random seed");
	return 0;
}

int gate_options_parse(struct gate_options *o, int argc, char **argv, struct err *e)
{
	enum gate_side side = GATE_SIDES;
	int opt, err = 0;

	*o = (struct gate_options){ .name = "gvlscope", .plan.nr = RUNS };
	for (enum gate_side s = 0; s < GATE_SIDES; s++) {
		o->files[s].paths = calloc(argc, sizeof(char *));
		if (!o->files[s].paths)
			return err_nomem(e);
	}
	opterr = 0;
	optind = 1;
	while (!err && (opt = getopt_long(argc, argv, "-f:n:qh", long_options, NULL)) != -1) {
		if (opt == 'h' || opt == OPT_PRINT) {
			fputs(opt == 'h' ? usage : policy_default, stdout);
			return 1;
		}
		err = parse_one(o, opt, &side, argv, e);
	}
	for (; !err && optind < argc; optind++) {
		optarg = argv[optind];
		err = parse_one(o, 1, &side, argv, e);
	}
	add_text(o);
	return err ? err : check(o, e);
}

void gate_options_release(struct gate_options *o)
{
	for (enum gate_side s = 0; s < GATE_SIDES; s++) {
		wordfree(&o->words[s]);
		free(o->files[s].paths);
	}
}
