/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef GVL_UTIL_CLOCK_H
#define GVL_UTIL_CLOCK_H

#include <stdint.h>

#define NS_PER_SEC 1000000000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_US 1000ULL

uint64_t clock_now_ns(void);	/* CLOCK_MONOTONIC, which bpf_ktime_get_ns() reads too */
uint64_t clock_thread_cpu_ns(void);	/* CPU time of the calling thread */

#endif
