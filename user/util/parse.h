/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers as people type them. Each returns 0, or -EINVAL with *out untouched. */
#ifndef GVL_UTIL_PARSE_H
#define GVL_UTIL_PARSE_H

#include <stdint.h>

int parse_u64(const char *s, uint64_t *out);		/* decimal digits only */
int parse_double(const char *s, double *out);
int parse_size(const char *s, uint64_t *out);		/* 4096, 64K, 16M, 1G (bytes) */
int parse_time(const char *s, uint64_t *out);		/* 5 (s), 5s, 200ms, 10us, 7ns, 2m, 1h; in ns */

#endif
