/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Objects of Ruby (VALUEs) as another process's memory shows them. None of it is trusted. */
#ifndef GVL_TARGET_VALUE_H
#define GVL_TARGET_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "target/layout.h"
#include "target/proc.h"

/*
 * Copies the bytes of the String @value to @out (size @size > 0), cut to fit, and ends them with a
 * NUL; there may be others within. 0, or -errno with an empty @out: -EINVAL when it is no String.
 */
int value_string(const struct proc *p, const struct layout *l, uint64_t value, char *out,
		 size_t size);

/* The first element of the Array @value. 0 or -errno: -EINVAL when it is none, -ENOENT if empty. */
int value_first(const struct proc *p, uint64_t value, uint64_t *out);

/* 0 when @value is an instruction sequence (rb_iseq_t), else -errno. */
int value_is_iseq(const struct proc *p, uint64_t value);

#endif
