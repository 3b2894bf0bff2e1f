// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * frame_line PID: what the main thread of that Ruby executes, for tests/frame.t. One line: its task
 * id, "path:line" of its topmost frame of Ruby code, the receiver of its topmost frame, in
 * hexadecimal as Ruby prints it, and the status of the thread (0 to 3, enum rb_thread_status).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/frame.h"
#include "target/ruby.h"
#include "util/scope.h"

static int status_of(const struct ruby *r, uint64_t thread)
{
	uint8_t byte;

	if (r->layout.thread_status == LAYOUT_NONE ||
	    proc_read(&r->proc, thread + (uint64_t)r->layout.thread_status, &byte, sizeof(byte)))
		return -1;
	return byte & 3;
}

int main(int argc, char **argv)
{
	auto_release(ruby_release) struct ruby r = { .vm = 0 };
	const struct layout *l = &r.layout;
	struct err e = { .code = 0 };
	struct frame frame;
	uint64_t thread, ec, self;
	char line[4200];
	int err;

	if (argc != 2) {
		fprintf(stderr, "usage: frame_line PID\n");
		return EXIT_USAGE;
	}
	if (ruby_open(&r, atoi(argv[1]), NULL, &e)) {
		fprintf(stderr, "frame_line: %s\n", e.msg);
		return EXIT_RUNTIME;
	}
	err = proc_read_u64(&r.proc, r.vm + (uint64_t)l->vm_main_thread, &thread);
	if (!err)
		err = proc_read_u64(&r.proc, thread + (uint64_t)l->thread_ec, &ec);
	if (!err)
		err = frame_top(&r.proc, l, ec, &frame, &self);
	if (!err)
		err = frame_line(&r.proc, l, &frame, line, sizeof(line));
	if (err) {
		fprintf(stderr, "frame_line: %s\n", strerror(-err));
		return EXIT_RUNTIME;
	}
	printf("%" PRIu32 " %s 0x%016" PRIx64 " %d\n", ruby_thread_tid(&r, thread), line, self,
	       status_of(&r, thread));
	return EXIT_DONE;
}
