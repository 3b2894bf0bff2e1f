/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace file that a command was given, or standard input. */
#ifndef GVL_CMD_INPUT_H
#define GVL_CMD_INPUT_H

#include "trace/trace.h"
#include "util/err.h"

struct input {
	int fd;
	struct trace_reader *reader;
};

/* Takes an event of it. 0 or -errno with @e set. */
typedef int input_sink(void *arg, const struct event *ev, struct err *e);

/* Opens @path, or standard input for "-". 0 or -errno with @e set. To be closed in any case. */
int input_open(struct input *in, const char *path, struct err *e);
void input_close(struct input *in);

/* Gives all events to @sink. 0, or -errno with @e set: the file is damaged, or @sink said so. */
int input_read(struct input *in, input_sink *sink, void *arg, struct err *e);

#endif
