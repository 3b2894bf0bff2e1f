// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The trace reader against any bytes: as a file; as a file whose checksums were made to fit, so
 * that what is behind them is reached; and as the contents of one chunk. What could be decoded is
 * written and read once more, and must be the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/chunk.h"
#include "trace/decode.h"
#include "trace/trace.h"
#include "util/scope.h"

#define EVENTS_KEPT 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "not so: %s\n", what);
	abort();
}

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size, "a file in memory");
	return fd;
}

static void check_event(const struct event *ev)
{
	require(ev->kind > 0 && ev->kind < EVENT_KIND_END, "the kind is known");
	require(ev->text_len <= EVENT_TEXT_MAX, "the text fits");
	require(ev->text[ev->text_len] == '\0', "the text ends with a NUL");
}

/* Reads all there is. With @want, exactly these events must be there. */
static void read_file(int fd, const struct event *want, size_t nr_want)
{
	struct trace_reader *r = NULL;
	struct err e = { 0 };
	struct event ev;
	size_t nr = 0;
	int got = trace_reader_open(&r, fd, "fuzz", &e);

	require(!want || got == 0, "a written trace opens");
	require(got == 0 || (got == -EINVAL && e.msg[0]), "an error says what is wrong");
	if (got)
		return;
	require(trace_facts(r) != NULL, "there are facts");
	while ((got = trace_read(r, &ev, &e)) == 1) {
		check_event(&ev);
		if (want)
			require(nr < nr_want && ev.ts_ns == want[nr].ts_ns &&
				ev.thread == want[nr].thread && ev.seq == want[nr].seq &&
				ev.tid == want[nr].tid && ev.target == want[nr].target &&
				ev.lock == want[nr].lock && ev.kind == want[nr].kind &&
				ev.flags == want[nr].flags && ev.text_len == want[nr].text_len &&
				memcmp(ev.text, want[nr].text, ev.text_len) == 0,
				"an event is read as it was written");
		nr++;
	}
	require(got == 0 || (got == -EINVAL && e.msg[0]), "an error says what is wrong");
	require(trace_complete(r) == (trace_totals(r) != NULL), "totals are what completes it");
	require(!want || (got == 0 && nr == nr_want && trace_complete(r)),
		"a written trace is whole");
	trace_reader_free(r);
}

/* Makes magic numbers, chunk numbers and checksums right; sizes, too, where they leave the file. */
static void repair(uint8_t *data, size_t size)
{
	size_t at = FILE_HEADER_SIZE;

	if (size < FILE_HEADER_SIZE)
		return;
	file_header_put(data, TRACE_VERSION);
	for (uint32_t number = 0; size - at >= CHUNK_HEADER_SIZE; number++) {
		uint8_t *header = data + at;
		size_t left = size - at - CHUNK_HEADER_SIZE;
		struct chunk c = {
			.kind = number ? get_le32(header + 4) % 5 : CHUNK_FACTS,
			.number = number,
			.stored_size = get_le32(header + 12),
			.raw_size = get_le32(header + 16),
			.nr_events = get_le32(header + 20),
			.first_ns = get_le64(header + 24),
			.last_ns = get_le64(header + 32),
		};

		if (c.stored_size > left)
			c.stored_size = left;
		c.crc = chunk_crc(0, header + CHUNK_HEADER_SIZE, c.stored_size);
		chunk_put(header, &c);
		at += CHUNK_HEADER_SIZE + c.stored_size;
	}
}

static void write_and_read(const struct event *evs, size_t nr)
{
	auto_close int fd = file_of(NULL, 0);
	struct trace_writer *w = NULL;
	struct err e;

	require(trace_writer_open(&w, fd, "{}", &e) == 0, "a trace can be begun");
	for (size_t i = 0; i < nr; i++)
		require(trace_write(w, &evs[i], &e) == 0, "an event can be written");
	require(trace_finish(w, "{}", &e) == 0, "a trace can be finished");
	trace_writer_free(w);
	lseek(fd, 0, SEEK_SET);
	read_file(fd, evs, nr);
}

static void decode_contents(const uint8_t *data, size_t size)
{
	static struct decoder decoder;		/* the next input must not notice */
	static struct event evs[EVENTS_KEPT];
	struct chunk c = {
		.kind = CHUNK_EVENTS,
		.raw_size = size,
		.nr_events = TRACE_EVENTS_MAX,
		.last_ns = UINT64_MAX,
	};
	struct event ev;
	size_t nr = 0;

	if (decoder_start(&decoder, &c, data, size))
		return;
	while (decoder.nr_left && !decoder_next(&decoder, &ev)) {
		check_event(&ev);
		if (nr < EVENTS_KEPT)
			evs[nr++] = ev;
	}
	decoder_end(&decoder);
	if (nr)
		write_and_read(evs, nr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free uint8_t *copy = malloc(size + 1);
	int fd = file_of(data, size);

	read_file(fd, NULL, 0);
	close(fd);

	require(copy != NULL, "there is memory");
	memcpy(copy, data, size);
	repair(copy, size);
	fd = file_of(copy, size);
	read_file(fd, NULL, 0);
	close(fd);

	decode_contents(data, size);
	return 0;
}
