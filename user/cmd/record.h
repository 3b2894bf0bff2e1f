/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The JSON chunks of a trace, made from a capture. */
#ifndef GVL_CMD_RECORD_H
#define GVL_CMD_RECORD_H

#include "probe/capture.h"

/* Both return a text to free, or NULL without memory. */
char *record_facts(const struct capture *c, const char *command_line);
char *record_totals(struct capture *c, enum capture_end end);

#endif
