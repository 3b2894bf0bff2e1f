// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "trace/chunk.h"
#include "trace/decode.h"
#include "trace/io.h"
#include "trace/trace.h"
#include "util/scope.h"

struct buffer {
	uint8_t *bytes;
	size_t size;
};

struct trace_reader {
	int fd;
	char *name;
	uint64_t pos;			/* bytes read */
	uint64_t chunk_pos;		/* where the current chunk begins */
	uint32_t nr_chunks;
	bool is_done;			/* the end of the file, or where it was cut */
	struct err failed;		/* a failure stays; code 0: none */
	char *facts;
	char *totals;
	ZSTD_DCtx *zstd;
	struct buffer stored, raw;
	struct decoder *decoder;	/* from the first chunk with events on */
};

static int reader_sys(struct trace_reader *r, int errnum)
{
	return err_set(&r->failed, REASON_SYS, -errnum, "cannot read %s: %s", r->name,
		       strerror(errnum));
}

static int reader_damaged(struct trace_reader *r, const char *what)
{
	return err_set(&r->failed, REASON_TRACE_DAMAGED, -EINVAL,
		       "%s: damaged at byte %" PRIu64 ": %s", r->name, r->chunk_pos, what);
}

/* 1 if all @size bytes were there, 0 if the file ends before, or -errno. */
static int reader_get(struct trace_reader *r, void *data, size_t size)
{
	ssize_t n = io_read(r->fd, data, size);

	if (n < 0)
		return reader_sys(r, (int)-n);
	r->pos += n;
	return (size_t)n == size;
}

/* The old contents are lost: without them there is nothing to copy. */
static int reader_reserve(struct trace_reader *r, struct buffer *b, size_t size)
{
	if (size <= b->size)
		return 0;
	free(b->bytes);
	b->size = 0;
	b->bytes = malloc(size);
	if (!b->bytes)
		return err_nomem(&r->failed);
	b->size = size;
	return 0;
}

/* 1 once the stored bytes are behind us and their checksum fits, 0 if the file is cut in them. */
static int reader_skip(struct trace_reader *r, const struct chunk *c)
{
	uint32_t crc = 0;
	uint8_t part[4096];

	for (uint32_t left = c->stored_size; left;) {
		size_t size = left < sizeof(part) ? left : sizeof(part);
		int got = reader_get(r, part, size);

		if (got <= 0)
			return got;
		crc = chunk_crc(crc, part, size);
		left -= size;
	}
	return crc == c->crc ? 1 : reader_damaged(r, "the chunk's checksum differs");
}

/* Reads and decompresses into r->raw, with a NUL behind. 1, 0 if the file is cut there, -errno. */
static int reader_fill(struct trace_reader *r, const struct chunk *c)
{
	const char *bad = chunk_check(c);
	size_t size;
	int got;

	if (bad)
		return reader_damaged(r, bad);
	got = reader_reserve(r, &r->stored, c->stored_size);
	if (got)
		return got;
	got = reader_get(r, r->stored.bytes, c->stored_size);
	if (got <= 0)
		return got;
	if (chunk_crc(0, r->stored.bytes, c->stored_size) != c->crc)
		return reader_damaged(r, "the chunk's checksum differs");
	got = reader_reserve(r, &r->raw, (size_t)c->raw_size + 1);
	if (got)
		return got;
	size = ZSTD_decompressDCtx(r->zstd, r->raw.bytes, c->raw_size, r->stored.bytes,
				   c->stored_size);
	if (ZSTD_isError(size))
		return reader_damaged(r, ZSTD_getErrorName(size));
	if (size != c->raw_size)
		return reader_damaged(r, "the chunk holds less than its header says");
	r->raw.bytes[size] = '\0';
	return 1;
}

static int reader_text(struct trace_reader *r, const struct chunk *c, char **out)
{
	int got = reader_fill(r, c);

	if (got <= 0)
		return got;
	if (memchr(r->raw.bytes, '\0', c->raw_size))
		return reader_damaged(r, "a NUL in a text");
	*out = strdup((const char *)r->raw.bytes);
	return *out ? 1 : err_nomem(&r->failed);
}

static int reader_events(struct trace_reader *r, const struct chunk *c)
{
	int got = reader_fill(r, c);
	const char *bad;

	if (got <= 0)
		return got;
	if (!r->decoder)
		r->decoder = calloc(1, sizeof(*r->decoder));
	if (!r->decoder)
		return err_nomem(&r->failed);
	bad = decoder_start(r->decoder, c, r->raw.bytes, c->raw_size);
	return bad ? reader_damaged(r, bad) : 1;
}

static int reader_last(struct trace_reader *r, const struct chunk *c)
{
	auto_free char *totals = NULL;
	int got = reader_text(r, c, &totals);
	uint8_t more;

	if (got <= 0)
		return got;
	r->chunk_pos = r->pos;
	got = reader_get(r, &more, 1);
	if (got < 0)
		return got;
	if (got)
		return reader_damaged(r, "bytes after the last chunk");
	r->is_done = true;
	r->totals = take_ptr(totals);
	return 1;
}

