// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/record_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "target/find.h"
#include "util/parse.h"
#include "util/scope.h"

static const char usage[] =
	"usage: gvlscope record (-p PID[,PID...] | --comm NAME | -- COMMAND...) [options]\n"
	"\n"
	"Traces the GVL of running Ruby processes and writes a trace file for `gvlscope report`.\n"
	"A COMMAND is held before its program's first line until tracing is on; what it executes\n"
	"(exec) is followed, what it starts besides only with --children.\n"
	"\n"
	"  -p, --pid PID[,PID...]   trace these processes\n"
	"      --comm NAME          trace every Ruby process called NAME\n"
	"  -d, --duration TIME      stop after TIME (5s, 200ms, 2m); default: Ctrl-C or its end\n"
	"  -o, --output FILE        trace file, - for stdout (default gvlscope.gvs)\n"
	"      --method METHOD      sites: learn by watching, then probe (default); watch: only watch\n"
	"      --only LIST          measure only these: gvl, close, block, copy (default: all; gvl always)\n"
	"      --region-names       name the C functions that run without the lock (one more probe)\n"
	"      --copies HOW         exact: tell each large copy, not only IO::Buffer's; sampled (default)\n"
	"      --copy-min BYTES     smaller copies are only tallied (default 16K)\n"
	"      --budget PCT         cost the process at most PCT percent of its time\n"
	"      --children           follow forked processes\n"
	"      --layout-from VER    try the layout of Ruby VER for an unknown version\n"
	"      --ring-size BYTES    buffer between kernel and tool (power of two; default 16M)\n"
	"  -v, --verbose            say more;  -q, --quiet  say only what failed\n"
	"  -h, --help\n";

static int parse_pids(struct record_options *o, const char *arg, struct err *e)
{
	auto_free char *copy = strdup(arg);
	char *save = NULL;

	if (!copy)
		return err_nomem(e);
	for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		uint64_t pid;

		if (parse_u64(s, &pid) || pid == 0 || pid > INT32_MAX)
			return err_set(e, REASON_USAGE, -EINVAL, "-p %s: not a process id", s);
		if (o->nr_pids == PIDS_MAX)
			return err_set(e, REASON_USAGE, -E2BIG, "-p: more than %d processes",
				       PIDS_MAX);
		o->pids[o->nr_pids++] = pid;
	}
	return 0;
}

static int parse_method(const char *arg, enum method *out, struct err *e)
{
	for (enum method m = METHOD_SITES; m <= METHOD_WATCH; m++)
		if (strcmp(arg, method_name(m)) == 0) {
			*out = m;
			return 0;
		}
	return err_set(e, REASON_USAGE, -EINVAL, "--method %s: not one of sites, watch", arg);
}

enum { OPT_COMM = 256, OPT_METHOD, OPT_ONLY, OPT_REGIONS, OPT_COPIES,
       OPT_COPY_MIN, OPT_BUDGET, OPT_CHILDREN, OPT_LAYOUT, OPT_RING };

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "comm", required_argument, NULL, OPT_COMM },
	{ "duration", required_argument, NULL, 'd' },
	{ "output", required_argument, NULL, 'o' },
	{ "method", required_argument, NULL, OPT_METHOD },
	{ "only", required_argument, NULL, OPT_ONLY },
	{ "region-names", no_argument, NULL, OPT_REGIONS },
	{ "copies", required_argument, NULL, OPT_COPIES },
	{ "copy-min", required_argument, NULL, OPT_COPY_MIN },
	{ "budget", required_argument, NULL, OPT_BUDGET },
	{ "children", no_argument, NULL, OPT_CHILDREN },
	{ "layout-from", required_argument, NULL, OPT_LAYOUT },
	{ "ring-size", required_argument, NULL, OPT_RING },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int parse_comm(struct record_options *o, const char *name, struct err *e)
{
	int n = find_rubies(name, o->pids + o->nr_pids, PIDS_MAX - o->nr_pids);

	if (n <= 0)
		return err_set(e, REASON_NO_PROCESS, -ESRCH, "--comm %s: no Ruby process is called so",
			       name);
	o->nr_pids += n;
	return 0;
}

static int parse_ring(const char *arg, uint32_t *out, struct err *e)
{
	uint64_t n;

	if (parse_size(arg, &n) || n < 4096 || n > 1u << 30 || (n & (n - 1)))
		return err_set(e, REASON_USAGE, -EINVAL,
			       "--ring-size %s: not a power of two from 4K to 1G", arg);
	*out = n;
	return 0;
}

