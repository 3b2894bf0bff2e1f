// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/dict.h"

void dict_reset(struct dict *d)
{
	for (uint32_t i = 0; i < d->nr; i++)
		d->slots[d->slot_of[i]] = 0;
	d->nr = 0;
}
