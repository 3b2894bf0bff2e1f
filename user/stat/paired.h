/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Differences of pairs, of several quantities at once: are they 0, and if not, how large?
 *
 * If the two of a pair are alike, it is chance alone which of them is the first, so every difference could
 * as well have the other sign, in all quantities together. Turning the signs of any subset of the pairs gives
 * what else could have been seen, with equal chance: this says how unusual what was seen is, exactly,
 * whatever the noise is like (heavy tails, drifts and modes that both sides share). Means over the same
 * subsets give the interval (Hartigan, Journal of the American Statistical Association 64, 1969).
 */
#ifndef GVL_STAT_PAIRED_H
#define GVL_STAT_PAIRED_H

#include <stddef.h>

struct paired {
	size_t nr;		/* pairs that have a difference of it */
	double mean;		/* of these; 0 without any */
	double low, high;	/* interval of the mean; infinite if there are too few pairs for one */
	double p_up, p_down;	/* chance that at least one of the quantities is as far up, as far down,
				 * by its least or more, if nothing differs; 1 if it is not itself */
};

/*
 * diff[q * @nr_pairs + i] is the difference of quantity q in pair i, NAN where it has none. A mean
 * nearer to 0 than least[q] (not below 0) is of no interest: the fewer can be of any, the less they cost the
 * others. @tail is the chance at either side of the intervals, e.g. 0.01. Fills out[0..@nr_quantities). 0 or -ENOMEM.
 */
int paired_test(const double *diff, const double *least, size_t nr_quantities, size_t nr_pairs, double tail,
		struct paired *out);

/* The least pairs for which p can be @tail, and for which there are intervals. */
size_t paired_least(double tail);

#endif
