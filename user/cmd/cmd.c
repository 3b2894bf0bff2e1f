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
