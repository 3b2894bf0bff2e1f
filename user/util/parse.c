// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "util/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/scope.h"

struct suffix {
	const char *text;
	uint64_t factor;
};

/* strtod() knows hexadecimal, infinity and more: only digits and a point are numbers here. */
static const char *read_number(const char *s, double *out)
{
	size_t n = strspn(s, "0123456789.");
	char *end;

	*out = n ? strtod(s, &end) : 0;
	return n && end == s + n ? end : NULL;
}

int parse_double(const char *s, double *out)
{
	double v;
	const char *end = read_number(s, &v);

	if (!end || *end)
		return -EINVAL;
	*out = v;
	return 0;
}

int parse_u64(const char *s, uint64_t *out)
{
	char *end;
	uint64_t v;

	if (!isdigit((unsigned char)s[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (*end || errno)
		return -EINVAL;
	*out = v;
	return 0;
}

static int parse_scaled(const char *s, const struct suffix *suffixes, size_t n, uint64_t *out)
{
	double v;
	const char *end = read_number(s, &v);

	if (!end)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(end, suffixes[i].text) != 0)
			continue;
		v *= suffixes[i].factor;
		if (v >= (double)INT64_MAX)
			return -EINVAL;
		*out = v;
		return 0;
	}
	return -EINVAL;
}

int parse_size(const char *s, uint64_t *out)
{
	static const struct suffix suffixes[] = {
		{ "", 1 }, { "K", 1 << 10 }, { "k", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 },
	};

	return parse_scaled(s, suffixes, ARRAY_LEN(suffixes), out);
}

int parse_time(const char *s, uint64_t *out)
{
	static const struct suffix suffixes[] = {
		{ "", NS_PER_SEC }, { "s", NS_PER_SEC }, { "ms", NS_PER_MS }, { "us", NS_PER_US },
		{ "ns", 1 }, { "m", 60 * NS_PER_SEC }, { "h", 3600 * NS_PER_SEC },
	};

	return parse_scaled(s, suffixes, ARRAY_LEN(suffixes), out);
}
