// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trace-gen write FILE OWNERS [THREADS [handoff|release [CLOSES]]]	a trace with OWNERS owner
 *					changes, and a close in one of CLOSES holds
 * trace-gen contents FILE OWNERS [THREADS [handoff|release]]	its one chunk, not compressed
 * trace-gen any FILE EVENTS					a trace of any events
 * trace-gen read FILE						reads all events
 * trace-gen dump FILE						and prints them, a line each
 *
 * write and read print what there was, and how long the trace library took for it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/tools/any_event.h"
#include "tests/tools/mix.h"
#include "trace/encode.h"
#include "trace/trace.h"
#include "util/scope.h"

#define BATCH 4096

static const char facts[] =
	"{\"tool\": {\"version\": \"0\", \"options\": \"trace-gen\"},"
	" \"host\": {\"kernel\": \"6.1.0\", \"arch\": \"x86_64\", \"cpus\": 2},"
	" \"target\": [{\"pid\": 41000, \"ruby\": \"3.4.4\", \"exe\": \"/usr/bin/ruby3.4\","
	" \"libruby\": \"/usr/lib/x86_64-linux-gnu/libruby-3.4.so.3.4\", \"build_id\": \"00\","
	" \"stripped\": true, \"symbols\": \"none\", \"layout\": \"table\"}],"
	" \"capture\": {\"start\": \"2025-01-01T00:00:00Z\", \"clock_ns\": 123456789012345,"
	" \"methods\": {\"gvl\": \"sites\", \"close\": \"recovered\", \"block\": \"calls\","
	" \"copy\": \"buffer, samples\"}}}";

