/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Errors as values: what went wrong, a stable id, and the exit status it deserves. */
#ifndef GVL_UTIL_ERR_H
#define GVL_UTIL_ERR_H

#include "util/reason.h"

struct err {
	enum reason reason;
	int code;		/* negative errno */
	char msg[512];		/* one sentence, starts with *what*; no newline */
};

/*
 * Fills @e and returns @code (a negative errno), so that callers can return it in the same
 * statement. A NULL @e is allowed. The text is truncated to fit.
 */
__attribute__((format(printf, 4, 5)))
int err_set(struct err *e, enum reason reason, int code, const char *fmt, ...);

/* "out of memory", -ENOMEM. */
int err_nomem(struct err *e);

/* err_set(REASON_SYS) with "@what: strerror(@errnum)"; @errnum is positive. */
int err_sys(struct err *e, int errnum, const char *what);

#endif
