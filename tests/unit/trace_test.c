// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is written is read: every field, in few bytes, through any descriptor, in little memory. */
#include "tests/unit/trace_file.h"

#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/tools/mix.h"

static void every_field_survives(void **state)
{
	enum { NR = 200000 };
	auto_free struct event *evs = calloc(NR, sizeof(*evs));
	uint64_t random = 1, prev = 1000000;

	(void)state;
	assert_non_null(evs);
	for (int i = 0; i < NR; i++) {
		any_event(&random, &evs[i], prev);
		prev = evs[i].ts_ns;
	}
	for (int flush_every = 0; flush_every < 4; flush_every++) {
		size_t nr = flush_every ? 500 : NR;
		auto_close int fd = file_with(evs, nr, flush_every);

		assert_whole(fd, evs, nr);
	}
}

static void a_trace_without_events_is_complete(void **state)
{
	auto_close int fd = file_with(NULL, 0, 0);

	(void)state;
	assert_whole(fd, NULL, 0);
}

static void time_may_run_backwards(void **state)
{
	static const uint64_t times[] = { 5000, 4999, 5001, 5001, 0, UINT64_MAX, 0, 1ULL << 63,
					  (1ULL << 63) - 1, 4000, 3000, 2000, 1000 };
	struct event evs[ARRAY_LEN(times)] = { 0 };
	auto_close int fd = -1;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		evs[i].kind = EVENT_OWNER;
		evs[i].ts_ns = times[i];
		evs[i].seq = i;
	}
	fd = file_with(evs, ARRAY_LEN(evs), 0);
	assert_whole(fd, evs, ARRAY_LEN(evs));
}

static void a_text_may_hold_any_bytes(void **state)
{
	struct event evs[EVENT_TEXT_MAX + 1] = { 0 };
	auto_close int fd = -1;

	(void)state;
	for (int i = 0; i <= EVENT_TEXT_MAX; i++) {
		evs[i].kind = i & 1 ? EVENT_NAME : EVENT_EXIT;
		evs[i].text_len = i;
		for (int j = 0; j < i; j++)
			evs[i].text[j] = (i + j) * 3;
	}
	fd = file_with(evs, ARRAY_LEN(evs), 0);
	assert_whole(fd, evs, ARRAY_LEN(evs));
}

static void text_beyond_its_length_is_ignored(void **state)
{
	struct event ev = { .kind = EVENT_NAME, .text_len = 2, .text = "abcdef" };
	struct event want = { .kind = EVENT_NAME, .text_len = 2, .text = "ab" };
	auto_close int fd = file_with(&ev, 1, 0);

	(void)state;
	assert_whole(fd, &want, 1);
}

static void many_threads_fit_one_chunk(void **state)
{
	enum { NR = 20000 };
	auto_free struct event *evs = calloc(NR, sizeof(*evs));
	auto_close int fd = -1;

	(void)state;
	assert_non_null(evs);
	for (int i = 0; i < NR; i++) {
		evs[i].kind = EVENT_QUEUE;
		evs[i].thread = mix_thread(i % 10000);
		evs[i].tid = mix_tid(i % 10000);
		evs[i].ts_ns = i * 1000;
	}
	fd = file_with(evs, NR, 0);
	assert_whole(fd, evs, NR);
}

static void more_locks_than_a_chunk_can_have_take_several(void **state)
{
	enum { NR = 4000 };
	auto_free struct event *evs = calloc(NR, sizeof(*evs));
	auto_close int fd = -1;

	(void)state;
	assert_non_null(evs);
	for (int i = 0; i < NR; i++) {
		evs[i].kind = EVENT_OWNER;
		evs[i].target = i % 3;
		evs[i].lock = i;
		evs[i].thread = mix_thread(i % 5);
		evs[i].seq = i % 2 + 1;
	}
	fd = file_with(evs, NR, 0);
	assert_whole(fd, evs, NR);
}

/* What mix_next() tells, in a file in memory. */
static int mix_file(struct mix *m, enum mix_style style, int nr)
{
	int fd = file_of("", 0);
	struct trace_writer *w = NULL;
	struct err e = { 0 };
	struct event ev;

	mix_init(m, style, 20);
	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), 0);
	for (int i = 0; i < nr; i++) {
		mix_next(m, &ev);
		assert_int_equal(trace_write(w, &ev, &e), 0);
	}
	assert_int_equal(trace_finish(w, TOTALS, &e), 0);
	trace_writer_free(w);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void an_owner_change_takes_at_most_8_bytes(void **state)
{
	enum { NR = 2000000 };
	static const char *const names[] = { "handoff", "release" };
	auto_free struct mix *m = malloc(sizeof(*m));

	(void)state;
	assert_non_null(m);
	for (int style = MIX_HANDOFF; style <= MIX_RELEASE; style++) {
		auto_close int fd = mix_file(m, style, NR);
		struct trace_reader *r = NULL;
		struct event got, want;
		double bytes;

		bytes = (double)lseek(fd, 0, SEEK_END) / m->owner_changes;
		print_message("# %s: %.2f bytes for an owner change, with the %.2f other events"
			      " around it\n", names[style], bytes,
			      (double)NR / m->owner_changes - 1);
		assert_true(bytes <= 8);

		lseek(fd, 0, SEEK_SET);
		mix_init(m, style, 20);
		assert_int_equal(trace_reader_open(&r, fd, "mix", NULL), 0);
		for (int i = 0; i < NR; i++) {
			mix_next(m, &want);
			assert_int_equal(trace_read(r, &got, NULL), 1);
			assert_event_equal(&got, &want);
		}
		assert_int_equal(trace_read(r, &got, NULL), 0);
		trace_reader_free(r);
	}
}

