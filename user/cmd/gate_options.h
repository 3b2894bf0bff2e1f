/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line of `gvlscope gate`. */
#ifndef GVL_CMD_GATE_OPTIONS_H
#define GVL_CMD_GATE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <wordexp.h>

#include "cmd/gate.h"
#include "util/err.h"

enum gate_format {
	GATE_TEXT, GATE_JSON, GATE_JUNIT, GATE_MARKDOWN, GATE_GITHUB, GATE_BENCHMARK_ACTION, GATE_BENCHER,
	GATE_FORMATS
};

struct gate_output {
	enum gate_format format;
	const char *path;		/* NULL: standard output, one at most */
};

struct gate_options {
	struct {
		char **paths;
		size_t nr;
	} files[GATE_SIDES];
	struct gate_plan plan;
	wordexp_t words[GATE_SIDES];	/* the plan's */
	const char *policy, *save;	/* paths, or NULL */
	const char *name;
	struct gate_output outputs[GATE_FORMATS];
	size_t nr_outputs;
	unsigned int may_differ;	/* 1 << fingerprint_part */
	bool has_plan, has_seed;	/* -n and the like were given; the seed was */
};

/* 0, or 1 if only something was to be printed, or -errno with @e set. Release it always. */
int gate_options_parse(struct gate_options *o, int argc, char **argv, struct err *e);
void gate_options_release(struct gate_options *o);

/* Whether any side is run. */
bool gate_options_run(const struct gate_options *o);

#endif
