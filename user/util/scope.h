/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Locals that own their resources: released on every return, handed over explicitly. */
#ifndef GVL_UTIL_SCOPE_H
#define GVL_UTIL_SCOPE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define auto_release(fn) __attribute__((cleanup(fn)))

static inline void scope_free(void *p)
{
	free(*(void **)p);
}

static inline void scope_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void scope_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define auto_free auto_release(scope_free)
#define auto_close auto_release(scope_close)
#define auto_fclose auto_release(scope_fclose)

/* The value of @p, which is NULL from here on: its cleanup has nothing left to do. */
#define take_ptr(p) ({ __typeof__(p) taken_ = (p); (p) = NULL; taken_; })
#define take_fd(fd) ({ int taken_ = (fd); (fd) = -1; taken_; })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
