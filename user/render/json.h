/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values as the JSON forms write them. Each returns a new reference, or NULL when out of memory. */
#ifndef GVL_RENDER_JSON_H
#define GVL_RENDER_JSON_H

#include <jansson.h>
#include <stdint.h>

#include "stat/dist.h"

/* At most 63 bits: readers cannot be trusted with more. */
json_t *json_number(uint64_t n);

json_t *json_quantity(double v);		/* an integer where it is one; null where it is no number */
json_t *json_host(void);			/* this machine: {kernel, arch, cpus, cpu}, without cpu where its model is not told */
json_t *json_address(uint64_t addr);		/* "0x..." */

/* {count, sum, min, max, mean, p50, p90, p99, p999} */
json_t *json_dist(const struct dist *d);

#endif
