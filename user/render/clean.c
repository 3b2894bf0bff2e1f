// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/clean.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct range {
	uint32_t first, last;
};

/* Controls, bidirectional controls, invisible separators and marks, noncharacters. */
static const struct range hidden[] = {
	{ 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x00ad, 0x00ad }, { 0x061c, 0x061c },
	{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xd800, 0xdfff }, { 0xfdd0, 0xfdef }, { 0xfeff, 0xfeff }, { 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff }, { 0xe0000, 0xe0fff },
};

/* Unicode's combining marks and East Asian wide characters, coarsely: only the layout depends. */
static const struct range combining[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff },
	{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
};
static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xa960, 0xa97f },
	{ 0xac00, 0xd7a3 }, { 0xf900, 0xfaff }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 },
	{ 0xffe0, 0xffe6 }, { 0x1f300, 0x1f64f }, { 0x1f680, 0x1faff }, { 0x20000, 0x3fffd },
};

static bool is_in(const struct range *ranges, size_t nr, uint32_t c)
{
	for (size_t i = 0; i < nr; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

#define IS_IN(ranges, c) is_in(ranges, sizeof(ranges) / sizeof(*(ranges)), c)

/* Reads one UTF-8 sequence. Its length, or 0 if it is not the shortest one of a character. */
static size_t decode(const char *s, uint32_t *c)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *u = (const unsigned char *)s;
	size_t len = u[0] < 0x80 ? 1 : u[0] >> 5 == 6 ? 2 : u[0] >> 4 == 14 ? 3 :
		     u[0] >> 3 == 30 ? 4 : 0;

	if (len <= 1) {
		*c = u[0];
		return len;
	}
	*c = u[0] & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if (u[i] >> 6 != 2)
			return 0;
		*c = *c << 6 | (u[i] & 0x3f);
	}
	return *c >= least[len] && *c <= 0x10ffff ? len : 0;
}

size_t clean_length(const char *s)
{
	uint32_t c;
	size_t len = decode(s, &c);

	return len && !IS_IN(hidden, c) ? len : 0;
}

void clean_to(char *out, size_t size, const char *s)
{
	enum { ROOM = 4, DOTS = 3 };
	size_t n = 0, fits = 0;

	while (s && *s && n + ROOM < size) {
		size_t len = clean_length(s);

		if (len)
			memcpy(out + n, s, len);
		else
			snprintf(out + n, ROOM + 1, "\\x%02x", (unsigned char)*s);
		n += len ? len : ROOM;
		s += len ? len : 1;
		if (n + DOTS < size)
			fits = n;
	}
	out[n] = '\0';
	if (s && *s)
		strcpy(out + fits, "...");
}

struct clean clean(const char *s)
{
	struct clean out;

	clean_to(out.text, sizeof(out.text), s);
	return out;
}

static size_t columns_of(uint32_t c)
{
	if (c < 0x300)
		return 1;
	return IS_IN(combining, c) ? 0 : IS_IN(wide, c) ? 2 : 1;
}

size_t clean_fit(const char *s, size_t columns)
{
	size_t n = 0, used = 0;

	while (s[n]) {
		uint32_t c;
		size_t len = decode(s + n, &c);

		if (!len)
			len = 1;
		used += columns_of(c);
		if (used > columns)
			return n;
		n += len;
	}
	return n;
}

size_t clean_width(const char *s)
{
	size_t width = 0;

	while (*s) {
		uint32_t c;
		size_t len = decode(s, &c);

		width += columns_of(c);
		s += len ? len : 1;
	}
	return width;
}
