/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Findings in three formats that agree. Text and markdown: the machine, the sentences, the facts, the
 * tables; a figure is written with its interval ("12.3 us +-4 %", the larger half of it), exact numbers
 * without. JSON:
 *
 *	{"schema", "name", "tool": {"version"}, "host": {"kernel", "arch", "cpus"},
 *	 "summary": [sentence], "facts": {key: V or text},
 *	 "tables": {key: [{column key: text, number or V}]}}
 *
 * with V = {"value", "low", "high", "min", "max", "n", "unit"}; the unit is "ns", "bytes", "bytes/s", "1/s",
 * "ratio", "share" or "count". In a table an exact number is just that; what has nothing in it is null.
 *
 * Labels and facts of text are cleaned here (render/clean.h); sentences must be clean text.
 */
#ifndef GVL_RENDER_FINDINGS_H
#define GVL_RENDER_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include "stat/findings.h"
#include "util/err.h"

int findings_text(const struct findings *f, FILE *out, bool is_bold, struct err *e);
int findings_markdown(const struct findings *f, FILE *out, struct err *e);
int findings_json(const struct findings *f, FILE *out, struct err *e);

#endif
