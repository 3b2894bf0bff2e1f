/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Trace files for tests: in memory, written and read in one call. */
#ifndef TESTS_UNIT_TRACE_FILE_H
#define TESTS_UNIT_TRACE_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/tools/any_event.h"
#include "trace/trace.h"
#include "util/scope.h"

#define FACTS "{\"schema\": \"test\", \"host\": {\"cpus\": 2}}"
#define TOTALS "{\"lost\": {\"ring\": 0}}"

/* A file in memory, positioned at its start, with @size bytes of @data. */
static inline int file_of(const void *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* The whole file; free it. */
static inline uint8_t *file_bytes(int fd, size_t *size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	uint8_t *data = malloc(end + 1);

	assert_non_null(data);
	assert_int_equal(pread(fd, data, end, 0), end);
	*size = end;
	return data;
}

/* Writes a whole trace into a new file in memory, @flush_every events a chunk (0: as they come). */
static inline int file_with(const struct event *evs, size_t nr, size_t flush_every)
{
	int fd = file_of("", 0);
	struct trace_writer *w = NULL;
	struct err e = { 0 };

	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), 0);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(trace_write(w, &evs[i], &e), 0);
		if (flush_every && (i + 1) % flush_every == 0)
			assert_int_equal(trace_flush(w, &e), 0);
	}
	assert_int_equal(trace_finish(w, TOTALS, &e), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), trace_writer_bytes(w));
	trace_writer_free(w);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static inline void assert_event_equal(const struct event *got, const struct event *want)
{
	if (got->ts_ns != want->ts_ns || got->thread != want->thread || got->seq != want->seq ||
	    got->tid != want->tid || got->target != want->target || got->lock != want->lock ||
	    got->kind != want->kind || got->flags != want->flags ||
	    got->text_len != want->text_len || got->text[got->text_len] != '\0' ||
	    memcmp(got->text, want->text, got->text_len) != 0)
		fail_msg("got kind %u ts %ju thread %jx tid %u seq %u text %u,"
			 " want kind %u ts %ju thread %jx tid %u seq %u text %u",
			 got->kind, (uintmax_t)got->ts_ns, (uintmax_t)got->thread, got->tid,
			 got->seq, got->text_len, want->kind, (uintmax_t)want->ts_ns,
			 (uintmax_t)want->thread, want->tid, want->seq, want->text_len);
}

struct reading {
	int got;		/* of trace_reader_open() or the last trace_read() */
	size_t nr;		/* events before */
	bool is_complete;
	char facts[128];
	char totals[128];
	struct err e;
};

/* Reads @fd to its end, and compares with the first of the @nr events at @want. */
static inline void file_read(struct reading *out, int fd, const struct event *want, size_t nr)
{
	struct trace_reader *r = NULL;
	struct event ev;

	memset(out, 0, sizeof(*out));
	memset(&ev, 0xa5, sizeof(ev));
	out->got = trace_reader_open(&r, fd, "NAME", &out->e);
	if (out->got) {
		assert_null(r);
		return;
	}
	snprintf(out->facts, sizeof(out->facts), "%s", trace_facts(r));
	while ((out->got = trace_read(r, &ev, &out->e)) == 1) {
		assert_false(trace_complete(r));
		if (want) {
			assert_true(out->nr < nr);
			assert_event_equal(&ev, &want[out->nr]);
		}
		out->nr++;
	}
	assert_int_equal(trace_read(r, &ev, NULL), out->got);
	out->is_complete = trace_complete(r);
	assert_int_equal(trace_totals(r) != NULL, out->is_complete);
	if (out->is_complete)
		snprintf(out->totals, sizeof(out->totals), "%s", trace_totals(r));
	trace_reader_free(r);
}

/* All of it is there, and it is what was written. */
static inline void assert_whole(int fd, const struct event *want, size_t nr)
{
	struct reading in;

	file_read(&in, fd, want, nr);
	assert_string_equal(in.e.msg, "");
	assert_int_equal(in.got, 0);
	assert_int_equal(in.nr, nr);
	assert_true(in.is_complete);
	assert_string_equal(in.facts, FACTS);
	assert_string_equal(in.totals, TOTALS);
}

#endif
