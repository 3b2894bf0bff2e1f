// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/json.h"

#include <inttypes.h>

json_t *json_number(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

json_t *json_address(uint64_t addr)
{
	return json_sprintf("0x%" PRIx64, addr);
}

json_t *json_dist(const struct dist *d)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "count", json_number(d->count), "sum", json_number(d->sum),
			 "min", json_number(d->min), "max", json_number(d->max),
			 "mean", json_number(dist_mean(d)),
			 "p50", json_number(dist_quantile(d, 500)),
			 "p90", json_number(dist_quantile(d, 900)),
			 "p99", json_number(dist_quantile(d, 990)),
			 "p999", json_number(dist_quantile(d, 999)));
}
