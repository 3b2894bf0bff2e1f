/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trace file (.gvs): an append-only sequence of checksummed chunks. docs/trace.md describes
 * the bytes. Facts and totals are JSON chunks, events are packed and compressed; each chunk can
 * be decoded alone.
 */
#ifndef GVL_TRACE_TRACE_H
#define GVL_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "util/err.h"

struct trace_writer;
struct trace_reader;

/*
 * Starts a trace on @fd (borrowed; "-" is the caller's business). @facts is a JSON text, the first
 * chunk. 0 and a writer to free in *out, or -errno with @e set and *out untouched.
 */
int trace_writer_open(struct trace_writer **out, int fd, const char *facts, struct err *e);

/* Buffers @ev; a full buffer is written as one chunk. Text beyond ev->text_len is ignored. */
int trace_write(struct trace_writer *w, const struct event *ev, struct err *e);

/* Writes what is buffered as a chunk, so that a reader can see it from now on. */
int trace_flush(struct trace_writer *w, struct err *e);

/* Flushes, writes @totals (JSON) as the last chunk. The writer stays to be freed. */
int trace_finish(struct trace_writer *w, const char *totals, struct err *e);

uint64_t trace_writer_bytes(const struct trace_writer *w);	/* written so far */
void trace_writer_free(struct trace_writer *w);			/* NULL is fine; does not flush */

/*
 * Opens a trace on @fd (borrowed; need not be seekable). @name is for messages and is copied.
 * 0 and a reader to free in *out, or -errno with @e set (REASON_TRACE_*, exit 5).
 */
int trace_reader_open(struct trace_reader **out, int fd, const char *name, struct err *e);

/* The first chunk, a JSON text; valid until the reader is freed. */
const char *trace_facts(const struct trace_reader *r);

/*
 * 1 and the next event in *ev; 0 at the end (last chunk, or where a file was cut); -errno with @e
 * set for a damaged file, with the position of the chunk. Memory use does not depend on the file.
 */
int trace_read(struct trace_reader *r, struct event *ev, struct err *e);

/* The last chunk, a JSON text, or NULL until trace_read() returned 0 or if the file was cut. */
const char *trace_totals(const struct trace_reader *r);

/* True once trace_read() returned 0 and the last chunk was there. */
bool trace_complete(const struct trace_reader *r);

void trace_reader_free(struct trace_reader *r);			/* NULL is fine */

#endif
