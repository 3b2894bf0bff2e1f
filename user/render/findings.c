// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/findings.h"

#include <math.h>
#include <string.h>

#include "render/clean.h"
#include "render/doc.h"
#include "render/json.h"
#include "render/quantity.h"
#include "util/scope.h"

/* A figure has the larger half of its interval with it. */
static struct clean cell_text(const struct findings_cell *c, enum finding_unit unit)
{
	const struct figure *f = &c->figure;
	double half = fmax(f->high - f->value, f->value - f->low);
	struct unit value = quantity(f->value, unit), spread = { "" };
	struct clean out;

	if (unit == FINDING_LABEL)
		return clean(c->text);
	if (!f->nr)
		return (struct clean){ "-" };
	if (half > fabs(f->value))	/* a share of what is next to nothing says nothing */
		snprintf(spread.text, sizeof(spread.text), " +-%.27s", quantity(half, unit).text);
	else if (half > 0)
		snprintf(spread.text, sizeof(spread.text), " %.30s", unit_spread(half / fabs(f->value)).text);
	snprintf(out.text, sizeof(out.text), "%s%s", value.text, spread.text);
	return out;
}

/* "bench close": the command is the schema's second word. */
static void add_title(struct doc *d, const struct findings *f)
{
	const char *command = strchr(f->schema, '.') + 1;

	doc_title(d, "gvlscope " GVLSCOPE_VERSION ": %.*s %s", (int)strcspn(command, "/"), command,
		  clean(f->name).text);
}

static void add_machine(struct doc *d)
{
	json_t *host = json_host();
	uint64_t cpus = json_integer_value(json_object_get(host, "cpus"));

	doc_fact(d, "machine", "Linux %s, %s, %s CPU%s",
		 clean(json_string_value(json_object_get(host, "kernel"))).text,
		 clean(json_string_value(json_object_get(host, "arch"))).text,
		 unit_count(cpus).text, cpus == 1 ? "" : "s");
	json_decref(host);
}

static void add_facts(struct doc *d, const struct findings *f)
{
	static const struct doc_column columns[] = {
		{ .title = "in short" }, { .title = "", .is_last = true },
	};

	if (!f->nr_facts)
		return;
	doc_table(d, columns);
	for (size_t i = 0; i < f->nr_facts; i++) {
		doc_cell(d, "%s", f->facts[i].title);
		doc_cell(d, "%s", cell_text(&f->facts[i].cell, f->facts[i].unit).text);
	}
}

/* @columns: room for the table's, to be kept as long as the document. */
static void add_table(struct doc *d, const struct findings_table *t, struct doc_column *columns)
{
	for (size_t i = 0; i < t->nr_columns; i++)
		columns[i] = (struct doc_column){
			.title = t->columns[i].title, .is_right = t->columns[i].unit != FINDING_LABEL,
			.is_last = i + 1 == t->nr_columns,
		};
	doc_title(d, "%s", t->title);
	doc_table(d, columns);
	for (size_t i = 0; i < t->nr_cells; i++)
		doc_cell(d, "%s", cell_text(&t->cells[i], t->columns[i % t->nr_columns].unit).text);
}

static int print(const struct findings *f, FILE *out, bool is_markdown, bool is_bold, struct err *e)
{
	auto_release(doc_release) struct doc d = { .is_broken = f->is_broken };
	auto_free struct doc_column *columns = NULL;
	size_t nr_columns = 0;
	int err;

	for (size_t i = 0; i < f->nr_tables; i++)
		nr_columns += f->tables[i].nr_columns;
	columns = calloc(nr_columns + 1, sizeof(*columns));
	if (!columns)
		return err_nomem(e);
	add_title(&d, f);
	add_machine(&d);
	for (size_t i = 0; i < f->nr_sentences; i++)
		doc_paragraph(&d, "%s", f->sentences[i]);
	add_facts(&d, f);
	for (size_t i = 0, used = 0; i < f->nr_tables; used += f->tables[i++].nr_columns)
		add_table(&d, &f->tables[i], columns + used);
	err = is_markdown ? doc_markdown(&d, out) : doc_text(&d, out, is_bold);
	return err ? err_nomem(e) : 0;
}

int findings_text(const struct findings *f, FILE *out, bool is_bold, struct err *e)
{
	return print(f, out, false, is_bold, e);
}

int findings_markdown(const struct findings *f, FILE *out, struct err *e)
{
	return print(f, out, true, false, e);
}

static json_t *figure_json(const struct figure *v, enum finding_unit unit)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "value", json_quantity(v->value),
			 "low", json_quantity(v->low), "high", json_quantity(v->high),
			 "min", json_quantity(v->min), "max", json_quantity(v->max),
			 "n", json_number(v->nr), "unit", quantity_unit(unit));
}

/* Text, a figure with its spread, an exact number as just that, or null. */
static json_t *cell_json(const struct findings_cell *c, enum finding_unit unit)
{
	if (unit == FINDING_LABEL)
		return json_string(clean(c->text).text);
	if (!c->figure.nr)
		return json_null();
	return c->figure.nr == 1 ? json_quantity(c->figure.value) : figure_json(&c->figure, unit);
}

static json_t *facts_json(const struct findings *f)
{
	json_t *all = json_object();

	for (size_t i = 0; i < f->nr_facts; i++) {
		const struct findings_fact *fact = &f->facts[i];
		bool has_spread = fact->unit != FINDING_LABEL && fact->cell.figure.nr;

		json_object_set_new(all, fact->key, has_spread ? figure_json(&fact->cell.figure, fact->unit) :
				    cell_json(&fact->cell, fact->unit));
	}
	return all;
}

static json_t *rows_json(const struct findings_table *t)
{
	json_t *rows = json_array();
	json_t *row = NULL;

	for (size_t i = 0; i < t->nr_cells; i++) {
		const struct findings_column *c = &t->columns[i % t->nr_columns];

		if (i % t->nr_columns == 0) {
			row = json_object();
			json_array_append_new(rows, row);
		}
		json_object_set_new(row, c->key, cell_json(&t->cells[i], c->unit));
	}
	return rows;
}

int findings_json(const struct findings *f, FILE *out, struct err *e)
{
	json_t *summary = json_array(), *tables = json_object();
	json_t *j;
	int err;

	for (size_t i = 0; i < f->nr_sentences; i++)
		json_array_append_new(summary, json_string(f->sentences[i]));
	for (size_t i = 0; i < f->nr_tables; i++)
		json_object_set_new(tables, f->tables[i].key, rows_json(&f->tables[i]));
	j = json_pack("{s:s, s:s, s:{s:s}, s:o, s:o, s:o, s:o}", "schema", f->schema, "name", clean(f->name).text,
		      "tool", "version", GVLSCOPE_VERSION, "host", json_host(), "summary", summary,
		      "facts", facts_json(f), "tables", tables);
	if (!j || f->is_broken) {
		json_decref(j);
		return err_nomem(e);
	}
	err = json_dumpf(j, out, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(j);
	return err && !ferror(out) ? err_nomem(e) : 0;
}
