/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs kept in a file to compare with: gvlscope.baseline/1, docs/schema.md. Small, sorted, a
 * metric a line, so that a change of it can be read in a diff. All its runs have one
 * fingerprint.
 */
#ifndef GVL_GATE_BASELINE_H
#define GVL_GATE_BASELINE_H

#include "gate/run.h"

/*
 * Writes the usable of @r. The file appears whole or not at all: a new one takes the name of the
 * old when it is on the disk. 0, or -errno with @e set: none is usable or their fingerprints
 * differ (REASON_BASELINE_RUNS), or it cannot be written.
 */
int baseline_write(const struct runs *r, const char *path, struct err *e);

/*
 * Adds the runs in the file to @r. Everything is checked: 0, or -errno with @e set
 * (REASON_BASELINE_OPEN, _FORMAT, _SCHEMA) and nothing added.
 */
int baseline_read(struct runs *r, const char *path, struct err *e);

/* The same from its text, which need not end in 0. @name is what errors call it. */
int baseline_parse(struct runs *r, const char *name, const char *text, size_t size, struct err *e);

#endif
