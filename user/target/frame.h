/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which line of Ruby a thread executes, from its frames. Only reads; trusts nothing it reads. */
#ifndef GVL_TARGET_FRAME_H
#define GVL_TARGET_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "target/layout.h"
#include "target/proc.h"

/* A frame of Ruby code, as the BPF programs or a reader of memory found it. */
struct frame {
	uint64_t iseq;		/* rb_iseq_t */
	uint64_t pc;		/* behind the instruction that runs, or that called what runs */
};

/*
 * Writes "path:line" of @f of process @p to @buf (size @len > 0); a path that is too long loses its
 * beginning. The path is the program's text, raw. 0, or -errno with an empty @buf: -ENOTSUP when
 * the layout lacks a member, -EINVAL when @f is no frame (or no more: iseqs are garbage-collected),
 * -ENOENT when the code has no lines, or what proc_read() returns.
 */
int frame_line(const struct proc *p, const struct layout *l, const struct frame *f, char *buf,
	       size_t len);

/*
 * Of the execution context @ec: *out is its topmost frame that runs Ruby code, *self the receiver
 * (VALUE) of the topmost of all, which may be a C function's. 0 or -errno: -ENOTSUP when the layout
 * lacks a member, -EINVAL when @ec is none or changed while it was read, -ENOENT when it runs no
 * Ruby code (*self is set then, 0 without any frame), or what proc_read() returns.
 */
int frame_top(const struct proc *p, const struct layout *l, uint64_t ec, struct frame *out,
	      uint64_t *self);

/*
 * Ruby's index of lines (struct succ_index_table), for its tests. What it says of position @pos (in
 * words of code) is in the *len (<= FRAME_PART_MAX) bytes at its offset *at; frame_rank() is the
 * number of entries that begin at or before @pos, according to those bytes, @part (8-aligned).
 */
#define FRAME_PART_MAX 80
void frame_part(uint32_t pos, uint64_t *at, size_t *len);
uint32_t frame_rank(const void *part, uint32_t pos);

#endif
