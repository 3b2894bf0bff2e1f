/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The probes that follow IO#close in one process. */
#ifndef GVL_PROBE_CLOSING_H
#define GVL_PROBE_CLOSING_H

#include <stdbool.h>
#include <sys/types.h>

#include "probe/closefn.h"
#include "probe/tracer.h"
#include "probe/uprobe.h"
#include "target/ruby.h"

struct closing {
	struct closefn fn;
	struct uprobes enter, leave;
	bool is_found;		/* fn is known; else @why says why not */
	struct err why;
};

/* Looks for the scan in @r's code. Nothing is placed. */
void closing_init(struct closing *c, const struct ruby *r);

/*
 * What the programs have to know of it; the rest of @cfg stays. Where nothing was found, that is just
 * where Ruby's structures have what they read.
 */
void closing_configure(const struct closing *c, const struct ruby *r, struct target_cfg *cfg);

/* 0, or -errno with @e set and nothing placed. */
int closing_place(struct closing *c, struct tracer *t, pid_t pid, const struct ruby *r, struct err *e);
void closing_remove(struct closing *c);

/* "symbol" or "recovered"; NULL where it is not found. */
const char *closing_method(const struct closing *c);

#endif
