// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void collect(void *arg, const struct close_one *one)
{
	struct comparison *c = arg;

	if (c->nr_closes == c->closes_room) {
		size_t room = c->closes_room ? 2 * c->closes_room : 1024;
		struct close_one *more = reallocarray(c->closes, room, sizeof(*more));

		if (!more) {
			c->is_broken = true;
			return;
		}
		c->closes = more;
		c->closes_room = room;
	}
	c->closes[c->nr_closes++] = *one;
}

void comparison_init(struct comparison *c)
{
	*c = (struct comparison){ 0 };
	schedule_init(&c->schedule);
	c->schedule.profile.closes.each = collect;
	c->schedule.profile.closes.arg = c;
}

void comparison_release(struct comparison *c)
{
	schedule_release(&c->schedule);
	free(c->closes);
}

uint64_t comparison_waited_ns(const struct comparison *c)
{
	const struct profile *p = &c->schedule.profile;
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nr_locks; i++)
		if (p->locks[i])
			sum += p->locks[i]->totals.wait.ns.sum;
	return sum;
}

/* Copies of which it is not known what their threads did besides, or how long they took. */
static unsigned long long left_out(const struct comparison *c)
{
	unsigned long long sum = 0;

	for (size_t i = 0; i < c->schedule.nr_locks; i++)
		sum += c->schedule.locks[i] ? c->schedule.locks[i]->copies_left_out : 0;
	return sum;
}

static int nothing(const struct comparison *c, struct err *e)
{
	char copies[64] = "";

	if (left_out(c))
		snprintf(copies, sizeof(copies), "; %llu copies could not be placed in it", left_out(c));
	return err_set(e, REASON_NOTHING_COMPARED, -ENODATA, "the trace%s has no closes, and no copies "
		       "of IO::Buffer, that the other design would change%s",
		       c->is_cut ? ", of which the end is missing," : "", copies);
}

struct compare_words compare_words(const struct figure *speedup)
{
	struct compare_words w = { "as fast as before" };

	if (fabs(speedup->value - 1) < 0.005)
		return w;
	if (speedup->low > 1)
		snprintf(w.text, sizeof(w.text), "%.2fx faster", speedup->value);
	else if (speedup->high < 1)
		snprintf(w.text, sizeof(w.text), "%.2fx slower", 1 / speedup->value);
	return w;
}

int compare(struct findings *f, const struct comparison *c, const struct compare_options *o,
	    struct err *e)
{
	int closes, copies;

	if (c->is_broken)
		return err_nomem(e);
	closes = compare_closes(f, c, o, e);
	if (closes < 0)
		return closes;
	if (*o->is_interrupted)
		return -EINTR;
	copies = compare_copies(f, c, o, e);
	if (copies < 0)
		return copies;
	if (*o->is_interrupted)
		return -EINTR;
	if (closes && copies)
		return nothing(c, e);
	if (left_out(c))
		findings_say(f, "%llu copies are left out, as it is not known what their threads did besides, or "
			     "how long they took.", left_out(c));
	return f->is_broken ? err_nomem(e) : 0;
}
