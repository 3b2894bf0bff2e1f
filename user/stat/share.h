/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What share of all something has, as far as samples tell. */
#ifndef GVL_STAT_SHARE_H
#define GVL_STAT_SHARE_H

#include <stdint.h>

struct share {
	double value;
	double low, high;	/* of the 95 % interval */
};

/* Of @total samples, @hits were of it: Wilson's interval. {0, 0, 1} where there are none. */
struct share share_of(uint64_t hits, uint64_t total);

#endif
