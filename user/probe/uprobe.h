/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One BPF program on many places of one file, in one process. */
#ifndef GVL_PROBE_UPROBE_H
#define GVL_PROBE_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

/*
 * The attach type of programs for uprobe_multi links (include/uapi/linux/bpf.h,
 * BPF_TRACE_UPROBE_MULTI, since 6.6; libbpf has it from 1.3 on).
 */
#define UPROBE_MULTI_ATTACH_TYPE 48

#define UPROBES_MAX 256

struct uprobes {
	int multi;		/* one link for all, or -1 */
	int fds[UPROBES_MAX];	/* else one link each */
	size_t nr_fds;
};

#define UPROBES_NONE ((struct uprobes){ .multi = -1 })

enum uprobe_where {
	UPROBE_AT,		/* when the instruction is reached */
	UPROBE_RETURN,		/* when the function that begins there returns */
};

/*
 * Places @prog_fd at the @n file offsets of @path in process @pid (all its threads), with a cookie
 * each. @is_multi says how the program was loaded. 0, or -errno with @e set and nothing placed.
 */
int uprobes_attach(struct uprobes *u, int prog_fd, bool is_multi, enum uprobe_where where, pid_t pid,
		   const char *path, const uint64_t *offsets, const uint64_t *cookies, size_t n, struct err *e);
void uprobes_detach(struct uprobes *u);		/* fine for UPROBES_NONE; may wait ~10 ms */

#endif
