// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/format.h"
#include "cmd/options.h"
#include "cmd/stop.h"
#include "util/parse.h"
#include "util/scope.h"

static const char usage[] =
	"usage: gvlscope bench close|copy|gvl [options]\n"
	"\n"
	"Measures on this machine what designs of Ruby's lock cost, with reference implementations:\n"
	"no Ruby is needed, none is touched.\n"
	"\n"
	"  close   IO#close among blocked readers: one list of all, a list for each IO, and others\n"
	"  copy    IO::Buffer#copy with the lock held and without it, by 1 to 32 threads\n"
	"  gvl     to release the lock and to acquire it again, alone and contended\n"
	"\n"
	"  -f, --format FORMAT   text (default), json or markdown\n"
	"      --readers N       close: up to N blocked readers, each a thread (default 10000)\n"
	"      --sweep           copy: the size from which releasing the lock pays\n"
	"  -q, --quiet           say nothing on standard error but errors\n"
	"  -h, --help\n";

static const struct benchmark {
	const char *name;
	int (*run)(struct findings *f, const struct bench_options *o, struct err *e);
	bool has_readers, has_sweep;
} benchmarks[] = {
	{ .name = "close", .run = bench_close, .has_readers = true },
	{ .name = "copy", .run = bench_copy, .has_sweep = true },
	{ .name = "gvl", .run = bench_gvl },
};

struct options {
	const struct benchmark *benchmark;
	struct bench_options bench;
	enum format format;
	bool is_quiet;
};

enum { OPT_READERS = 256, OPT_SWEEP };

static const struct option long_options[] = {
	{ "format", required_argument, NULL, 'f' },
	{ "readers", required_argument, NULL, OPT_READERS },
	{ "sweep", no_argument, NULL, OPT_SWEEP },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int parse_readers(const char *arg, uint32_t *out, struct err *e)
{
	uint64_t nr;

	if (parse_u64(arg, &nr) || !nr || nr > UINT32_MAX)
		return err_set(e, REASON_USAGE, -EINVAL, "--readers %s: not a number of readers", arg);
	*out = nr;
	return 0;
}

static int parse_one(void *options, int opt, char **argv, struct err *e)
{
	struct options *o = options;

	switch (opt) {
	case 'f':
		return format_parse(optarg, &o->format, e);
	case OPT_READERS:
		return parse_readers(optarg, &o->bench.max_readers, e);
	case OPT_SWEEP:
		o->bench.is_sweep = true;
		return 0;
	case 'q':
		o->is_quiet = true;
		return 0;
	}
	return err_set(e, REASON_USAGE, -EINVAL, "bench %s: unknown option or missing value",
		       argv[optind - 1]);
}

static int parse_benchmark(struct options *o, const char *name, struct err *e)
{
	const struct benchmark *b = NULL;

	for (size_t i = 0; i < ARRAY_LEN(benchmarks); i++)
		if (strcmp(benchmarks[i].name, name) == 0)
			b = &benchmarks[i];
	if (!b)
		return err_set(e, REASON_USAGE, -EINVAL, "bench %s: not one of close, copy, gvl", name);
	if (o->bench.max_readers && !b->has_readers)
		return err_set(e, REASON_USAGE, -EINVAL, "bench %s: --readers is for close", name);
	if (o->bench.is_sweep && !b->has_sweep)
		return err_set(e, REASON_USAGE, -EINVAL, "bench %s: --sweep is for copy", name);
	o->benchmark = b;
	return 0;
}

/* 0, or 1 if only help was wanted, or -errno with @e set. */
static int parse(struct options *o, int argc, char **argv, struct err *e)
{
	int err;

	*o = (struct options){ 0 };
	err = options_parse(argc, argv, "f:qh", long_options, parse_one, o, e);
	if (err)
		return err;
	if (argc - optind != 1)
		return err_set(e, REASON_USAGE, -EINVAL, "bench: give one of close, copy, gvl");
	return parse_benchmark(o, argv[optind], e);
}

static int measure(struct findings *f, struct options *o, struct err *e)
{
	struct stop stop;
	int err = stop_start(&stop, e);

	if (err)
		return err;
	o->bench.is_interrupted = &stop.is_interrupted;
	if (!o->is_quiet)
		fprintf(stderr, "Measuring; Ctrl-C ends it\n");
	err = o->benchmark->run(f, &o->bench, e);
	stop_end(&stop);
	return err;
}

static int bench(struct options *o, struct err *e)
{
	auto_release(findings_release) struct findings f = {
		.schema = "gvlscope.bench/1", .name = o->benchmark->name,
	};
	int err = measure(&f, o, e), printed;

	if (err && err != -EINTR)
		return err;
	printed = format_findings(&f, o->format, e);
	if (printed || !err)
		return printed;
	return err_set(e, REASON_SYS, err, "bench %s: interrupted, the result is incomplete",
		       o->benchmark->name);
}

int cmd_bench(int argc, char **argv)
{
	struct options o;
	struct err e = { 0 };
	int err = parse(&o, argc, argv, &e);

	if (!err)
		err = bench(&o, &e);
	return cmd_end(err, usage, &e);
}
