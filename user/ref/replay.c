// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ref/readers.h"
#include "util/clock.h"
#include "util/scope.h"

#define PATIENCE_NS (10 * NS_PER_SEC)

void replayed_release(struct replayed *r)
{
	sample_release(&r->scan);
	sample_release(&r->wait);
	sample_release(&r->call);
}

static int by_listed(const void *a, const void *b)
{
	const struct replay_close *x = a, *y = b;

	return (x->listed < y->listed) - (x->listed > y->listed);
}

/* The @i-th of those that are done again, of @nr. */
static const struct replay_close *sampled(const struct replay_close *closes, size_t nr, size_t i)
{
	return nr <= REPLAY_SAMPLE ? &closes[i] : &closes[i * nr / REPLAY_SAMPLE];
}

/* Closes an IO that nobody waits on. 0 or -errno. */
static int close_idle(struct readers *p, struct ref_close *out)
{
	struct ref_io io;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	ref_io_init(&io, fd[0], false);
	ref_io_close(p->now, &io, &p->closer, out);
	close(fd[1]);
	return 0;
}

/* What a list that is too long for this machine would have taken more: the scan alone grows with it. */
static double scan_ns(const struct ref_close *did, uint64_t listed)
{
	if (did->visited < 2 || did->visited >= listed)
		return did->scan_ns;
	return (double)did->scan_ns * listed / did->visited;
}

struct sums {
	double scan, wait, call, nr;
};

static int sums_tell(const struct sums *hands, struct replayed *out)
{
	for (int i = 0; i < REPLAY_HANDS; i++) {
		const struct sums *s = &hands[i];

		if (s->nr > 0 && (sample_add(&out->scan, s->scan / s->nr) ||
				  sample_add(&out->wait, s->wait / s->nr) ||
				  sample_add(&out->call, s->call / s->nr)))
			return -ENOMEM;
	}
	return 0;
}

/* All closes once. Readers are let go from the last one on, closed from the first one on. */
static int play(struct readers *p, const struct replay_way *way, const struct replay_close *closes,
		size_t nr, struct replayed *out)
{
	size_t todo = nr < REPLAY_SAMPLE ? nr : REPLAY_SAMPLE;
	struct sums hands[REPLAY_HANDS] = { 0 };
	uint32_t first = 0, last = p->nr;
	int err = readers_gather(p, way->design, way->is_shuffled);

	if (err)
		return err;
	for (size_t i = 0; i < todo && !err; i++) {
		const struct replay_close *want = sampled(closes, nr, i);
		struct sums *s = &hands[i % REPLAY_HANDS];
		struct ref_close did = { 0 };

		while (last > first && last - first > want->listed)
			readers_let_go(p, --last);
		readers_wait(p, last - first, PATIENCE_NS);
		if (want->is_matched && first < last)
			ref_io_close(p->now, &p->reader[first++].in, &p->closer, &did);
		else
			err = close_idle(p, &did);
		s->scan += way->design == REF_WAITERS_GLOBAL ? scan_ns(&did, want->listed) : did.scan_ns;
		s->wait += did.wait_ns;
		s->call += did.call_ns;
		s->nr++;
	}
	while (last > first)
		readers_let_go(p, --last);
	readers_wait(p, 0, PATIENCE_NS);
	return err ? err : sums_tell(hands, out);
}

int replay_closes(struct replay_close *closes, size_t nr, const struct replay_way *ways, size_t nr_ways,
		  const volatile bool *is_interrupted, struct replayed *out, struct err *e)
{
	struct readers p;
	uint64_t most;
	int err;

	qsort(closes, nr, sizeof(*closes), by_listed);
	most = closes[0].listed < REPLAY_READERS ? closes[0].listed : REPLAY_READERS;
	err = readers_init(&p, most ? most : 1, false);
	if (err)
		return err_set(e, REASON_SYS, err, "%llu threads that read: %s",
			       (unsigned long long)most, strerror(-err));
	for (size_t i = 0; i < REPLAY_ROUNDS * nr_ways && !err; i++)
		err = *is_interrupted ? -EINTR :
					play(&p, &ways[i % nr_ways], closes, nr, &out[i % nr_ways]);
	readers_release(&p);
	return err ? err_set(e, REASON_SYS, err, "closes done again: %s", strerror(-err)) : 0;
}
