/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* On which processors the threads of a burst of work begin: whether they run at once depends on it. */
#ifndef GVL_REF_PLACES_H
#define GVL_REF_PLACES_H

#include <stdint.h>

#define PLACES_MAX 32		/* threads of a burst: the first ones */
#define PLACEMENTS_MAX 128

/* Of the threads of one burst, in the order in which they came. */
struct places {
	uint32_t nr;
	uint16_t cpus[PLACES_MAX];	/* plus 1, as EVENT_COPY has it; 0: not known */
};

/* Of many bursts, all of them or every so many; all zero has none. */
struct placements {
	struct places at[PLACEMENTS_MAX];
	uint32_t nr;
	uint32_t left_out;	/* between two that are kept */
	uint32_t missed;	/* since the last one */
};

/* Beyond PLACES_MAX it does nothing. */
void places_add(struct places *p, uint16_t cpu);
void placements_add(struct placements *all, const struct places *p);

/*
 * The @i-th thread's processor among @cpus others that are in no order: those of @p, in that of their first
 * appearance, take theirs one after the other. -1: not known.
 */
int places_on(const struct places *p, uint32_t i, uint32_t cpus);

#endif
