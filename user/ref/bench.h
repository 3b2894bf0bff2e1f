/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The benchmarks of `gvlscope bench`: they run the reference implementations here and now, interleaved, and
 * fill findings, whose schema and name their caller sets. Each returns 0, -EINTR when *@is_interrupted became
 * true (what was measured until then is in @f), or -errno with @e set. They start threads, and end all of them
 * before they return.
 */
#ifndef GVL_REF_BENCH_H
#define GVL_REF_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "stat/findings.h"
#include "util/err.h"

struct bench_options {
	const volatile bool *is_interrupted;
	bool is_sweep;		/* copy: from which size on does releasing the lock pay? */
	uint32_t max_readers;	/* close: the largest number of blocked readers; 0: 10,000 */
	uint32_t runs;		/* of each cell; 0: what gives steady figures in the time allowed */
};

int bench_close(struct findings *f, const struct bench_options *o, struct err *e);
int bench_copy(struct findings *f, const struct bench_options *o, struct err *e);
int bench_gvl(struct findings *f, const struct bench_options *o, struct err *e);

#endif
