// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "util/reason.h"

static const struct {
	const char *id;
	enum exit_status status;
	const char *remedy;
} reasons[REASON_COUNT] = {
#define REASON_ROW(name, id, status, remedy) [REASON_##name] = { id, status, remedy },
	REASONS(REASON_ROW)
#undef REASON_ROW
};

const char *reason_id(enum reason r)
{
	return reasons[r].id;
}

const char *reason_remedy(enum reason r)
{
	return reasons[r].remedy;
}

enum exit_status reason_status(enum reason r)
{
	return reasons[r].status;
}
