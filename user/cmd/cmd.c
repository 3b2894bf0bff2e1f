// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/cmd.h"

#include <stdio.h>

int cmd_fail(const struct err *e)
{
	const char *remedy = reason_remedy(e->reason);

	fprintf(stderr, "gvlscope: %s\n", e->msg);
	if (*remedy)
		fprintf(stderr, "  %s\n", remedy);
	return reason_status(e->reason);
}

int cmd_end(int err, const char *usage, const struct err *e)
{
	if (err > 0)
		fputs(usage, stdout);
	return err < 0 ? cmd_fail(e) : EXIT_DONE;
}