static void flushed_events_can_be_read_at_once(void **state)
{
	struct event evs[2] = { { .kind = EVENT_QUEUE, .ts_ns = 7 },
				{ .kind = EVENT_OWNER, .ts_ns = 9 } };
	auto_close int fd = file_of("", 0);
	struct trace_writer *w = NULL;
	struct reading in;
	struct err e;

	(void)state;
	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), 0);
	assert_int_equal(trace_write(w, &evs[0], &e), 0);
	lseek(fd, 0, SEEK_SET);
	file_read(&in, fd, evs, 2);
	assert_int_equal(in.nr, 0);

	assert_int_equal(trace_flush(w, &e), 0);
	assert_int_equal(trace_flush(w, &e), 0);	/* nothing to do, and no empty chunk */
	lseek(fd, 0, SEEK_SET);
	file_read(&in, fd, evs, 2);
	assert_int_equal(in.nr, 1);
	assert_int_equal(in.got, 0);
	assert_false(in.is_complete);

	assert_int_equal(trace_write(w, &evs[1], &e), 0);
	assert_int_equal(trace_finish(w, TOTALS, &e), 0);
	trace_writer_free(w);
	lseek(fd, 0, SEEK_SET);
	assert_whole(fd, evs, 2);
}

/* To be interrupted in the middle of a read(2). */
static void on_signal(int signal)
{
	(void)signal;
}

/* Feeds the file to @to in pieces of 1 to 97 bytes, a signal before each; never returns. */
static _Noreturn void feed(int from, int to, pid_t reader)
{
	uint8_t piece[97];
	size_t size = 1;
	ssize_t n;

	while ((n = read(from, piece, size)) > 0) {
		if (kill(reader, SIGUSR1) || write(to, piece, n) != n)
			_exit(1);
		size = size % sizeof(piece) + 1;
	}
	_exit(n != 0);
}

static void a_pipe_can_be_read(void **state)
{
	enum { NR = 5000 };
	auto_free struct event *evs = calloc(NR, sizeof(*evs));
	struct sigaction action = { .sa_handler = on_signal }, before;
	uint64_t random = 3;

	(void)state;
	assert_non_null(evs);
	for (int i = 0; i < NR; i++)
		any_event(&random, &evs[i], i);
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	for (int flags = 0; flags <= O_NONBLOCK; flags += O_NONBLOCK) {
		auto_close int fd = file_with(evs, NR, 100);
		int ends[2], status;
		pid_t pid;

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		assert_int_equal(fcntl(ends[0], F_SETFL, flags), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			close(ends[0]);
			feed(fd, ends[1], getppid());
		}
		close(ends[1]);
		assert_whole(ends[0], evs, NR);
		close(ends[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	sigaction(SIGUSR1, &before, NULL);
}

/* Pages in memory now, in KiB. */
static long resident_kib(void)
{
	auto_fclose FILE *f = fopen("/proc/self/statm", "re");
	long pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void memory_does_not_grow_with_the_file(void **state)
{
	enum { SIZE = 50 << 20, ALLOWED_KIB = 6 << 10 };
	auto_close int fd = file_of("", 0);
	struct trace_writer *w = NULL;
	struct trace_reader *r = NULL;
	uint64_t random = 5, nr = 0;
	long before, most = 0;
	struct err e = { 0 };
	struct event ev;

	(void)state;
	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), 0);
	for (uint64_t ts = 0; trace_writer_bytes(w) < SIZE; ts = ev.ts_ns) {
		any_event(&random, &ev, ts);
		assert_int_equal(trace_write(w, &ev, &e), 0);
	}
	assert_int_equal(trace_finish(w, TOTALS, &e), 0);
	trace_writer_free(w);

	lseek(fd, 0, SEEK_SET);
	malloc_trim(0);		/* or the reader's memory could be what the writer left */
	before = resident_kib();
	assert_int_equal(trace_reader_open(&r, fd, "NAME", &e), 0);
	while (trace_read(r, &ev, &e) == 1) {
		long now;

		if (nr++ % 16384)
			continue;
		now = resident_kib();
		most = now > most ? now : most;
	}
	assert_true(trace_complete(r));
	trace_reader_free(r);
	print_message("# %d MiB, %ju events: %ld KiB more memory at most\n", SIZE >> 20,
		      (uintmax_t)nr, most - before);
	assert_true(most - before < ALLOWED_KIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_survives),
		cmocka_unit_test(a_trace_without_events_is_complete),
		cmocka_unit_test(time_may_run_backwards),
		cmocka_unit_test(a_text_may_hold_any_bytes),
		cmocka_unit_test(text_beyond_its_length_is_ignored),
		cmocka_unit_test(many_threads_fit_one_chunk),
		cmocka_unit_test(more_locks_than_a_chunk_can_have_take_several),
		cmocka_unit_test(an_owner_change_takes_at_most_8_bytes),
		cmocka_unit_test(flushed_events_can_be_read_at_once),
		cmocka_unit_test(a_pipe_can_be_read),
		cmocka_unit_test(memory_does_not_grow_with_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
