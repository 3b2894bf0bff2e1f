// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/stop.h"

#include <unistd.h>

static void *stop_wait(void *arg)
{
	struct stop *s = arg;
	int sig;

	sigwait(&s->signals, &sig);
	s->is_interrupted = true;
	pthread_sigmask(SIG_UNBLOCK, &s->signals, NULL);
	for (;;)
		pause();
	return NULL;
}

int stop_start(struct stop *s, struct err *e)
{
	int err;

	s->is_interrupted = false;
	sigemptyset(&s->signals);
	sigaddset(&s->signals, SIGINT);
	sigaddset(&s->signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &s->signals, NULL);
	err = pthread_create(&s->thread, NULL, stop_wait, s);
	return err ? err_sys(e, err, "a thread") : 0;
}

void stop_end(struct stop *s)
{
	pthread_cancel(s->thread);
	pthread_join(s->thread, NULL);
}
