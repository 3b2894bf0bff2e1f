// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When writing fails the caller hears of it, and what was written before stays readable. */
#include "tests/unit/trace_file.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "event/kind.h"

enum { LIMIT = 256 << 10, MANY = 200000 };

/* Never the same twice, so that a chunk does not shrink to nothing. */
static void numbered_event(struct event *ev, uint32_t i)
{
	memset(ev, 0, sizeof(*ev));
	ev->kind = EVENT_QUEUE;
	ev->ts_ns = (uint64_t)i * 2654435761U;
	ev->thread = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15ULL;
	ev->tid = i * 40503;
}

/* Writes until it fails, no more than MANY events; what the call that failed returned. */
static int write_until_it_fails(struct trace_writer *w, struct err *e)
{
	struct event ev;
	int err = 0;

	for (uint32_t i = 0; i < MANY && !err; i++) {
		numbered_event(&ev, i);
		err = trace_write(w, &ev, e);
	}
	return err;
}

/* The file ends with a whole chunk: all events up to there, then nothing. */
static void assert_readable_so_far(int fd, uint64_t want_size)
{
	struct trace_reader *r = NULL;
	struct event got, want;
	struct err e = { 0 };
	struct stat st;
	uint32_t nr = 0;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, want_size);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(trace_reader_open(&r, fd, "NAME", &e), 0);
	while (trace_read(r, &got, &e) == 1) {
		numbered_event(&want, nr++);
		assert_event_equal(&got, &want);
	}
	assert_string_equal(e.msg, "");
	assert_true(nr > 1000);
	assert_false(trace_complete(r));
	trace_reader_free(r);
}

static void assert_full(int fd, int code, const char *msg)
{
	struct trace_writer *w = NULL;
	struct event ev;
	uint64_t bytes;
	struct err e = { 0 };

	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), 0);
	assert_int_equal(write_until_it_fails(w, &e), code);
	assert_int_equal(e.reason, REASON_SYS);
	assert_string_equal(e.msg, msg);

	/* And it stays so: a hole in the middle would go unseen. */
	bytes = trace_writer_bytes(w);
	numbered_event(&ev, 0);
	assert_int_equal(trace_write(w, &ev, &e), code);
	assert_int_equal(trace_flush(w, &e), code);
	assert_int_equal(trace_finish(w, TOTALS, &e), code);
	assert_string_equal(e.msg, msg);
	assert_int_equal(trace_writer_bytes(w), bytes);
	trace_writer_free(w);
	assert_readable_so_far(fd, bytes);
}

static void a_size_limit_leaves_whole_chunks(void **state)
{
	struct rlimit old, low;
	auto_close int fd = file_of("", 0);
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = (struct rlimit){ .rlim_cur = LIMIT, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_full(fd, -EFBIG, "cannot write the trace: File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, handler);
}

/* A file on a file system of LIMIT bytes that is mounted nowhere, or -1. */
static int file_on_small_disk(void)
{
	auto_close int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	auto_close int dir = -1;

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", "256k", 0) ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	dir = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	return dir < 0 ? -1 : openat(dir, "trace.gvs", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
}

static void a_full_disk_leaves_whole_chunks(void **state)
{
	auto_close int fd = file_on_small_disk();

	(void)state;
	if (fd < 0) {
		print_message("# no file system to fill: %s (needs root)\n", strerror(errno));
		skip();
	}
	assert_full(fd, -ENOSPC, "cannot write the trace: No space left on device");
}

static void a_device_that_is_full_is_told_at_once(void **state)
{
	auto_close int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct trace_writer *w = NULL;
	struct err e = { 0 };

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), -ENOSPC);
	assert_null(w);
	assert_string_equal(e.msg, "cannot write the trace: No space left on device");
}

