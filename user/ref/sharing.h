/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How copies that are made at the same time slow each other down. */
#ifndef GVL_REF_SHARING_H
#define GVL_REF_SHARING_H

#include <stdint.h>

#include "ref/schedule.h"

/* All zero: they do not. */
struct sharing {
	uint32_t cpus;		/* 0: any number */
	double bandwidth_1;	/* bytes/s that one copy can have; 0: any */
	double bandwidth_all;	/* ... and all of them together */
};

/* The speed of each of @k (> 0) copies at the same time; 1 is that of one alone. */
double sharing_speed(const struct sharing *sh, uint32_t k);

/*
 * What each recorded copy without the lock would have taken alone, ns, in @alone, which is indexed as the
 * episode's acts. 0 or -ENOMEM.
 */
int sharing_alone(double *alone, const struct episode *ep, const struct sharing *sh);

#endif
