// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/json.h"

#include <inttypes.h>
#include <math.h>
#include <sys/utsname.h>
#include <unistd.h>

json_t *json_number(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

json_t *json_quantity(double v)
{
	if (!isfinite(v))
		return json_null();
	return v == trunc(v) && fabs(v) < 0x1p53 ? json_integer((json_int_t)v) : json_real(v);
}

json_t *json_host(void)
{
	struct utsname un;

	uname(&un);
	return json_pack("{s:s, s:s, s:i}", "kernel", un.release, "arch", un.machine, "cpus",
			 (int)sysconf(_SC_NPROCESSORS_ONLN));
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
