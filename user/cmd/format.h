/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What commands print their results as: the option -f. */
#ifndef GVL_CMD_FORMAT_H
#define GVL_CMD_FORMAT_H

#include <stdbool.h>

#include "util/err.h"

struct findings;

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_MARKDOWN,
	FORMAT_COUNT
};

/* 0, or -EINVAL with @e set. */
int format_parse(const char *arg, enum format *out, struct err *e);

/* Whether titles are to be bold: standard output is a terminal, and nobody objects. */
bool format_is_bold(void);

/* Prints @f to standard output. 0, or -errno with @e set. */
int format_findings(const struct findings *f, enum format format, struct err *e);

#endif
