// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "util/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, enum reason reason, int code, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code;
	e->reason = reason;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return code;
}

int err_nomem(struct err *e)
{
	return err_set(e, REASON_SYS, -ENOMEM, "out of memory");
}

int err_sys(struct err *e, int errnum, const char *what)
{
	return err_set(e, REASON_SYS, -errnum, "%s: %s", what, strerror(errnum));
}
