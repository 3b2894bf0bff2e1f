/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The question that Ruby's feature 20902 left open: from which size on does it pay to copy without
 * the lock, on this machine?
 *
 * One thread copies, again and again, and lets the lock go and takes it again after each copy, as
 * a call that does not block does. Meanwhile nobody else wants the lock, or one thread or four want
 * it for 50 us at a time with pauses of 50 us and what the timer adds, or one computes with it and
 * yields at the end of its quantum (100 ms).
 *
 * It *pays* when more useful work is done in the same time: copies and the others' computing, each
 * counted as the time that it takes alone. That is, the 95 % interval of the ratio released / held
 * lies above 1, at that size and all larger ones. What the copier itself wins or loses is told
 * beside it: with a rival that computes it waits a quantum for each release.
 */
#ifndef GVL_REF_SWEEP_H
#define GVL_REF_SWEEP_H

#include "ref/bench.h"
#include "ref/lock.h"

/* As bench_copy(), which calls it. @l has the quantum of Ruby, and nobody uses it. */
int bench_copy_sweep(struct findings *f, const struct bench_options *o, struct ref_lock *l,
		     struct err *e);

#endif
