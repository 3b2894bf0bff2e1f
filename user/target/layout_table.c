// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The built-in layouts. Apart from layout.c, so that scripts/gen-layouts can be built without. */
#include "target/layout.h"

#include <stdbool.h>
#include <string.h>

#include "util/scope.h"

struct layout_row {
	const char *arch;
	const char *versions;	/* separated by single spaces */
	struct layout layout;
};

#define LAYOUT_ROW(a, v, ...) { .arch = (a), .versions = (v), .layout = { __VA_ARGS__ } },
static const struct layout_row layout_rows[] = {
#include "target/layout_table.inc"
};
#undef LAYOUT_ROW

/* A member that the table does not give would silently be offset 0. */
#define LAYOUT_NAME(name, paths) #name " "
_Static_assert(__builtin_strcmp(LAYOUT_TABLE_MEMBERS, LAYOUT_MEMBERS(LAYOUT_NAME)) == 0,
	       "layout_table.inc has other members than layout.h: run scripts/gen-layouts");

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == len && memcmp(p, word, len) == 0)
			return true;
	return false;
}

const struct layout *layout_find(const char *version, const char *arch)
{
	for (size_t i = 0; i < ARRAY_LEN(layout_rows); i++) {
		const struct layout_row *row = &layout_rows[i];

		if (strcmp(row->arch, arch) == 0 && has_word(row->versions, version))
			return &row->layout;
	}
	return NULL;
}
