/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conditions whose timed waits go by the clock of clock_now_ns(). */
#ifndef GVL_REF_COND_H
#define GVL_REF_COND_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "util/clock.h"

static inline void ref_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
}

/* True if it was the time that ended the wait. */
static inline bool ref_cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / NS_PER_SEC, .tv_nsec = ns % NS_PER_SEC };

	return pthread_cond_timedwait(c, m, &ts) == ETIMEDOUT;
}

#endif
