// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/format.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/stop.h"
#include "ref/copies.h"
#include "render/report.h"
#include "util/parse.h"
#include "util/scope.h"

static const char usage[] =
	"usage: gvlscope compare FILE [options]\n"
	"\n"
	"Says what the closes and copies of a trace file would cost with the other design, on this\n"
	"machine: with a list of waiters for each IO (Ruby 4.0) instead of one of all, with large\n"
	"copies of IO::Buffer made without the lock (Ruby 3.4) instead of with it. A trace of a Ruby\n"
	"that has the newer design is compared the other way round. FILE - is standard input.\n"
	"\n"
	"  -f, --format FORMAT   text (default), json or markdown\n"
	"      --threshold SIZE  copies: without the lock from this size on (default 1M)\n"
	"      --sweep           copies: with several such sizes\n"
	"  -q, --quiet           say nothing on standard error but errors\n"
	"  -h, --help\n";

struct options {
	const char *path;
	struct compare_options compare;
	enum format format;
	bool is_quiet;
};

enum { OPT_THRESHOLD = 256, OPT_SWEEP };

static const struct option long_options[] = {
	{ "format", required_argument, NULL, 'f' },
	{ "threshold", required_argument, NULL, OPT_THRESHOLD },
	{ "sweep", no_argument, NULL, OPT_SWEEP },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int parse_threshold(const char *arg, size_t *out, struct err *e)
{
	uint64_t n;

	if (parse_size(arg, &n) || !n || n >= SIZE_MAX / 2)
		return err_set(e, REASON_USAGE, -EINVAL, "--threshold %s: not a size", arg);
	*out = n;
	return 0;
}

static int parse_one(void *options, int opt, char **argv, struct err *e)
{
	struct options *o = options;

	switch (opt) {
	case 'f':
		return format_parse(optarg, &o->format, e);
	case OPT_THRESHOLD:
		return parse_threshold(optarg, &o->compare.threshold, e);
	case OPT_SWEEP:
		o->compare.is_sweep = true;
		return 0;
	case 'q':
		o->is_quiet = true;
		return 0;
	}
	return err_set(e, REASON_USAGE, -EINVAL, "compare %s: unknown option or missing value",
		       argv[optind - 1]);
}

/* 0, or 1 if only help was wanted, or -errno with @e set. */
static int parse(struct options *o, int argc, char **argv, struct err *e)
{
	int err;

	*o = (struct options){ .compare.threshold = REF_COPY_THRESHOLD };
	err = options_parse(argc, argv, "f:qh", long_options, parse_one, o, e);
	if (err)
		return err;
	if (argc - optind != 1)
		return err_set(e, REASON_USAGE, -EINVAL, "compare: give one trace file, or -");
	o->path = argv[optind];
	return 0;
}

static int add_event(void *schedule, const struct event *ev, struct err *e)
{
	return schedule_add(schedule, ev, e);
}

/* Large copies of IO::Buffer are made without the lock from 3.4 on (io_buffer.c, v3_4_0). */
static bool has_free_copies(const char *ruby)
{
	int major = 0, minor = 0;

	return ruby && sscanf(ruby, "%d.%d", &major, &minor) == 2 &&
	       (major > 3 || (major == 3 && minor >= 4));
}

/* A trace that lost events is compared by what it has, and says so. */
static void say_lost(struct findings *f, const struct report *r)
{
	json_int_t lost = 0;
	const char *key;
	json_t *count;

	json_object_foreach(r->lost, key, count)
		if (strcmp(key, "stale_events") != 0)
			lost += json_integer_value(count);
	if (lost)
		findings_say(f, "The trace lost something (%lld in all; see gvlscope report): what follows is "
			     "of what it has.", (long long)lost);
	if (!r->is_complete)
		findings_say(f, "The trace has no end: what follows is of what precedes the cut.");
}

/* Where an instruction cannot be emulated it is single-stepped: two traps. */
static double change_ns(const json_t *cost)
{
	double all = json_integer_value(json_object_get(cost, "hits_sites"));
	double stepped = json_integer_value(json_object_get(cost, "hits_stepped"));
	double emulated_ns = json_number_value(json_object_get(cost, "uprobe_ns"));
	double stepped_ns = json_number_value(json_object_get(cost, "uprobe_stepped_ns"));

	return all > 0 ? emulated_ns + (stepped_ns - emulated_ns) * stepped / all : emulated_ns;
}

static int read_trace(struct comparison *c, struct findings *f, const char *path, struct err *e)
{
	auto_release(input_release) struct input in = { 0 };
	const struct report *r = &in.report;
	int err = input_feed(&in, path, add_event, &c->schedule, e);

	if (!err)
		err = schedule_finish(&c->schedule, e);
	if (!err)
		err = input_report(&in, &c->schedule.profile, REPORT_BY_THREAD, e);
	if (err)
		return err;
	c->is_cut = !r->is_complete;
	c->trap_ns = json_number_value(json_object_get(r->cost, "uprobe_ns"));
	c->change_ns = change_ns(r->cost);
	c->walk_ns = json_number_value(json_object_get(r->cost, "walk_ns"));
	c->has_free_copies = has_free_copies(json_string_value(
		json_object_get(json_array_get(r->target, 0), "ruby")));
	say_lost(f, r);
	return 0;
}

static int run(struct options *o, struct err *e)
{
	auto_release(comparison_release) struct comparison c;
	auto_release(findings_release) struct findings f = {
		.schema = "gvlscope.compare/1", .name = o->path,
	};
	struct stop stop;
	int err;

	comparison_init(&c);
	err = read_trace(&c, &f, o->path, e);
	if (!err)
		err = stop_start(&stop, e);
	if (err)
		return err;
	if (!o->is_quiet)
		fprintf(stderr, "Doing it again, some seconds; Ctrl-C ends it\n");
	o->compare.is_interrupted = &stop.is_interrupted;
	err = compare(&f, &c, &o->compare, e);
	stop_end(&stop);
	if (err == -EINTR)
		return err_set(e, REASON_SYS, err, "compare: interrupted, there is no result");
	return err ? err : format_findings(&f, o->format, e);
}

int cmd_compare(int argc, char **argv)
{
	struct options o;
	struct err e = { 0 };
	int err = parse(&o, argc, argv, &e);

	if (!err)
		err = run(&o, &e);
	return cmd_end(err, usage, &e);
}
