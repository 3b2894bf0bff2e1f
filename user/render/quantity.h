/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A number as text, by what it is a number of. */
#ifndef GVL_RENDER_QUANTITY_H
#define GVL_RENDER_QUANTITY_H

#include "render/unit.h"
#include "stat/findings.h"

struct unit quantity(double v, enum finding_unit unit);	/* "1,234", "12.3 ms", "41.2 %"; "-" of NAN */

const char *quantity_unit(enum finding_unit unit);	/* in JSON: "count", "ns", "bytes", "share", ... */

#endif
