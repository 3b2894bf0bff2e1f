/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports of what was fed to a profile, for tests. */
#ifndef TESTS_UNIT_REPORTS_H
#define TESTS_UNIT_REPORTS_H

#include "tests/unit/events.h"

#include <stdlib.h>

#include "render/clean.h"
#include "render/report.h"
#include "util/scope.h"

/* Builds the report of what was fed, in one format: 'j', 't', 'm', 'T' (text by call). Free it. */
static inline char *report_of(struct feed *f, const char *with_facts, const char *with_totals,
			      char format)
{
	struct report r = { 0 };
	struct err e = { 0 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err;

	assert_non_null(out);
	feed_lock(f);
	err = report_init(&r, &(struct report_source){ .facts = with_facts, .totals = with_totals,
			  .is_complete = with_totals, .profile = &f->p,
			  .by = format == 'T' ? REPORT_BY_CALL : REPORT_BY_THREAD }, &e);
	if (!err)
		err = format == 'j' ? report_json(&r, out, &e) :
		      format == 'm' ? report_markdown(&r, out, &e) :
				      report_text(&r, out, false, &e);
	if (err)
		fail_msg("%s", e.msg);
	fclose(out);
	report_release(&r);
	return text;
}

static inline json_t *json_of(struct feed *f, const char *with_facts, const char *with_totals)
{
	auto_free char *text = report_of(f, with_facts, with_totals, 'j');
	json_error_t error;
	json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!j)
		fail_msg("line %d: %s", error.line, error.text);
	return j;
}

static inline void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("want \"%s\" in:\n%s", part, text);
}

static inline void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("do not want \"%s\" in:\n%s", part, text);
}

static inline uint64_t number(const json_t *object, const char *key)
{
	json_t *j = json_object_get(object, key);

	if (!json_is_integer(j))
		fail_msg("%s is no number", key);
	return json_integer_value(j);
}

static inline size_t widest(const char *text)
{
	size_t most = 0;

	while (*text) {
		size_t len = strcspn(text, "\n");
		char line[4096];

		assert_true(len < sizeof(line));
		memcpy(line, text, len);
		line[len] = '\0';
		if (clean_width(line) > most)
			most = clean_width(line);
		text += len + (text[len] == '\n');
	}
	return most;
}

#endif
