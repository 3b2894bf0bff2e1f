// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "gate/baseline.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/file.h"
#include "util/scope.h"

#define SCHEMA "gvlscope.baseline/1"

enum {
	BYTES_MAX = 64 << 20,
	RUNS_MAX = 100000,
};

/* Whole numbers up to this are exact, and written as such. */
#define WHOLE_MAX 0x1p53

static json_t *number(double v)
{
	if (v == floor(v) && v <= WHOLE_MAX)
		return json_integer(v);
	return json_real(v);
}

/* A new reference. What is not a plain number says why: null, "none", {"about": 5}. */
static json_t *value_json(const struct value *v)
{
	switch (v->state) {
	case VALUE_ABSENT:
		return json_null();
	case VALUE_NONE:
		return json_string("none");
	case VALUE_UNCERTAIN:
		return json_pack("{s:o}", "about", number(v->number));
	case VALUE_CERTAIN:
		break;
	}
	return number(v->number);
}

static int value_parse(const json_t *j, struct value *out)
{
	const json_t *about = json_object_get(j, "about");
	const json_t *n = about ? about : j;

	*out = (struct value){ VALUE_ABSENT, 0 };
	if (json_is_null(j))
		return 0;
	if (json_is_string(j) && strcmp(json_string_value(j), "none") == 0) {
		out->state = VALUE_NONE;
		return 0;
	}
	if (!json_is_number(n) || json_number_value(n) < 0)
		return -EINVAL;
	*out = (struct value){ about ? VALUE_UNCERTAIN : VALUE_CERTAIN, json_number_value(n) };
	return 0;
}

/* @j as text after @before; drops it. */
static void print_line(FILE *out, const char *before, const char *key, json_t *j)
{
	auto_free char *text = json_dumps(j, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	fprintf(out, "%s\t\t\"%s\": %s", before, key, text ? text : "");
	json_decref(j);
}

static void print_metrics(FILE *out, const struct runs *r)
{
	const char *before = "";

	for (size_t m = 0; m < NR_METRICS; m++) {
		json_t *list = json_array();
		bool is_measured = false;

		for (size_t i = 0; i < r->nr; i++) {
			if (r->run[i].unusable)
				continue;
			json_array_append_new(list, value_json(&r->run[i].values[m]));
			is_measured |= r->run[i].values[m].state != VALUE_ABSENT;
		}
		if (!is_measured) {
			json_decref(list);
			continue;
		}
		print_line(out, before, metrics[m].name, list);
		before = ",\n";
	}
}

static void print(FILE *out, const struct runs *r, const struct fingerprint *where)
{
	fprintf(out, "{\n\t\"schema\": \"" SCHEMA "\",\n\t\"fingerprint\": {\n");
	for (int p = 0; p < FINGERPRINT_PARTS; p++)
		print_line(out, p ? ",\n" : "", fingerprint_part_name(p), json_string(where->part[p]));
	fprintf(out, "\n\t},\n\t\"runs\": %zu,\n\t\"metrics\": {\n", runs_usable(r));
	print_metrics(out, r);
	fprintf(out, "\n\t}\n}\n");
}

/* A baseline being read. */
struct reader {
	const char *name;
	const json_t *parts;
	const json_t *values[NR_METRICS];	/* arrays of nr values; NULL: absent */
	size_t nr;
	struct err *e;
};

__attribute__((format(printf, 2, 3)))
static int damaged(const struct reader *r, const char *fmt, ...)
{
	char what[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(r->e, REASON_BASELINE_FORMAT, -EINVAL, "%s: %s", r->name, what);
}

static int check_metrics(struct reader *r, const json_t *all)
{
	size_t known = 0;

	for (size_t m = 0; m < NR_METRICS; m++) {
		const json_t *list = json_object_get(all, metrics[m].name);
		struct value unused;

		if (!list)
			continue;
		if (json_array_size(list) != r->nr)
			return damaged(r, "metrics: %s does not have a value for each run", metrics[m].name);
		for (size_t i = 0; i < r->nr; i++)
			if (value_parse(json_array_get(list, i), &unused))
				return damaged(r, "metrics: %s has what is no value", metrics[m].name);
		r->values[m] = list;
		known++;
	}
	return known ? 0 : damaged(r, "metrics: has none that is known");
}

static int check(struct reader *r, const json_t *j)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));
	const json_t *nr = json_object_get(j, "runs");

	if (!schema)
		return damaged(r, "not a baseline of gvlscope");
	if (strcmp(schema, SCHEMA) != 0)
		return err_set(r->e, REASON_BASELINE_SCHEMA, -EINVAL, "%s: schema %.80s, not " SCHEMA, r->name,
			       schema);
	r->parts = json_object_get(j, "fingerprint");
	for (int p = 0; p < FINGERPRINT_PARTS; p++)
		if (!json_is_string(json_object_get(r->parts, fingerprint_part_name(p))))
			return damaged(r, "fingerprint: has no %s", fingerprint_part_name(p));
	if (!json_is_integer(nr) || json_integer_value(nr) < 1 || json_integer_value(nr) > RUNS_MAX)
		return damaged(r, "runs: not a number of runs");
	r->nr = json_integer_value(nr);
	return check_metrics(r, json_object_get(j, "metrics"));
}

