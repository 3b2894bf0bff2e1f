/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read(2) and write(2) until all is done, on files, pipes and descriptors that do not block. */
#ifndef GVL_TRACE_IO_H
#define GVL_TRACE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes read, fewer than @size only at the end of the file; or -errno. */
ssize_t io_read(int fd, void *data, size_t size);

/*
 * 0, or -errno. After a failure a regular file is cut back to where this call began, as far as it
 * can be; elsewhere a part of @data may have been written.
 */
int io_write(int fd, const void *data, size_t size);

#endif
