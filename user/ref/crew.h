/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads of a benchmark that begin together: they queue for a lock until its owner lets it go. */
#ifndef GVL_REF_CREW_H
#define GVL_REF_CREW_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ref/lock.h"
#include "ref/places.h"
#include "util/err.h"

#define CREW_MAX PLACES_MAX

/* What each does; it owns the lock when it begins and when it returns. */
typedef void crew_run(void *arg, struct ref_thread *me);

struct crew {
	struct crew_member {
		const struct crew *crew;
		void *arg;
		pthread_t thread;
		int cpu;			/* to begin on; -1: any */
	} members[CREW_MAX];
	uint32_t nr;
	struct ref_lock *lock;
	crew_run *run;
	cpu_set_t anywhere;
	bool is_called_off;
};

/*
 * Starts @nr threads, at most CREW_MAX; the i-th gets the i-th of @args, each of @arg_size bytes.
 * The caller owns @l. 0 when all are in its queue; -errno with @e set when not all could be
 * started, and then those that were do nothing. Either way the caller drops the lock, then joins.
 */
int crew_start(struct crew *c, struct ref_lock *l, uint32_t nr, crew_run *run, void *args,
	       size_t arg_size, struct err *e);

/* So, and each has the lock first at its place; from then on the kernel may have it run anywhere. */
int crew_start_at(struct crew *c, const struct places *places, struct ref_lock *l, uint32_t nr,
		  crew_run *run, void *args, size_t arg_size, struct err *e);

void crew_join(struct crew *c);

#endif
