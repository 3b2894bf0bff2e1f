/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The probes that follow copies of memory in one process. */
#ifndef GVL_PROBE_COPYING_H
#define GVL_PROBE_COPYING_H

#include <stdbool.h>
#include <sys/types.h>

#include "probe/copyfn.h"
#include "probe/libcopy.h"
#include "probe/methods.h"
#include "probe/tracer.h"
#include "probe/uprobe.h"
#include "target/ruby.h"

#define COPYING_MIN_BYTES (16 << 10)	/* smaller copies are tallied, where nothing else is asked for */

struct copying {
	struct copyfn buffer;		/* IO::Buffer's */
	struct libcopy lib;		/* all large ones */
	struct methods methods;		/* of Ruby itself, for names */
	uint32_t min_bytes;		/* smaller copies are tallied */
	bool has_buffer, has_lib, has_places, is_child;
	struct err why_buffer, why_lib;
	struct uprobes enter, leave, tail, large, large_return;
};

#define COPYING_NONE ((struct copying){ .enter = UPROBES_NONE, .leave = UPROBES_NONE, \
	.tail = UPROBES_NONE, .large = UPROBES_NONE, .large_return = UPROBES_NONE })

/* Looks for what can be followed in @r. Nothing is placed. To be released. */
void copying_init(struct copying *c, const struct ruby *r, uint32_t min_bytes);

/* For a child of the process that @parent is about, which has to live as long. */
void copying_inherit(struct copying *c, const struct copying *parent);
void copying_release(struct copying *c);	/* fine for COPYING_NONE */

/* Whether the function at @vaddr of Ruby is a method of IO::Buffer that copies. */
bool copying_is_buffer_method(const struct copying *c, uint64_t vaddr);

/* What the programs have to know of it; the rest of @cfg stays. */
void copying_configure(const struct copying *c, const struct ruby *r, struct target_cfg *cfg);

/* Places probes on IO::Buffer's copies, and with @all on all large ones. */
void copying_place(struct copying *c, struct tracer *t, const struct ruby *r, bool all);
void copying_remove(struct copying *c);

#endif