static int fail(const char *what)
{
	fprintf(stderr, "trace-gen: %s\n", what);
	return 1;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Ends what is seen of the lock, and the trace. */
static int finish(struct trace_writer *w, const struct mix *m, struct err *e)
{
	struct event end = { .kind = EVENT_STATE_END, .ts_ns = m->now_ns };
	char totals[256];
	int err = trace_write(w, &end, e);

	if (err)
		return err;
	snprintf(totals, sizeof(totals),
		 "{\"capture\": {\"duration_ns\": %ju, \"seen_share\": 1.0},"
		 " \"lost\": {\"ring\": 0, \"unseen_writer\": 0},"
		 " \"cost\": {\"hits\": %ju, \"ns_per_hit\": 850, \"bpf_ns\": 0}}",
		 (uintmax_t)(m->now_ns - m->start_ns), (uintmax_t)m->owner_changes);
	return trace_finish(w, totals, e);
}

static int write_trace(int fd, struct mix *m, uint64_t owners)
{
	auto_free struct event *evs = calloc(BATCH, sizeof(*evs));
	struct trace_writer *w = NULL;
	double taken_ns = 0, start_ns;
	uint64_t nr = 0;
	struct err e;

	if (!evs)
		return fail("out of memory");
	if (trace_writer_open(&w, fd, facts, &e))
		return fail(e.msg);
	while (m->owner_changes < owners || m->pending_len) {
		int n = 0;

		while (n < BATCH && (m->owner_changes < owners || m->pending_len))
			mix_next(m, &evs[n++]);
		start_ns = cpu_ns();
		for (int i = 0; i < n; i++) {
			if (trace_write(w, &evs[i], &e))
				return fail(e.msg);
		}
		taken_ns += cpu_ns() - start_ns;
		nr += n;
	}
	if (finish(w, m, &e))
		return fail(e.msg);
	printf("wrote %ju events, %ju owner changes, %ju bytes: %.2f bytes for an owner change,"
	       " %.0f ns an event\n",
	       (uintmax_t)nr, (uintmax_t)m->owner_changes, (uintmax_t)trace_writer_bytes(w),
	       owners ? (double)trace_writer_bytes(w) / m->owner_changes : 0,
	       nr ? taken_ns / nr : 0);
	trace_writer_free(w);
	return 0;
}

static int write_contents(int fd, struct mix *m, uint64_t owners)
{
	auto_free struct encoder *enc = calloc(1, sizeof(*enc));
	uint8_t table[TRACE_TABLE_SIZE];
	struct event ev;
	bool is_full = false;

	if (!enc)
		return fail("out of memory");
	while ((m->owner_changes < owners || m->pending_len) && !is_full) {
		mix_next(m, &ev);
		is_full = encoder_add(enc, &ev);
	}
	for (int i = 0; i < COLUMN_COUNT; i++)
		put_le32(table + i * sizeof(uint32_t), enc->columns[i].size);
	if (write(fd, table, sizeof(table)) != sizeof(table))
		return fail("cannot write");
	for (int i = 0; i < COLUMN_COUNT; i++) {
		const struct column *c = &enc->columns[i];

		if (write(fd, c->bytes, c->size) != c->size)
			return fail("cannot write");
	}
	printf("wrote the contents of %u events\n", enc->nr_events);
	return 0;
}

static int write_any(int fd, uint64_t nr)
{
	uint64_t random = 42, prev_ns = 5000;
	struct trace_writer *w = NULL;
	struct event ev;
	struct err e;

	if (trace_writer_open(&w, fd, facts, &e))
		return fail(e.msg);
	for (uint64_t i = 0; i < nr; i++) {
		any_event(&random, &ev, prev_ns);
		prev_ns = ev.ts_ns;
		if (trace_write(w, &ev, &e))
			return fail(e.msg);
	}
	if (trace_finish(w, "{}", &e))
		return fail(e.msg);
	trace_writer_free(w);
	return 0;
}

static int dump_trace(int fd, const char *name)
{
	struct trace_reader *r = NULL;
	struct event ev;
	struct err e;
	int got;

	if (trace_reader_open(&r, fd, name, &e))
		return fail(e.msg);
	while ((got = trace_read(r, &ev, &e)) == 1) {
		printf("%ju %u %u %u %u %ju %u %u %ju %d %u %u ", (uintmax_t)ev.ts_ns, ev.kind,
		       ev.flags, ev.target, ev.lock, (uintmax_t)ev.thread, ev.tid, ev.seq,
		       (uintmax_t)ev.dur_ns, ev.fd, ev.count, ev.nr);
		for (int i = 0; i < ev.text_len; i++)
			printf("%02x", (uint8_t)ev.text[i]);
		putchar('\n');
	}
	if (got)
		return fail(e.msg);
	trace_reader_free(r);
	return 0;
}

static int read_trace(int fd, const char *name)
{
	uint64_t nr = 0, owner_changes = 0;
	struct trace_reader *r = NULL;
	double start_ns = cpu_ns();
	struct event ev;
	struct err e;
	int got;

	if (trace_reader_open(&r, fd, name, &e))
		return fail(e.msg);
	while ((got = trace_read(r, &ev, &e)) == 1) {
		nr++;
		owner_changes += ev.kind == EVENT_OWNER;
	}
	if (got)
		return fail(e.msg);
	printf("read %ju events, %ju owner changes, %s: %.0f ns an event\n", (uintmax_t)nr,
	       (uintmax_t)owner_changes, trace_complete(r) ? "complete" : "cut",
	       nr ? (cpu_ns() - start_ns) / nr : 0);
	trace_reader_free(r);
	return 0;
}

static int write_mix(int fd, int argc, char **argv)
{
	auto_free struct mix *m = malloc(sizeof(*m));
	uint64_t owners = strtoull(argv[3], NULL, 10);

	if (!m)
		return fail("out of memory");
	mix_init(m, argc > 5 && strcmp(argv[5], "release") == 0 ? MIX_RELEASE : MIX_HANDOFF,
		 argc > 4 ? strtoul(argv[4], NULL, 10) : 20);
	m->closes_every = argc > 6 ? strtoul(argv[6], NULL, 10) : 0;
	return strcmp(argv[1], "write") == 0 ? write_trace(fd, m, owners) :
					       write_contents(fd, m, owners);
}

int main(int argc, char **argv)
{
	bool is_read = argc == 3;
	auto_close int fd = -1;

	if (argc < 3)
		return fail("see the top of tests/tools/trace-gen.c");
	fd = is_read ? open(argv[2], O_RDONLY | O_CLOEXEC) :
		       open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return fail("cannot open the file");
	if (is_read)
		return strcmp(argv[1], "dump") == 0 ? dump_trace(fd, argv[2]) :
						      read_trace(fd, argv[2]);
	if (strcmp(argv[1], "any") == 0)
		return write_any(fd, strtoull(argv[3], NULL, 10));
	return write_mix(fd, argc, argv);
}
