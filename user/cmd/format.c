// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "render/findings.h"

int format_parse(const char *arg, enum format *out, struct err *e)
{
	static const char *const formats[FORMAT_COUNT] = { "text", "json", "markdown" };

	for (int i = 0; i < FORMAT_COUNT; i++) {
		if (strcmp(arg, formats[i]) == 0) {
			*out = i;
			return 0;
		}
	}
	return err_set(e, REASON_USAGE, -EINVAL, "-f %s: not one of text, json, markdown", arg);
}

bool format_is_bold(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && strcmp(term, "dumb") == 0);
}

int format_findings(const struct findings *f, enum format format, struct err *e)
{
	switch (format) {
	case FORMAT_JSON:
		return findings_json(f, stdout, e);
	case FORMAT_MARKDOWN:
		return findings_markdown(f, stdout, e);
	default:
		return findings_text(f, stdout, format_is_bold(), e);
	}
}
