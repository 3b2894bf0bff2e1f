// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/report.h"

#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/format.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "util/parse.h"
#include "util/scope.h"

static const char usage[] =
	"usage: gvlscope report FILE [options]\n"
	"\n"
	"Says what a trace file of `gvlscope record` holds; FILE - is standard input.\n"
	"\n"
	"  -f, --format FORMAT      text (default), json or markdown\n"
	"      --by WHAT            thread (default): who held the lock and who waited;\n"
	"                           call: all calls for which threads released it\n"
	"      --from NS, --to NS   only this part of the capture (CLOCK_MONOTONIC, ns)\n"
	"  -h, --help\n";

struct report_options {
	const char *path;
	enum format format;
	enum report_by by;
	struct lock_window window;
};

enum { OPT_BY = 256, OPT_FROM, OPT_TO };

static const struct option long_options[] = {
	{ "format", required_argument, NULL, 'f' },
	{ "by", required_argument, NULL, OPT_BY },
	{ "from", required_argument, NULL, OPT_FROM },
	{ "to", required_argument, NULL, OPT_TO },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int parse_by(const char *arg, enum report_by *out, struct err *e)
{
	if (strcmp(arg, "thread") == 0)
		*out = REPORT_BY_THREAD;
	else if (strcmp(arg, "call") == 0)
		*out = REPORT_BY_CALL;
	else
		return err_set(e, REASON_USAGE, -EINVAL, "--by %s: not one of thread, call", arg);
	return 0;
}

static int parse_ns(const char *option, const char *arg, uint64_t *out, struct err *e)
{
	if (parse_u64(arg, out))
		return err_set(e, REASON_USAGE, -EINVAL, "%s %s: not a number of nanoseconds",
			       option, arg);
	return 0;
}

static int parse_one(void *options, int opt, char **argv, struct err *e)
{
	struct report_options *o = options;

	switch (opt) {
	case 'f':
		return format_parse(optarg, &o->format, e);
	case OPT_BY:
		return parse_by(optarg, &o->by, e);
	case OPT_FROM:
		return parse_ns("--from", optarg, &o->window.from_ns, e);
	case OPT_TO:
		return parse_ns("--to", optarg, &o->window.to_ns, e);
	}
	return err_set(e, REASON_USAGE, -EINVAL, "report %s: unknown option or missing value",
		       argv[optind - 1]);
}

/* 0, or 1 if only help was wanted, or -errno with @e set. */
static int parse(struct report_options *o, int argc, char **argv, struct err *e)
{
	int err;

	*o = (struct report_options){ .window = { 0, UINT64_MAX } };
	err = options_parse(argc, argv, "f:h", long_options, parse_one, o, e);
	if (err)
		return err;
	if (argc - optind != 1)
		return err_set(e, REASON_USAGE, -EINVAL, "report: give one trace file, or -");
	if (o->window.from_ns >= o->window.to_ns)
		return err_set(e, REASON_USAGE, -EINVAL, "report: --from must be before --to");
	o->path = argv[optind];
	return 0;
}

static int print(const struct report_options *o, const struct report *r, struct err *e)
{
	switch (o->format) {
	case FORMAT_JSON:
		return report_json(r, stdout, e);
	case FORMAT_MARKDOWN:
		return report_markdown(r, stdout, e);
	default:
		return report_text(r, stdout, format_is_bold(), e);
	}
}

static int report(const struct report_options *o, struct err *e)
{
	auto_release(input_release) struct input in = { 0 };
	int err = input_read(&in, o->path, &o->window, o->by, e);

	return err ? err : print(o, &in.report, e);
}

int cmd_report(int argc, char **argv)
{
	struct report_options o;
	struct err e = { 0 };
	int err = parse(&o, argc, argv, &e);

	if (!err)
		err = report(&o, &e);
	return cmd_end(err, usage, &e);
}
