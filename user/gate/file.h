/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Small files as a whole. */
#ifndef GVL_GATE_FILE_H
#define GVL_GATE_FILE_H

#include <stddef.h>

#include "util/err.h"

/*
 * Reads all of @path, which may have @max bytes. 0, *text to free and ended by a 0 that *size does not count, or
 * -errno with @e set to @reason.
 */
int file_read(const char *path, size_t max, enum reason reason, char **text, size_t *size, struct err *e);

/*
 * Writes @text to a new file that then takes the name @path: it is there as a whole or as it was before. 0 or
 * -errno with @e set.
 */
int file_replace(const char *path, const char *text, size_t size, struct err *e);

#endif