static void a_reader_that_left_is_an_error(void **state)
{
	void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
	struct trace_writer *w = NULL;
	struct err e = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(trace_writer_open(&w, ends[1], FACTS, &e), 0);
	close(ends[0]);
	assert_int_equal(write_until_it_fails(w, &e), -EPIPE);
	assert_string_equal(e.msg, "cannot write the trace: Broken pipe");
	trace_writer_free(w);
	close(ends[1]);
	signal(SIGPIPE, handler);
}

static void what_stood_before_the_trace_is_not_touched(void **state)
{
	struct rlimit old, low;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	auto_close int fd = file_of("keep", 4);
	struct trace_writer *w = NULL;
	struct err e = { 0 };
	struct stat st;
	char kept[4];

	(void)state;
	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = (struct rlimit){ .rlim_cur = LIMIT, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), 0);
	assert_int_equal(write_until_it_fails(w, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, handler);

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 4 + trace_writer_bytes(w));
	assert_int_equal(pread(fd, kept, sizeof(kept), 0), sizeof(kept));
	assert_memory_equal(kept, "keep", 4);
	trace_writer_free(w);
}

static void what_stands_behind_the_trace_is_not_cut_off(void **state)
{
	enum { SIZE = 4 * LIMIT };
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	auto_free uint8_t *data = calloc(1, SIZE);
	struct trace_writer *w = NULL;
	struct rlimit old, low;
	auto_close int fd = -1;
	struct err e = { 0 };
	struct stat st;

	(void)state;
	assert_non_null(data);
	fd = file_of(data, SIZE);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = (struct rlimit){ .rlim_cur = LIMIT, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), 0);
	assert_int_equal(write_until_it_fails(w, &e), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, handler);
	trace_writer_free(w);

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, SIZE);
}

static void what_is_not_an_event_is_refused(void **state)
{
	static const struct event bad[] = { { .kind = 0 }, { .kind = EVENT_KIND_END },
					    { .kind = EVENT_NAME, .text_len = EVENT_TEXT_MAX + 1 } };
	auto_close int fd = file_of("", 0);
	struct trace_writer *w = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(trace_writer_open(&w, fd, FACTS, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(trace_write(w, &bad[i], &e), -EINVAL);
	assert_int_equal(trace_finish(w, TOTALS, &e), 0);
	assert_int_equal(trace_finish(w, TOTALS, &e), -EINVAL);
	assert_string_equal(e.msg, "the trace is finished already");
	trace_writer_free(w);
	lseek(fd, 0, SEEK_SET);
	assert_whole(fd, NULL, 0);
}

static void texts_have_a_limit(void **state)
{
	enum { MAX = 4 << 20 };
	auto_free char *text = malloc(MAX + 2);
	auto_close int fd = file_of("", 0);
	struct trace_writer *w = NULL;
	struct trace_reader *r = NULL;
	struct err e = { 0 };
	struct event ev;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', MAX + 1);
	text[MAX + 1] = '\0';
	assert_int_equal(trace_writer_open(&w, fd, text, &e), -EFBIG);
	assert_string_equal(e.msg, "the trace's facts: 4194305 bytes, more than the 4194304 of a"
				   " trace");

	text[MAX] = '\0';
	assert_int_equal(ftruncate(fd, 0), 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(trace_writer_open(&w, fd, text, &e), 0);
	assert_int_equal(trace_finish(w, text, &e), 0);
	trace_writer_free(w);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(trace_reader_open(&r, fd, "NAME", &e), 0);
	assert_string_equal(trace_facts(r), text);
	assert_int_equal(trace_read(r, &ev, &e), 0);
	assert_string_equal(trace_totals(r), text);
	trace_reader_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_size_limit_leaves_whole_chunks),
		cmocka_unit_test(a_full_disk_leaves_whole_chunks),
		cmocka_unit_test(a_device_that_is_full_is_told_at_once),
		cmocka_unit_test(a_reader_that_left_is_an_error),
		cmocka_unit_test(what_stood_before_the_trace_is_not_touched),
		cmocka_unit_test(what_stands_behind_the_trace_is_not_cut_off),
		cmocka_unit_test(what_is_not_an_event_is_refused),
		cmocka_unit_test(texts_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
