// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/scope.h"

int input_open(struct input *in, const char *path, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct stat st;

	*in = (struct input){
		.fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC),
	};
	if (in->fd < 0 || fstat(in->fd, &st))
		return err_set(e, REASON_TRACE_OPEN, -errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode) || (is_stdin && isatty(in->fd)))
		return err_set(e, REASON_TRACE_OPEN, -EISDIR, "%s: %s", path,
			       is_stdin ? "standard input is a terminal" : strerror(EISDIR));
	return trace_reader_open(&in->reader, in->fd, path, e);
}

void input_close(struct input *in)
{
	trace_reader_free(in->reader);
	scope_close(&in->fd);
}

int input_read(struct input *in, input_sink *sink, void *arg, struct err *e)
{
	struct event ev;
	int got;

	while ((got = trace_read(in->reader, &ev, e)) == 1) {
		int err = sink(arg, &ev, e);

		if (err)
			return err;
	}
	return got;
}