static int parse_only(const char *arg, unsigned int *out, struct err *e)
{
	static const struct {
		const char *name;
		unsigned int measures;
	} parts[] = { { "gvl", 0 }, { "close", MEASURE_CLOSE }, { "block", MEASURE_BLOCK },
		      { "copy", MEASURE_COPY } };
	auto_free char *copy = strdup(arg);
	char *save = NULL;

	if (!copy)
		return err_nomem(e);
	*out = 0;
	for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		size_t i = 0;

		while (i < ARRAY_LEN(parts) && strcmp(s, parts[i].name) != 0)
			i++;
		if (i == ARRAY_LEN(parts))
			return err_set(e, REASON_USAGE, -EINVAL,
				       "--only %s: not one of gvl, close, block, copy", s);
		*out |= parts[i].measures;
	}
	return 0;
}

static int parse_copies(const char *arg, unsigned int *out, struct err *e)
{
	*out = strcmp(arg, "exact") == 0 ? MEASURE_LARGE : 0;
	if (*out || strcmp(arg, "sampled") == 0)
		return 0;
	return err_set(e, REASON_USAGE, -EINVAL, "--copies %s: not one of exact, sampled", arg);
}

static int parse_copy_min(const char *arg, uint32_t *out, struct err *e)
{
	uint64_t n;

	if (parse_size(arg, &n) || n > 1u << 30)
		return err_set(e, REASON_USAGE, -EINVAL, "--copy-min %s: not a size up to 1G", arg);
	*out = n;
	return 0;
}

static int parse_budget(const char *arg, double *out, struct err *e)
{
	double pct;

	if (parse_double(arg, &pct) || !(pct > 0 && pct <= 100))
		return err_set(e, REASON_USAGE, -EINVAL, "--budget %s: not a percentage above 0 and up to 100", arg);
	*out = pct / 100;
	return 0;
}

static int parse_one(struct record_options *o, int opt, const char *arg, struct err *e)
{
	switch (opt) {
	case 'p':
		return parse_pids(o, arg, e);
	case OPT_COMM:
		return parse_comm(o, arg, e);
	case 'd':
		if (parse_time(arg, &o->duration_ns) || !o->duration_ns)
			return err_set(e, REASON_USAGE, -EINVAL, "-d %s: not a time like 5s or 200ms",
				       arg);
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_METHOD:
		return parse_method(arg, &o->capture.method, e);
	case OPT_ONLY:
		return parse_only(arg, &o->capture.measures, e);
	case OPT_REGIONS:
		o->functions = MEASURE_FUNCTIONS;
		return 0;
	case OPT_COPIES:
		return parse_copies(arg, &o->copies, e);
	case OPT_COPY_MIN:
		return parse_copy_min(arg, &o->capture.copy_min, e);
	case OPT_BUDGET:
		return parse_budget(arg, &o->capture.budget, e);
	case OPT_CHILDREN:
		o->capture.children = true;
		return 0;
	case OPT_LAYOUT:
		o->capture.ruby.layout_from = arg;
		return 0;
	case OPT_RING:
		return parse_ring(arg, &o->capture.ring_bytes, e);
	case 'v':
		o->capture.verbose = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	default:
		return err_set(e, REASON_USAGE, -EINVAL, "record: unknown option or missing value");
	}
}

int record_options_parse(struct record_options *o, int argc, char **argv, struct err *e)
{
	int opt, err;

	*o = (struct record_options){ .output = "gvlscope.gvs", .capture.measures = MEASURE_ALL,
			       .capture.copy_min = COPYING_MIN_BYTES };
	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "+p:d:o:vqh", long_options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			exit(EXIT_DONE);
		}
		err = parse_one(o, opt, optarg, e);
		if (err)
			return err;
	}
	if (o->capture.measures & MEASURE_BLOCK)
		o->capture.measures |= o->functions;
	if (o->capture.measures & MEASURE_COPY)
		o->capture.measures |= o->copies;
	if (optind < argc)
		o->command = argv + optind;
	if (o->command && strcmp(o->output, "-") == 0)
		return err_set(e, REASON_USAGE, -EINVAL,
			       "record: -o - with a command: its output would be in the trace; give a file");
	if (!o->nr_pids == !o->command)
		return err_set(e, REASON_USAGE, -EINVAL,
			       "record: give either -p PID, --comm NAME or -- COMMAND");
	return 0;
}
