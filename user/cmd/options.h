/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of a command, by getopt_long(3). */
#ifndef GVL_CMD_OPTIONS_H
#define GVL_CMD_OPTIONS_H

#include <getopt.h>

#include "util/err.h"

/* Takes one of them, as getopt_long() gave it, into @options. 0 or -errno with @e set. */
typedef int options_take(void *options, int opt, char **argv, struct err *e);

/*
 * Gives all options to @take, up to the first that it refuses or 'h'. 0 with optind at the first operand, 1 for
 * 'h': help is wanted, or -errno with @e set. Those that are not in @letters and @table come as '?'.
 */
int options_parse(int argc, char **argv, const char *letters, const struct option *table,
		  options_take *take, void *options, struct err *e);

#endif
