/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What this machine lets a tracer do, each found by trying. */
#ifndef GVL_PROBE_FACTS_H
#define GVL_PROBE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/cost.h"
#include "util/err.h"

enum fact {
	FACT_BTF,
	FACT_BPF,		/* the programs load */
	FACT_PTRACE,		/* other users' processes can be read */
	FACT_UPROBE,
	FACT_UPROBE_MULTI,
	FACT_WATCHPOINT,
	FACT_COUNT
};

struct facts {
	struct {
		bool ok;
		struct err why;		/* why not, where !ok */
	} facts[FACT_COUNT];
	struct cost cost;
};

/* Stable id, for JSON and docs; and what it is, for people. */
const char *fact_id(enum fact f);
const char *fact_name(enum fact f);

/* Tries everything; takes about half a second. */
void facts_find(struct facts *out);

#endif
