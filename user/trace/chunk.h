/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file header and the header in front of each chunk, as bytes. */
#ifndef GVL_TRACE_CHUNK_H
#define GVL_TRACE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#define FILE_HEADER_SIZE 16
#define CHUNK_HEADER_SIZE 48

/* Stored in files: append only. A reader skips kinds that it does not know. */
enum chunk_kind {
	CHUNK_FACTS = 1,	/* JSON, always the first */
	CHUNK_EVENTS = 2,
	CHUNK_TOTALS = 3,	/* JSON, always the last */
};

struct chunk {
	uint32_t kind;
	uint32_t number;	/* place in the file, from 0: a missing chunk is noticed */
	uint32_t stored_size;	/* bytes that follow the header */
	uint32_t raw_size;	/* bytes once decompressed */
	uint32_t nr_events;
	uint32_t crc;		/* of the stored bytes */
	uint64_t first_ns;	/* earliest and latest event; 0 in chunks without events */
	uint64_t last_ns;
};

enum file_header {
	FILE_HEADER_FINE,
	FILE_HEADER_FOREIGN,	/* no trace */
	FILE_HEADER_DAMAGED,
};

void file_header_put(uint8_t out[FILE_HEADER_SIZE], uint32_t version);

/* Looks at the first @size bytes, which may be fewer than a header: a beginning is fine too. */
enum file_header file_header_get(const uint8_t *in, size_t size, uint32_t *version);

void chunk_put(uint8_t out[CHUNK_HEADER_SIZE], const struct chunk *c);

/* NULL, or what is wrong with the header. */
const char *chunk_get(struct chunk *c, const uint8_t in[CHUNK_HEADER_SIZE]);

/* NULL, or what is wrong with the sizes: nothing may be allocated before this. */
const char *chunk_check(const struct chunk *c);

/* CRC-32 of @size bytes, continuing @crc (0 at the start). */
uint32_t chunk_crc(uint32_t crc, const void *data, size_t size);

#endif
