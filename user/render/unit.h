/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers as text for people: three digits that matter, a unit, ASCII. */
#ifndef GVL_RENDER_UNIT_H
#define GVL_RENDER_UNIT_H

#include <stdint.h>

/* By value, for the arguments of a printf: unit_ns(t).text */
struct unit {
	char text[32];
};

struct unit unit_ns(uint64_t ns);		/* "0 ns", "850 ns", "12.3 ms", "5.00 s", "4,210 s" */
struct unit unit_ns_real(double ns);		/* the same of a mean or a slope: "4.62 ns" */
struct unit unit_bytes(double bytes);		/* "64 B", "1.5 KiB", "20.0 MiB" */
struct unit unit_count(uint64_t n);		/* "1,234,567" */
struct unit unit_fact(double v);		/* "1,234,567", "5.025": what is to be told from its next */
struct unit unit_real(double v);		/* "0", "0.012", "3.1", "12.4", "2,469" */
struct unit unit_per_s(double v);		/* "2,469 per s" */
struct unit unit_rate(uint64_t n, uint64_t ns);	/* the same; "-" over no time */
struct unit unit_ratio(double v);		/* "0.054x", "1.62x", "141x" */
struct unit unit_spread(double share);		/* "+-4 %", "+-<1 %" */

/* "97.2 %". What is not quite nothing or everything never looks like it: "<0.1 %", ">99.9 %". */
struct unit unit_share(double share);
struct unit unit_share_of(uint64_t part, uint64_t whole);	/* "-" of nothing */

#endif
