/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Starts a command and holds it where Ruby is ready but none of the program's code has run. */
#ifndef GVL_PROBE_LAUNCH_H
#define GVL_PROBE_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "util/err.h"

struct launch {
	pid_t pid;
	bool is_held;		/* stopped, waiting for launch_release() */
	bool has_ended;
	int status;		/* as of waitpid(), once it has ended */
};

/*
 * Starts @argv, signal mask @mask, and holds it at the first instruction of ruby_run_node(), the
 * exported function (eval.c) that runs the main program. 0, also when the command ended before
 * (l->has_ended). -errno with @e set when it cannot be run or held; nothing of it is left then.
 * @prog_fd is the program that stops its caller, see tracer_hold_program().
 */
int launch_start(struct launch *l, char **argv, const sigset_t *mask, int prog_fd, bool is_multi,
		 struct err *e);

/* Lets it run on, as if nothing had been. */
void launch_release(struct launch *l);

/* Ends a command that is still held: nothing of its program has run. l->pid is 0 then. */
void launch_abort(struct launch *l);

/* Waits until it has ended (true, l->status is filled) or @fd is readable (false). */
bool launch_poll(struct launch *l, int fd);

/* Waits for its end unless it has ended already; fills l->status. */
void launch_wait(struct launch *l);

#endif
