/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ctrl-C for commands that measure with threads: the first asks them to end, a second ends at once. */
#ifndef GVL_CMD_STOP_H
#define GVL_CMD_STOP_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "util/err.h"

struct stop {
	sigset_t signals;
	pthread_t thread;
	volatile bool is_interrupted;
};

/* Before any other thread starts: they are to have these signals blocked too. 0 or -errno with @e set. */
int stop_start(struct stop *s, struct err *e);
void stop_end(struct stop *s);

#endif
