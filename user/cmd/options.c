// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/options.h"

#include <stddef.h>

int options_parse(int argc, char **argv, const char *letters, const struct option *table,
		  options_take *take, void *options, struct err *e)
{
	int opt, err = 0;

	opterr = 0;
	optind = 1;
	while (!err && (opt = getopt_long(argc, argv, letters, table, NULL)) != -1) {
		if (opt == 'h')
			return 1;
		err = take(options, opt, argv, e);
	}
	return err;
}
