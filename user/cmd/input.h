/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace file read to its end: what commands that read one begin with. */
#ifndef GVL_CMD_INPUT_H
#define GVL_CMD_INPUT_H

#include "event/profile.h"
#include "render/report.h"
#include "trace/trace.h"
#include "util/err.h"

/* All zero is one of which nothing is read. Release it always. */
struct input {
	struct trace_reader *reader;	/* the report's texts are its */
	struct profile profile;		/* of input_read() */
	struct report report;
};

void input_release(struct input *in);

/* Reads the trace at @path, - for standard input. 0, or -errno with @e set. */
int input_read(struct input *in, const char *path, const struct lock_window *window, enum report_by by,
	       struct err *e);

/*
 * The same for who makes something else of the events: first gives all of them to @sink, which returns 0 or
 * -errno with @e set; then makes the report on the @profile that came of them.
 */
typedef int input_sink(void *arg, const struct event *ev, struct err *e);
int input_feed(struct input *in, const char *path, input_sink *sink, void *arg, struct err *e);
int input_report(struct input *in, const struct profile *profile, enum report_by by, struct err *e);

#endif
