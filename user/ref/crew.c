// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/crew.h"

#include <unistd.h>

/* The place of the @i-th thread, among the processors of @set; -1: any. */
static int cpu_of(const struct places *p, uint32_t i, const cpu_set_t *set)
{
	int cpu = 0, nr = CPU_COUNT(set), at = nr ? places_on(p, i, nr) : -1;

	if (at < 0)
		return -1;
	while (!CPU_ISSET(cpu, set) || at--)
		cpu++;
	return cpu;
}

/* Until it has the lock. Where it cannot be put, it runs where the kernel puts it. */
static void acquire_on(int cpu, const cpu_set_t *anywhere, struct ref_lock *l, struct ref_thread *me)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	sched_setaffinity(0, sizeof(only), &only);
	ref_lock_acquire(l, me);
	sched_setaffinity(0, sizeof(*anywhere), anywhere);
}

static void *member_run(void *arg)
{
	struct crew_member *member = arg;
	const struct crew *c = member->crew;
	struct ref_thread me;

	ref_thread_init(&me, c->lock);
	if (member->cpu < 0)
		ref_lock_acquire(c->lock, &me);
	else
		acquire_on(member->cpu, &c->anywhere, c->lock, &me);
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

int crew_start_at(struct crew *c, const struct places *places, struct ref_lock *l, uint32_t nr,
		  crew_run *run, void *args, size_t arg_size, struct err *e)
{
	*c = (struct crew){ .lock = l, .run = run };
	if (sched_getaffinity(0, sizeof(c->anywhere), &c->anywhere))
		CPU_ZERO(&c->anywhere);
	while (c->nr < nr) {
		struct crew_member *member = &c->members[c->nr];
		int err;

		*member = (struct crew_member){ .crew = c, .arg = (char *)args + c->nr * arg_size };
		member->cpu = cpu_of(places, c->nr, &c->anywhere);
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

int crew_start(struct crew *c, struct ref_lock *l, uint32_t nr, crew_run *run, void *args,
	       size_t arg_size, struct err *e)
{
	return crew_start_at(c, &(struct places){ 0 }, l, nr, run, args, arg_size, e);
}

/* The last first: who joins wakes once, when all is done, and leaves its processor alone until then. */
void crew_join(struct crew *c)
{
	while (c->nr)
		pthread_join(c->members[--c->nr].thread, NULL);
}
