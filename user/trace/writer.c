// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/chunk.h"
#include "trace/encode.h"
#include "trace/io.h"
#include "trace/trace.h"
#include "util/scope.h"

#define LEVEL 1		/* the columns leave little to find: 3 saves less than 1% */

struct trace_writer {
	int fd;
	int failed;		/* errno of the first failure: nothing is written after it */
	bool is_finished;
	uint32_t nr_chunks;
	uint64_t bytes;
	ZSTD_CCtx *zstd;
	uint8_t *out;		/* one chunk, header and all */
	size_t out_size;
	struct encoder encoder;
};

struct part {
	const void *data;
	size_t size;
};

/* Any failure is the last one: with these events lost, later ones must not look whole. */
static int writer_broken(struct trace_writer *w, int err)
{
	w->failed = -err;
	return err;
}

static int writer_put(struct trace_writer *w, size_t size, struct err *e)
{
	int err = io_write(w->fd, w->out, size);

	if (err)
		return writer_broken(w, err_sys(e, -err, "cannot write the trace"));
	w->bytes += size;
	return 0;
}

static int writer_reserve(struct trace_writer *w, size_t size, struct err *e)
{
	uint8_t *out;

	if (size <= w->out_size)
		return 0;
	out = realloc(w->out, size);
	if (!out)
		return err_nomem(e);
	w->out = out;
	w->out_size = size;
	return 0;
}

/*
 * Compresses the parts into one frame, each into blocks of its own: they are different in kind, and
 * a block has one table of symbol frequencies. Returns the size, or an error of zstd.
 */
static size_t writer_compress(struct trace_writer *w, const struct part *parts, int nr, size_t raw)
{
	ZSTD_outBuffer out = { w->out + CHUNK_HEADER_SIZE, w->out_size - CHUNK_HEADER_SIZE, 0 };
	size_t left = ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_only);

	if (!ZSTD_isError(left))
		left = ZSTD_CCtx_setPledgedSrcSize(w->zstd, raw);
	for (int i = 0; i < nr && !ZSTD_isError(left); i++) {
		ZSTD_inBuffer in = { parts[i].data, parts[i].size, 0 };
		ZSTD_EndDirective how = i == nr - 1 ? ZSTD_e_end : ZSTD_e_flush;

		/* The buffer holds the worst case, so one call does it all. */
		left = ZSTD_compressStream2(w->zstd, &out, &in, how);
	}
	return ZSTD_isError(left) ? left : out.pos;
}

/* Completes *c and writes it with its contents. */
static int writer_chunk(struct trace_writer *w, struct chunk *c, const struct part *parts, int nr,
			struct err *e)
{
	size_t raw = 0, stored;
	int err;

	if (w->failed)
		return err_sys(e, w->failed, "cannot write the trace");
	if (w->is_finished)
		return err_set(e, REASON_SYS, -EINVAL, "the trace is finished already");
	for (int i = 0; i < nr; i++)
		raw += parts[i].size;
	err = writer_reserve(w, CHUNK_HEADER_SIZE + ZSTD_compressBound(raw) + 64, e);
	if (err)
		return writer_broken(w, err);
	stored = writer_compress(w, parts, nr, raw);
	if (ZSTD_isError(stored))
		return writer_broken(w, err_set(e, REASON_SYS, -ENOMEM,
						"cannot compress the trace: %s",
						ZSTD_getErrorName(stored)));

	c->number = w->nr_chunks;
	c->raw_size = raw;
	c->stored_size = stored;
	c->crc = chunk_crc(0, w->out + CHUNK_HEADER_SIZE, stored);
	chunk_put(w->out, c);
	err = writer_put(w, CHUNK_HEADER_SIZE + stored, e);
	if (err)
		return err;
	w->nr_chunks++;
	return 0;
}

static int writer_json(struct trace_writer *w, enum chunk_kind kind, const char *json,
		       struct err *e)
{
	struct part part = { json, strlen(json) };
	struct chunk c = { .kind = kind };

	if (part.size > TRACE_JSON_MAX)
		return err_set(e, REASON_SYS, -EFBIG,
			       "the trace's %s: %zu bytes, more than the %d of a trace",
			       kind == CHUNK_FACTS ? "facts" : "totals", part.size, TRACE_JSON_MAX);
	return writer_chunk(w, &c, &part, 1, e);
}

static void writer_freep(struct trace_writer **w)
{
	trace_writer_free(*w);
}

int trace_writer_open(struct trace_writer **out, int fd, const char *facts, struct err *e)
{
	auto_release(writer_freep) struct trace_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return err_nomem(e);
	w->fd = fd;
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, LEVEL)))
		return err_nomem(e);
	err = writer_reserve(w, FILE_HEADER_SIZE, e);
	if (err)
		return err;
	file_header_put(w->out, TRACE_VERSION);
	err = writer_put(w, FILE_HEADER_SIZE, e);
	if (err)
		return err;
	err = writer_json(w, CHUNK_FACTS, facts, e);
	if (err)
		return err;
	*out = take_ptr(w);
	return 0;
}

int trace_flush(struct trace_writer *w, struct err *e)
{
	struct encoder *enc = &w->encoder;
	uint8_t table[TRACE_TABLE_SIZE];
	struct part parts[COLUMN_COUNT + 1] = { { table, sizeof(table) } };
	struct chunk c = {
		.kind = CHUNK_EVENTS,
		.nr_events = enc->nr_events,
		.first_ns = enc->first_ns,
		.last_ns = enc->last_ns,
	};
	int err;

	if (w->failed)
		return err_sys(e, w->failed, "cannot write the trace");
	if (enc->nr_events == 0)
		return 0;
	for (int i = 0; i < COLUMN_COUNT; i++) {
		put_le32(table + i * sizeof(uint32_t), enc->columns[i].size);
		parts[i + 1] = (struct part){ enc->columns[i].bytes, enc->columns[i].size };
	}
	err = writer_chunk(w, &c, parts, COLUMN_COUNT + 1, e);
	encoder_reset(enc);
	return err;
}

int trace_write(struct trace_writer *w, const struct event *ev, struct err *e)
{
	if (ev->kind == 0 || ev->kind >= EVENT_KIND_END || ev->text_len > EVENT_TEXT_MAX)
		return err_set(e, REASON_SYS, -EINVAL, "not an event: kind %u, text of %u bytes",
			       ev->kind, ev->text_len);
	if (w->failed)
		return err_sys(e, w->failed, "cannot write the trace");
	return encoder_add(&w->encoder, ev) ? trace_flush(w, e) : 0;
}

int trace_finish(struct trace_writer *w, const char *totals, struct err *e)
{
	int err = trace_flush(w, e);

	if (err)
		return err;
	err = writer_json(w, CHUNK_TOTALS, totals, e);
	w->is_finished = !err;
	return err;
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return w->bytes;
}

void trace_writer_free(struct trace_writer *w)
{
	if (!w)
		return;
	ZSTD_freeCCtx(w->zstd);
	free(w->out);
	free(w);
}
