/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the debug symbols of a stripped file are. */
#ifndef GVL_TARGET_DEBUGFILE_H
#define GVL_TARGET_DEBUGFILE_H

#include <stddef.h>

#include "target/object.h"
#include "target/proc.h"

/*
 * Looks for the separate debug file of @o: by build-id below /usr/lib/debug of the process's own
 * file system and of this one, by .gnu_debuglink next to the file, then from debuginfod where
 * DEBUGINFOD_URLS is set. A candidate must carry the same build-id. 0 with its path in @out, or
 * -ENOENT.
 */
int debugfile_find(const struct object *o, const struct proc *p, char *out, size_t size);

#endif