/* 1 after a whole chunk, 0 at the end of the file or where it is cut, or -errno. */
static int reader_chunk(struct trace_reader *r)
{
	uint8_t header[CHUNK_HEADER_SIZE];
	struct chunk c;
	const char *bad;
	int got;

	r->chunk_pos = r->pos;
	got = reader_get(r, header, sizeof(header));
	if (got <= 0)
		return got;
	bad = chunk_get(&c, header);
	if (bad)
		return reader_damaged(r, bad);
	if (c.number != r->nr_chunks)
		return reader_damaged(r, "a chunk is missing or in another's place");
	if ((c.kind == CHUNK_FACTS) != (r->nr_chunks == 0))
		return reader_damaged(r, "facts that are not the first chunk");
	r->nr_chunks++;

	switch (c.kind) {
	case CHUNK_FACTS:
		return reader_text(r, &c, &r->facts);
	case CHUNK_EVENTS:
		return reader_events(r, &c);
	case CHUNK_TOTALS:
		return reader_last(r, &c);
	}
	return reader_skip(r, &c);
}

static int reader_header(struct trace_reader *r)
{
	uint8_t header[FILE_HEADER_SIZE];
	enum file_header found;
	uint32_t version;
	ssize_t n = io_read(r->fd, header, sizeof(header));

	if (n < 0)
		return reader_sys(r, (int)-n);
	r->pos = n;
	if (n == 0)
		return err_set(&r->failed, REASON_TRACE_FORMAT, -EINVAL, "%s: empty, not a trace",
			       r->name);
	found = file_header_get(header, n, &version);
	if (found == FILE_HEADER_FOREIGN)
		return err_set(&r->failed, REASON_TRACE_FORMAT, -EINVAL, "%s: not a trace",
			       r->name);
	if (found == FILE_HEADER_DAMAGED)
		return reader_damaged(r, "the file header's checksum differs");
	if (n < FILE_HEADER_SIZE)
		return err_set(&r->failed, REASON_TRACE_FORMAT, -EINVAL,
			       "%s: only %zd bytes of a trace", r->name, n);
	if (version != TRACE_VERSION)
		return err_set(&r->failed, REASON_TRACE_VERSION, -EINVAL,
			       "%s: a trace of format %u, this program reads format %u", r->name,
			       version, TRACE_VERSION);
	return 0;
}

static void reader_freep(struct trace_reader **r)
{
	trace_reader_free(*r);
}

static int reader_open(struct trace_reader *r)
{
	int got;

	got = reader_header(r);
	if (got)
		return got;
	r->zstd = ZSTD_createDCtx();
	if (!r->zstd)
		return err_nomem(&r->failed);
	got = reader_chunk(r);
	if (got < 0)
		return got;
	if (got)
		return 0;
	/* Cut before anything was written: no facts, no events. */
	r->is_done = true;
	r->facts = strdup("{}");
	return r->facts ? 0 : err_nomem(&r->failed);
}

int trace_reader_open(struct trace_reader **out, int fd, const char *name, struct err *e)
{
	auto_release(reader_freep) struct trace_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_nomem(e);
	r->fd = fd;
	r->name = strdup(name);
	if (!r->name)
		return err_nomem(e);
	if (reader_open(r)) {
		if (e)
			*e = r->failed;
		return r->failed.code;
	}
	*out = take_ptr(r);
	return 0;
}

const char *trace_facts(const struct trace_reader *r)
{
	return r->facts;
}

/* As trace_read(), with the error in r->failed. */
static int reader_next(struct trace_reader *r, struct event *ev)
{
	const char *bad;

	while (!r->decoder || !r->decoder->nr_left) {
		int got = r->is_done ? 0 : reader_chunk(r);

		if (got < 0)
			return got;
		if (got == 0) {
			r->is_done = true;
			return 0;
		}
	}
	bad = decoder_next(r->decoder, ev);
	if (!bad && !r->decoder->nr_left)
		bad = decoder_end(r->decoder);
	return bad ? reader_damaged(r, bad) : 1;
}

int trace_read(struct trace_reader *r, struct event *ev, struct err *e)
{
	int got = r->failed.code ? r->failed.code : reader_next(r, ev);

	if (got < 0 && e)
		*e = r->failed;
	return got;
}

const char *trace_totals(const struct trace_reader *r)
{
	return r->totals;
}

bool trace_complete(const struct trace_reader *r)
{
	return r->totals != NULL;
}

void trace_reader_free(struct trace_reader *r)
{
	if (!r)
		return;
	ZSTD_freeDCtx(r->zstd);
	free(r->decoder);
	free(r->stored.bytes);
	free(r->raw.bytes);
	free(r->facts);
	free(r->totals);
	free(r->name);
	free(r);
}
