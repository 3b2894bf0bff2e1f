// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "util/scope.h"

/* A descriptor of the caller's, or -errno with @e set. */
static int open_trace(const char *path, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) :
		 open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return err_set(e, REASON_TRACE_OPEN, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode) || (is_stdin && isatty(fd))) {
		close(fd);
		return err_set(e, REASON_TRACE_OPEN, -EISDIR, "%s: %s", path,
			       is_stdin ? "standard input is a terminal" : strerror(EISDIR));
	}
	return fd;
}

int input_feed(struct input *in, const char *path, input_sink *sink, void *arg, struct err *e)
{
	auto_close int fd = open_trace(path, e);
	struct event ev;
	int got;

	if (fd < 0)
		return fd;
	got = trace_reader_open(&in->reader, fd, path, e);
	if (got)
		return got;
	while ((got = trace_read(in->reader, &ev, e)) == 1) {
		int err = sink(arg, &ev, e);

		if (err)
			return err;
	}
	return got;
}

int input_report(struct input *in, const struct profile *profile, enum report_by by, struct err *e)
{
	return report_init(&in->report, &(struct report_source){
		.facts = trace_facts(in->reader), .totals = trace_totals(in->reader),
		.is_complete = trace_complete(in->reader), .profile = profile, .by = by }, e);
}

static int add_event(void *profile, const struct event *ev, struct err *e)
{
	return profile_add(profile, ev, e);
}

int input_read(struct input *in, const char *path, const struct lock_window *window, enum report_by by,
	       struct err *e)
{
	int err;

	profile_init(&in->profile, window);
	err = input_feed(in, path, add_event, &in->profile, e);
	if (!err)
		err = profile_finish(&in->profile, e);
	return err ? err : input_report(in, &in->profile, by, e);
}

void input_release(struct input *in)
{
	report_release(&in->report);
	profile_release(&in->profile);
	trace_reader_free(in->reader);
}
