// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/crew.h"

#include <unistd.h>

static void *member_run(void *arg)
{
	struct crew_member *member = arg;
	const struct crew *c = member->crew;
	struct ref_thread me;

	ref_thread_init(&me, c->lock);
	ref_lock_acquire(c->lock, &me);
	if (!c->is_called_off)
		c->run(member->arg, &me);
	ref_lock_drop(c->lock, &me);
	ref_thread_destroy(&me);
	return NULL;
}

static uint32_t nr_queued(struct ref_lock *l)
{
	uint32_t nr;

	pthread_mutex_lock(&l->mutex);
	nr = l->nr_queued;
	pthread_mutex_unlock(&l->mutex);
	return nr;
}

int crew_start(struct crew *c, struct ref_lock *l, uint32_t nr, crew_run *run, void *args,
	       size_t arg_size, struct err *e)
{
	*c = (struct crew){ .lock = l, .run = run };
	while (c->nr < nr) {
		struct crew_member *member = &c->members[c->nr];
		int err;

		*member = (struct crew_member){ .crew = c, .arg = (char *)args + c->nr * arg_size };
		err = pthread_create(&member->thread, NULL, member_run, member);
		if (err) {
			c->is_called_off = true;
			return err_sys(e, err, "cannot start a thread");
		}
		c->nr++;
	}
	/* Asleep: where the kernel has threads run later depends on what was busy when they were started. */
	while (nr_queued(l) < nr)
		usleep(1000);
	return 0;
}

/* The last first: who joins wakes once, when all is done, and leaves its processor alone until then. */
void crew_join(struct crew *c)
{
	while (c->nr)
		pthread_join(c->members[--c->nr].thread, NULL);
}
