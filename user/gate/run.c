// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "gate/run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/scope.h"

#define SCHEMA "gvlscope.report/1"

/* Less than this of the capture seen: what happened meanwhile is in no count. */
#define SEEN_ENOUGH 0.99

const char *fingerprint_part_name(enum fingerprint_part p)
{
	static const char *const names[FINGERPRINT_PARTS] = {
		"cpu", "cpus", "kernel", "ruby", "tool", "options",
	};

	return names[p];
}

unsigned int fingerprint_diff(const struct fingerprint *a, const struct fingerprint *b)
{
	unsigned int diff = 0;

	for (int i = 0; i < FINGERPRINT_PARTS; i++)
		if (strcmp(a->part[i], b->part[i]) != 0)
			diff |= 1u << i;
	return diff;
}

static void run_release(struct run *r)
{
	free(r->name);
	free(r->unusable);
	for (int i = 0; i < FINGERPRINT_PARTS; i++)
		free(r->where.part[i]);
}

void runs_release(struct runs *r)
{
	for (size_t i = 0; i < r->nr; i++)
		run_release(&r->run[i]);
	free(r->run);
	*r = (struct runs){ 0 };
}

struct run *runs_append(struct runs *r)
{
	if (r->nr == r->room) {
		size_t room = r->room ? 2 * r->room : 8;
		struct run *more = reallocarray(r->run, room, sizeof(*more));

		if (!more)
			return NULL;
		r->run = more;
		r->room = room;
	}
	r->run[r->nr] = (struct run){ 0 };
	return &r->run[r->nr++];
}

void runs_drop(struct runs *r, size_t nr)
{
	while (r->nr > nr)
		run_release(&r->run[--r->nr]);
}

size_t runs_usable(const struct runs *r)
{
	size_t usable = 0;

	for (size_t i = 0; i < r->nr; i++)
		usable += !r->run[i].unusable;
	return usable;
}

/* The names of what is not 0 in @lost; NULL if there is no such thing, or no memory: see errno. */
static char *losses(const json_t *lost)
{
	char *text = NULL;
	size_t size;
	FILE *out;
	const char *key;
	json_t *v;

	errno = 0;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	json_object_foreach((json_t *)lost, key, v) {
		/* older than what was read after them: nothing is missing */
		if (strcmp(key, "stale_events") == 0)
			continue;
		if (json_is_true(v))
			fprintf(out, "%s %s", ftell(out) ? "," : "", key);
		else if (json_number_value(v) != 0)
			fprintf(out, "%s %s %.0f", ftell(out) ? "," : "", key, json_number_value(v));
	}
	if (fclose(out) || !*text) {
		free(text);
		return NULL;
	}
	return text;
}

