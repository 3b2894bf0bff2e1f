/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text from outside (names of threads, commands and files), made fit for any terminal or document:
 * valid UTF-8 without control characters, line ends or characters that turn the writing direction.
 * What does not fit becomes \xNN, byte by byte.
 */
#ifndef GVL_RENDER_CLEAN_H
#define GVL_RENDER_CLEAN_H

#include <stddef.h>

#define CLEAN_MAX 256		/* enough for 63 bytes that all become \xNN */

/* By value, for the arguments of a printf: clean(name).text */
struct clean {
	char text[CLEAN_MAX];
};

struct clean clean(const char *s);	/* what is too long ends in "..."; NULL is "" */

/* The same into @out of @size bytes, at least 8. */
void clean_to(char *out, size_t size, const char *s);

/* The length in bytes of the UTF-8 sequence at @s, 0 if it is none or must not be shown as it is. */
size_t clean_length(const char *s);

/* How many columns of a terminal a clean text takes. */
size_t clean_width(const char *s);

/* How many bytes of a clean text fit @columns. */
size_t clean_fit(const char *s, size_t columns);

#endif
