// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/quantity.h"

#include <math.h>
#include <stdio.h>

const char *quantity_unit(enum finding_unit unit)
{
	static const char *const names[FINDING_UNITS] = {
		[FINDING_LABEL] = "", [FINDING_COUNT] = "count", [FINDING_NS] = "ns", [FINDING_BYTES] = "bytes",
		[FINDING_BYTES_PER_S] = "bytes/s", [FINDING_PER_S] = "1/s", [FINDING_RATIO] = "ratio",
		[FINDING_SHARE] = "share",
	};

	return names[unit];
}

/* What is not negative. */
static struct unit amount_text(double v, enum finding_unit unit)
{
	struct unit u = { "" };

	switch (unit) {
	case FINDING_NS:
		return unit_ns_real(v);
	case FINDING_BYTES:
		return unit_bytes(v);
	case FINDING_BYTES_PER_S:
		snprintf(u.text, sizeof(u.text), "%.24s per s", unit_bytes(v).text);
		return u;
	case FINDING_PER_S:
		return unit_per_s(v);
	case FINDING_RATIO:
		return unit_ratio(v);
	case FINDING_SHARE:
		return unit_share(v);
	default:
		return unit_real(v);
	}
}

struct unit quantity(double v, enum finding_unit unit)
{
	struct unit u = { "" };

	if (isnan(v))
		return (struct unit){ "-" };
	if (unit == FINDING_COUNT && v >= 0 && v < 0x1p53 && v == trunc(v))
		return unit_count(v);
	if (!(v < 0))
		return amount_text(v, unit);
	snprintf(u.text, sizeof(u.text), "-%.30s", amount_text(-v, unit).text);
	return u;
}