/* 0 with r->unusable set if it is, or -ENOMEM. */
static int check_usable(struct run *r, const json_t *report)
{
	const json_t *lost = json_object_get(report, "lost");
	const json_t *locks = json_object_get(json_object_get(report, "gvl"), "locks");
	const json_t *complete = json_object_get(json_object_get(report, "capture"), "complete");
	auto_free char *what = losses(lost);
	const char *why = NULL;

	if (!what && errno)
		return -ENOMEM;
	if (!json_is_true(complete))
		why = "the trace has no end";
	else if (!json_object_size(lost))
		why = "what was lost is not told";
	else if (!json_array_size(locks))
		why = "no lock was seen";
	if (!why && !what)
		return 0;
	if (asprintf(&r->unusable, "%s%s", why ? why : "events were lost:", why ? "" : what) < 0) {
		r->unusable = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* Writes what of the command line of `record` has an influence on figures. */
static void print_options(FILE *out, const char *command_line)
{
	static const char with_value[] = "opd", without[] = "qv";
	static const char *const names[] = { "--output", "--pid", "--duration", "--comm", "--quiet", "--verbose" };
	enum { WITH_VALUE = 4 };
	auto_free char *copy = strdup(command_line);
	char *save, *word = copy ? strtok_r(copy, " ", &save) : NULL;

	for (; word && strcmp(word, "--") != 0; word = strtok_r(NULL, " ", &save)) {
		size_t len = strcspn(word, "="), i;

		for (i = 0; i < ARRAY_LEN(names); i++)
			if (strlen(names[i]) == len && strncmp(word, names[i], len) == 0)
				break;
		if (i < ARRAY_LEN(names)) {
			if (i < WITH_VALUE && !word[len])
				strtok_r(NULL, " ", &save);
			continue;
		}
		if (word[0] == '-' && word[1] && word[1] != '-') {
			word += 1 + strspn(word + 1, without);
			if (*word && strchr(with_value, *word) && !word[1])
				strtok_r(NULL, " ", &save);
			if (!*word || strchr(with_value, *word))
				continue;
		}
		fprintf(out, "%s%s", ftell(out) ? " " : "", word);
	}
}

static void print_rubies(FILE *out, const json_t *targets)
{
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const char *ruby = json_string_value(json_object_get(json_array_get(targets, i), "ruby"));
		bool is_known = false;

		for (size_t k = 0; ruby && k < i; k++) {
			json_t *other = json_object_get(json_array_get(targets, k), "ruby");

			is_known |= json_is_string(other) && strcmp(json_string_value(other), ruby) == 0;
		}
		if (ruby && !is_known)
			fprintf(out, "%s%s", ftell(out) ? ", " : "", ruby);
	}
}

static void print_part(FILE *out, enum fingerprint_part p, const json_t *report)
{
	const json_t *host = json_object_get(report, "host"), *tool = json_object_get(report, "tool");
	const char *text = NULL;

	switch (p) {
	case FINGERPRINT_CPU:
		text = json_string_value(json_object_get(host, "cpu"));
		text = text ? text : json_string_value(json_object_get(host, "arch"));
		break;
	case FINGERPRINT_CPUS:
		fprintf(out, "%.0f", json_number_value(json_object_get(host, "cpus")));
		break;
	case FINGERPRINT_KERNEL:
		text = json_string_value(json_object_get(host, "kernel"));
		break;
	case FINGERPRINT_RUBY:
		print_rubies(out, json_object_get(report, "target"));
		break;
	case FINGERPRINT_TOOL:
		text = json_string_value(json_object_get(tool, "version"));
		break;
	case FINGERPRINT_OPTIONS:
		text = json_string_value(json_object_get(tool, "options"));
		print_options(out, text ? text : "");
		return;
	case FINGERPRINT_PARTS:
		break;
	}
	fputs(text ? text : "", out);
}

static int read_fingerprint(struct fingerprint *f, const json_t *report)
{
	for (int i = 0; i < FINGERPRINT_PARTS; i++) {
		size_t size;
		FILE *out = open_memstream(&f->part[i], &size);

		if (!out)
			return -ENOMEM;
		print_part(out, i, report);
		if (fclose(out))
			return -ENOMEM;
	}
	return 0;
}

static void read_values(struct run *r, const json_t *report)
{
	json_t *seen = json_object_get(json_object_get(report, "capture"), "seen_share");

	for (size_t i = 0; i < NR_METRICS; i++) {
		r->values[i] = metric_read(&metrics[i], report);
		if (r->values[i].state == VALUE_CERTAIN && json_number_value(seen) < SEEN_ENOUGH)
			r->values[i].state = VALUE_UNCERTAIN;
	}
}

int runs_add(struct runs *r, const char *name, const json_t *report, struct err *e)
{
	const char *schema = json_string_value(json_object_get(report, "schema"));
	struct run *run;

	if (!schema)
		return err_set(e, REASON_REPORT_FORMAT, -EINVAL, "%s: not a report of gvlscope", name);
	if (strcmp(schema, SCHEMA) != 0)
		return err_set(e, REASON_REPORT_FORMAT, -EINVAL, "%s: schema %s, not " SCHEMA, name, schema);
	run = runs_append(r);
	if (!run)
		return err_nomem(e);
	read_values(run, report);
	run->name = strdup(name);
	if (!run->name || check_usable(run, report) || read_fingerprint(&run->where, report)) {
		runs_drop(r, r->nr - 1);
		return err_nomem(e);
	}
	return 0;
}
