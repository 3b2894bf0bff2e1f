/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copying a buffer with the lock and without it. A buffer that is copied without the lock can be
 * neither resized nor freed while that lasts (Ruby's PR 18489); who tries is refused.
 */
#ifndef GVL_REF_COPIES_H
#define GVL_REF_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ref/lock.h"

/* Ruby 3.4 on: io_buffer.c, IO_BUFFER_BLOCKING_SIZE, v3_4_0 to v4.0.5. */
#define REF_COPY_THRESHOLD (1024 * 1024)
#define REF_COPY_ALWAYS 0		/* as a threshold: every copy is made without the lock */
#define REF_COPY_NEVER SIZE_MAX		/* ... none is: Ruby 3.1 to 3.3 */

/* Memory of its own (mmap). Only with the lock held are its members read or written. */
struct ref_buffer {
	char *base;
	size_t size;
	uint32_t nr_locks;		/* copies that run without the lock */
};

/* @size zero bytes, at least one. With @is_touched every page is there already. 0 or -errno. */
int ref_buffer_init(struct ref_buffer *b, size_t size, bool is_touched);

/* 0, or -EBUSY while a copy runs, or another -errno, which leaves the buffer as it was. */
int ref_buffer_resize(struct ref_buffer *b, size_t size);

/* 0, or -EBUSY while a copy runs. A freed buffer is all zero: nothing is copied to or from it. */
int ref_buffer_free(struct ref_buffer *b);

/*
 * Copies @size bytes, at most what both have, by memmove(): without the lock if that is at least
 * @threshold, with it otherwise. The caller owns the lock before and after. Returns the bytes
 * copied.
 */
size_t ref_copy(struct ref_lock *l, struct ref_thread *th, struct ref_buffer *to,
		struct ref_buffer *from, size_t size, size_t threshold);

#endif
