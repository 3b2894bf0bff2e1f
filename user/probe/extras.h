/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is measured in one process besides its locks, and by which probes. */
#ifndef GVL_PROBE_EXTRAS_H
#define GVL_PROBE_EXTRAS_H

#include "probe/closing.h"
#include "probe/copying.h"
#include "probe/tracer.h"
#include "target/ruby.h"

enum measure {
	MEASURE_CLOSE = 1 << 0,
	MEASURE_BLOCK = 1 << 1,
	MEASURE_COPY = 1 << 2,
	MEASURE_ALL = MEASURE_CLOSE | MEASURE_BLOCK | MEASURE_COPY,
	MEASURE_FUNCTIONS = 1 << 3,	/* which C functions regions run */
	MEASURE_LARGE = 1 << 4,		/* all large copies, not only IO::Buffer's */
};

/* All zero is nothing, with no probe placed. */
struct extras {
	unsigned int measures;	/* enum measure; without what cannot be had */
	struct closing closing;
	struct copying copying;
	struct uprobes nogvl;
	bool is_set;
};

/*
 * Looks for what @measures (enum measure) need in @r. Copies smaller than @copy_min bytes are only
 * tallied. Nothing is placed. To be released.
 */
void extras_init(struct extras *x, const struct ruby *r, unsigned int measures, uint32_t copy_min);
void extras_release(struct extras *x);

/* The same for a child of the process that @parent is about: @r is like the parent's. */
void extras_inherit(struct extras *x, const struct extras *parent);

/* Adds to @cfg what the programs have to know. */
void extras_configure(const struct extras *x, const struct ruby *r, struct target_cfg *cfg);

/* Places the probes of target @id; what cannot be placed is not measured, the rest is. */
void extras_start(struct extras *x, struct tracer *t, uint16_t id, const struct ruby *r);
void extras_stop(struct extras *x);

/* What "capture.methods" says: how, or why not. */
const char *extras_close_method(const struct extras *x);
const char *extras_block_method(const struct extras *x);
const char *extras_copy_method(const struct extras *x);

#endif