static int add_run(struct runs *to, const struct reader *r, size_t i)
{
	struct run *run = runs_append(to);

	if (!run)
		return err_nomem(r->e);
	for (size_t m = 0; m < NR_METRICS; m++)
		if (r->values[m])
			value_parse(json_array_get(r->values[m], i), &run->values[m]);
	run->name = strdup(r->name);
	for (int p = 0; run->name && p < FINGERPRINT_PARTS; p++) {
		run->where.part[p] = strdup(json_string_value(json_object_get(r->parts,
									      fingerprint_part_name(p))));
		if (!run->where.part[p])
			return err_nomem(r->e);
	}
	return run->name ? 0 : err_nomem(r->e);
}

static void scope_json(json_t **j)
{
	json_decref(*j);
}

int baseline_parse(struct runs *r, const char *name, const char *text, size_t size, struct err *e)
{
	struct reader reader = { .name = name, .e = e };
	size_t had = r->nr;
	json_error_t why;
	auto_release(scope_json) json_t *j = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
	int err;

	if (!size)
		return damaged(&reader, "empty");
	if (!j)
		return damaged(&reader, "line %d: not JSON: %.100s", why.line, why.text);
	err = check(&reader, j);
	for (size_t i = 0; !err && i < reader.nr; i++)
		err = add_run(r, &reader, i);
	if (err)
		runs_drop(r, had);
	return err;
}

int baseline_read(struct runs *r, const char *path, struct err *e)
{
	auto_free char *text = NULL;
	size_t size;
	int err = file_read(path, BYTES_MAX, REASON_BASELINE_OPEN, &text, &size, e);

	return err ? err : baseline_parse(r, path, text, size, e);
}

int baseline_write(const struct runs *r, const char *path, struct err *e)
{
	const struct run *first = NULL;
	auto_release(runs_release) struct runs check = { 0 };
	auto_free char *text = NULL;
	size_t size;
	FILE *out;

	for (size_t i = 0; i < r->nr; i++) {
		const struct run *run = &r->run[i];

		if (run->unusable)
			continue;
		first = first ? first : run;
		if (fingerprint_diff(&first->where, &run->where))
			return err_set(e, REASON_BASELINE_RUNS, -EINVAL,
				       "%s and %s: recorded under different conditions", first->name, run->name);
	}
	if (!first)
		return err_set(e, REASON_BASELINE_RUNS, -EINVAL, "%s: no usable run to write", path);
	out = open_memstream(&text, &size);
	if (!out)
		return err_nomem(e);
	print(out, r, &first->where);
	/* what memory ran out for is missing in it */
	if (fclose(out) || baseline_parse(&check, path, text, size, NULL))
		return err_nomem(e);
	return file_replace(path, text, size, e);
}
