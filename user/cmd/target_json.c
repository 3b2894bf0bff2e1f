// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/target_json.h"

/* Text from outside may hold any bytes; JSON holds UTF-8. */
json_t *text_json(const char *s)
{
	json_t *j = json_string(s);
	char ascii[4096];
	size_t i;

	if (j)
		return j;
	for (i = 0; s[i] && i < sizeof(ascii) - 1; i++)
		ascii[i] = s[i] & 0x80 ? '?' : s[i];
	ascii[i] = '\0';
	return json_string(ascii);
}

json_t *target_json(const struct tracee *te)
{
	const struct ruby *r = &te->ruby;
	bool dwarf = r->layout_source == LAYOUT_FROM_DWARF ||
		     r->layout_source == LAYOUT_FROM_DEBUG_FILE;
	json_t *j = json_object();

	json_object_set_new(j, "pid", json_integer(te->pid));
	json_object_set_new(j, "comm", text_json(r->proc.comm));
	json_object_set_new(j, "ruby", text_json(r->version));
	json_object_set_new(j, "description", text_json(r->description));
	json_object_set_new(j, "exe", text_json(r->exe));
	json_object_set_new(j, "libruby", text_json(r->object.path));
	json_object_set_new(j, "build_id", text_json(r->object.build_id));
	json_object_set_new(j, "stripped", json_boolean(!r->object.has_symtab));
	json_object_set_new(j, "symbols", json_string(r->layout_source == LAYOUT_FROM_DWARF ||
						      r->layout_source == LAYOUT_FROM_DEBUG_FILE ?
						      "dwarf" : r->object.has_symtab ?
						      "symtab" : "none"));
	json_object_set_new(j, "layout", json_string(dwarf ? "dwarf" : "table"));
	json_object_set_new(j, "method", json_string(tracee_method(te)));
	return j;
}
