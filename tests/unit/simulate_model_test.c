// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The simulator against histories of a lock made at random. */
#include "schedules.h"

#include <string.h>

#define THREADS 12

/* A history as the lock of @design makes them, at random: who waits, who has it, who copies. */
struct model {
	struct told t;
	uint64_t random, now;
	uint32_t line[THREADS], nr;
	uint32_t owner;			/* 0: nobody */
	uint64_t got_ns, gave_ns[THREADS + 1];
	enum ref_lock_design design;
};

static uint64_t pick(struct model *m, uint64_t n)
{
	m->random = m->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (m->random >> 33) % n;
}

static void model_next(struct model *m, uint32_t by)
{
	m->owner = m->nr ? m->line[0] : 0;
	m->got_ns = m->now;
	m->nr -= m->nr > 0;
	memmove(m->line, m->line + 1, m->nr * sizeof(*m->line));
	owner(&m->t, m->now, m->owner, by);
}

static bool model_waits(const struct model *m, uint32_t thread)
{
	for (uint32_t i = 0; i < m->nr; i++)
		if (m->line[i] == thread)
			return true;
	return false;
}

static void model_want(struct model *m, uint32_t thread)
{
	if (thread == m->owner || model_waits(m, thread))
		return;
	if (pick(m, 3) == 0 && m->now > m->gave_ns[thread] + 10 && m->gave_ns[thread])
		copied(&m->t, m->gave_ns[thread] + 5, m->now - 5, thread, false);
	if (!m->owner && (!m->nr || m->design == REF_LOCK_31)) {
		m->owner = thread;
		m->got_ns = m->now;
		owner(&m->t, m->now, thread, thread);
		return;
	}
	queue(&m->t, m->now, thread);
	m->line[m->nr++] = thread;
}

static void model_give(struct model *m)
{
	uint32_t by = m->owner;

	m->gave_ns[by] = m->now;
	if (pick(m, 3) == 0 && m->now > m->got_ns + 10)
		copied(&m->t, m->got_ns + 5, m->now - 5, by, true);
	if (m->design == REF_LOCK_33) {
		if (pick(m, 4) == 0 && m->nr) {
			queue(&m->t, m->now, by);
			m->line[m->nr++] = by;
			m->now += pick(m, 3);
		}
		model_next(m, by);
		return;
	}
	m->owner = 0;
	owner(&m->t, m->now, 0, by);
}

static void model_step(struct model *m)
{
	m->now += 1 + pick(m, 1000) * pick(m, 1000);
	if (pick(m, 2))
		model_want(m, 1 + pick(m, THREADS));
	else if (m->owner)
		model_give(m);
	else if (m->nr)
		model_next(m, m->line[0]);
}

static void model_run(uint64_t seed)
{
	static const struct sharing sharing = { .cpus = 2, .bandwidth_1 = 8e9, .bandwidth_all = 11e9 };
	struct model m = { .random = seed, .design = seed % 2 ? REF_LOCK_31 : REF_LOCK_33 };
	struct simulate_options o;
	struct simulated r;

	told_init(&m.t);
	state(&m.t, 0, 0);
	for (int i = 0; i < 2000; i++)
		model_step(&m);
	end(&m.t, m.now + 1);
	IS(told_lock(&m.t)->design, m.design);
	run_unchanged(m.t.s.locks[0], &r);
	simulated_release(&r);
	o = moved(m.t.s.locks[0], 0);
	o.sharing = sharing;
	o.transition_ns = 2000;
	run(m.t.s.locks[0], &o, &r);
	IS(r.held_copies, 0);
	simulated_release(&r);
	o.threshold = SIZE_MAX;
	run(m.t.s.locks[0], &o, &r);
	IS(r.free_copies, 0);
	simulated_release(&r);
	told_release(&m.t);
}

TEST(random_schedules_come_out_as_recorded_and_lose_no_time_when_changed)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 200; seed++)
		model_run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_schedules_come_out_as_recorded_and_lose_no_time_when_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
