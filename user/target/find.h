/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef GVL_TARGET_FIND_H
#define GVL_TARGET_FIND_H

#include <sys/types.h>

/*
 * The processes called @comm (as /proc/PID/comm has it, at most 15 characters count) that have a
 * CRuby loaded, in @out. The number found, at most @max, or -errno.
 */
int find_rubies(const char *comm, pid_t *out, int max);

#endif
