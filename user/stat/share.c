// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stat/share.h"

#include <math.h>

struct share share_of(uint64_t hits, uint64_t total)
{
	const double z = 1.96;		/* 95 % of a normal distribution */
	double n = total, p, middle, width;

	if (!total)
		return (struct share){ 0, 0, 1 };
	p = hits / n;
	middle = (p + z * z / (2 * n)) / (1 + z * z / n);
	width = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
	return (struct share){ p, fmax(0, middle - width), fmin(1, middle + width) };
}
