// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "render/clean.h"
#include "util/scope.h"

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

/* As the kernel calls it; "" where it does not say (not on every architecture). */
static struct clean cpu_model(void)
{
	auto_fclose FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512], model[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "model name : %255[^\n]", model) == 1)
			return clean(model);
	return clean("");
}

json_t *json_host(void)
{
	struct clean cpu = cpu_model();
	struct utsname un;

	uname(&un);
	return json_pack("{s:s, s:s, s:i, s:s*}", "kernel", un.release, "arch", un.machine, "cpus",
			 (int)sysconf(_SC_NPROCESSORS_ONLN), "cpu", *cpu.text ? cpu.text : NULL);
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
