/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds, in code without symbols, the instructions that may write a lock's words. Each is only a
 * candidate: what it really writes is told by the address it writes to, when it runs.
 */
#ifndef GVL_PROBE_SCAN_H
#define GVL_PROBE_SCAN_H

#include "probe/site.h"
#include "target/layout.h"
#include "target/object.h"

/*
 * Fills @out with sites for the candidates in @o, code that uses structures of layout @l. The
 * number found, at most @max, or -errno with @e set when the code cannot be read.
 */
int scan_candidates(struct site *out, int max, const struct object *o, const struct layout *l,
		    struct err *e);

#endif
