// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stat/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void findings_release(struct findings *f)
{
	for (size_t i = 0; i < f->nr_sentences; i++)
		free(f->sentences[i]);
	for (size_t i = 0; i < f->nr_facts; i++)
		free(f->facts[i].cell.text);
	for (size_t i = 0; i < f->nr_tables; i++) {
		for (size_t k = 0; k < f->tables[i].nr_cells; k++)
			free(f->tables[i].cells[k].text);
		free(f->tables[i].cells);
	}
	free(f->sentences);
	free(f->facts);
	free(f->tables);
	*f = (struct findings){ 0 };
}

/* @items with room for one more; NULL, and @f broken, when out of memory. */
static void *grown(struct findings *f, void *items, size_t nr, size_t size)
{
	void *more = reallocarray(items, nr + 1, size);

	f->is_broken |= !more;
	return more;
}

static char *copied(struct findings *f, const char *text)
{
	char *copy = strdup(text);

	f->is_broken |= !copy;
	return copy;
}

void findings_say(struct findings *f, const char *fmt, ...)
{
	char **more = grown(f, f->sentences, f->nr_sentences, sizeof(*more));
	va_list ap;
	int len;

	if (!more)
		return;
	f->sentences = more;
	va_start(ap, fmt);
	len = vasprintf(&f->sentences[f->nr_sentences], fmt, ap);
	va_end(ap);
	if (len < 0)
		f->is_broken = true;
	else
		f->nr_sentences++;
}

/* NULL is nothing; what was measured once has no spread. */
static struct figure figure_of(const struct figure *v)
{
	if (!v)
		return (struct figure){ 0 };
	if (v->nr == 1)
		return (struct figure){ v->value, v->value, v->value, v->value, v->value, 1 };
	return *v;
}

static void fact_add(struct findings *f, const struct findings_fact *fact)
{
	struct findings_fact *more = grown(f, f->facts, f->nr_facts, sizeof(*more));

	if (!more) {
		free(fact->cell.text);
		return;
	}
	f->facts = more;
	f->facts[f->nr_facts++] = *fact;
}

void findings_fact(struct findings *f, const char *key, const char *title, enum finding_unit unit,
		   const struct figure *v)
{
	fact_add(f, &(struct findings_fact){ key, title, unit, { .figure = figure_of(v) } });
}

void findings_fact_text(struct findings *f, const char *key, const char *title, const char *text)
{
	fact_add(f, &(struct findings_fact){ key, title, FINDING_LABEL, { .text = copied(f, text) } });
}

void findings_table(struct findings *f, const char *key, const char *title,
		    const struct findings_column *columns, size_t nr_columns)
{
	struct findings_table *more = grown(f, f->tables, f->nr_tables, sizeof(*more));

	if (!more)
		return;
	f->tables = more;
	f->tables[f->nr_tables++] = (struct findings_table){
		.key = key, .title = title, .columns = columns, .nr_columns = nr_columns,
	};
}

static void cell_add(struct findings *f, const struct findings_cell *cell)
{
	struct findings_table *t = f->nr_tables ? &f->tables[f->nr_tables - 1] : NULL;
	struct findings_cell *more = t ? grown(f, t->cells, t->nr_cells, sizeof(*more)) : NULL;

	if (!more) {		/* or its table could not be had */
		free(cell->text);
		return;
	}
	t->cells = more;
	t->cells[t->nr_cells++] = *cell;
}

void findings_label(struct findings *f, const char *text)
{
	cell_add(f, &(struct findings_cell){ .text = copied(f, text) });
}

void findings_number(struct findings *f, double exact)
{
	findings_figure(f, &(struct figure){ .value = exact, .nr = 1 });
}

void findings_figure(struct findings *f, const struct figure *v)
{
	cell_add(f, &(struct findings_cell){ .figure = figure_of(v) });
}

struct figure findings_median(struct findings *f, const struct sample *s)
{
	struct figure v = { 0 };

	if (sample_figure(s, &v))
		f->is_broken = true;
	return v;
}

struct figure findings_ratio(struct findings *f, const struct sample *a, const struct sample *b)
{
	struct figure v = { 0 };

	if (sample_ratio(a, b, &v))
		f->is_broken = true;
	return v;
}
