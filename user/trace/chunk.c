// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/chunk.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "trace/format.h"

/* As in PNG: a byte that is not text, line ends and a Ctrl-Z, to notice transfers as text. */
static const uint8_t file_magic[8] = { 0x89, 'G', 'V', 'S', '\r', '\n', 0x1a, '\n' };
static const uint8_t chunk_magic[4] = { 'G', 'V', 'S', 'c' };

enum {
	FILE_AT_VERSION = 8,
	FILE_AT_CRC = 12,

	CHUNK_AT_KIND = 4,
	CHUNK_AT_NUMBER = 8,
	CHUNK_AT_STORED = 12,
	CHUNK_AT_RAW = 16,
	CHUNK_AT_EVENTS = 20,
	CHUNK_AT_FIRST = 24,
	CHUNK_AT_LAST = 32,
	CHUNK_AT_CRC = 40,
	CHUNK_AT_HEADER_CRC = 44,
};
_Static_assert(FILE_AT_CRC + 4 == FILE_HEADER_SIZE, "trace format");
_Static_assert(CHUNK_AT_HEADER_CRC + 4 == CHUNK_HEADER_SIZE, "trace format");

uint32_t chunk_crc(uint32_t crc, const void *data, size_t size)
{
	return (uint32_t)crc32_z(crc, data, size);
}

void file_header_put(uint8_t out[FILE_HEADER_SIZE], uint32_t version)
{
	memcpy(out, file_magic, sizeof(file_magic));
	put_le32(out + FILE_AT_VERSION, version);
	put_le32(out + FILE_AT_CRC, chunk_crc(0, out, FILE_AT_CRC));
}

enum file_header file_header_get(const uint8_t *in, size_t size, uint32_t *version)
{
	size_t known = size < sizeof(file_magic) ? size : sizeof(file_magic);

	*version = 0;
	if (memcmp(in, file_magic, known) != 0)
		return FILE_HEADER_FOREIGN;
	if (size < FILE_HEADER_SIZE)
		return FILE_HEADER_FINE;
	if (get_le32(in + FILE_AT_CRC) != chunk_crc(0, in, FILE_AT_CRC))
		return FILE_HEADER_DAMAGED;
	*version = get_le32(in + FILE_AT_VERSION);
	return FILE_HEADER_FINE;
}

void chunk_put(uint8_t out[CHUNK_HEADER_SIZE], const struct chunk *c)
{
	memcpy(out, chunk_magic, sizeof(chunk_magic));
	put_le32(out + CHUNK_AT_KIND, c->kind);
	put_le32(out + CHUNK_AT_NUMBER, c->number);
	put_le32(out + CHUNK_AT_STORED, c->stored_size);
	put_le32(out + CHUNK_AT_RAW, c->raw_size);
	put_le32(out + CHUNK_AT_EVENTS, c->nr_events);
	put_le64(out + CHUNK_AT_FIRST, c->first_ns);
	put_le64(out + CHUNK_AT_LAST, c->last_ns);
	put_le32(out + CHUNK_AT_CRC, c->crc);
	put_le32(out + CHUNK_AT_HEADER_CRC, chunk_crc(0, out, CHUNK_AT_HEADER_CRC));
}

const char *chunk_get(struct chunk *c, const uint8_t in[CHUNK_HEADER_SIZE])
{
	if (memcmp(in, chunk_magic, sizeof(chunk_magic)) != 0)
		return "no chunk begins here";
	if (get_le32(in + CHUNK_AT_HEADER_CRC) != chunk_crc(0, in, CHUNK_AT_HEADER_CRC))
		return "the chunk header's checksum differs";

	c->kind = get_le32(in + CHUNK_AT_KIND);
	c->number = get_le32(in + CHUNK_AT_NUMBER);
	c->stored_size = get_le32(in + CHUNK_AT_STORED);
	c->raw_size = get_le32(in + CHUNK_AT_RAW);
	c->nr_events = get_le32(in + CHUNK_AT_EVENTS);
	c->first_ns = get_le64(in + CHUNK_AT_FIRST);
	c->last_ns = get_le64(in + CHUNK_AT_LAST);
	c->crc = get_le32(in + CHUNK_AT_CRC);
	return NULL;
}

const char *chunk_check(const struct chunk *c)
{
	bool has_events = c->kind == CHUNK_EVENTS;
	uint32_t raw_max = has_events ? TRACE_EVENTS_RAW_MAX : TRACE_JSON_MAX;

	if (c->raw_size > raw_max)
		return "the chunk is larger than any can be";
	/* Compression never adds more than this; see ZSTD_compressBound(). */
	if (c->stored_size > c->raw_size + c->raw_size / 128 + 512)
		return "the chunk is larger than its contents can be";
	if (!has_events)
		return c->nr_events || c->first_ns || c->last_ns ? "text with events" : NULL;
	if (c->nr_events == 0 || c->nr_events > TRACE_EVENTS_MAX)
		return "the number of events is not possible";
	if (c->raw_size < TRACE_TABLE_SIZE + c->nr_events * TRACE_EVENT_MIN)
		return "the chunk is too small for its events";
	if (c->first_ns > c->last_ns)
		return "the chunk ends before it begins";
	return NULL;
}
