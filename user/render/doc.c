// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/doc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void item_release(struct doc_item *it)
{
	for (size_t i = 0; i < it->nr_cells; i++)
		free(it->cells[i]);
	free(it->cells);
	free(it->label);
	free(it->text);
}

void doc_release(struct doc *d)
{
	for (size_t i = 0; i < d->nr; i++)
		item_release(&d->items[i]);
	free(d->items);
	*d = (struct doc){ 0 };
}

/* A new last item, or NULL. It stays the document's. */
static struct doc_item *item_add(struct doc *d, enum doc_kind kind)
{
	struct doc_item *more = reallocarray(d->items, d->nr + 1, sizeof(*more));

	if (!more) {
		d->is_broken = true;
		return NULL;
	}
	d->items = more;
	d->items[d->nr] = (struct doc_item){ .kind = kind };
	return &d->items[d->nr++];
}

static char *format(struct doc *d, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0) {
		d->is_broken = true;
		return NULL;
	}
	return text;
}

void doc_title(struct doc *d, const char *fmt, ...)
{
	struct doc_item *it = item_add(d, DOC_TITLE);
	va_list ap;

	if (!it)
		return;
	va_start(ap, fmt);
	it->text = format(d, fmt, ap);
	va_end(ap);
}

void doc_fact(struct doc *d, const char *label, const char *fmt, ...)
{
	struct doc_item *it = item_add(d, DOC_FACT);
	va_list ap;

	if (!it)
		return;
	it->label = strdup(label);
	if (!it->label)
		d->is_broken = true;
	va_start(ap, fmt);
	it->text = format(d, fmt, ap);
	va_end(ap);
}

void doc_paragraph(struct doc *d, const char *fmt, ...)
{
	struct doc_item *it = item_add(d, DOC_PARAGRAPH);
	va_list ap;

	if (!it)
		return;
	va_start(ap, fmt);
	it->text = format(d, fmt, ap);
	va_end(ap);
}

void doc_more(struct doc *d, const char *fmt, ...)
{
	struct doc_item *it = d->nr ? &d->items[d->nr - 1] : NULL;
	char *more, *both;
	va_list ap;

	if (!it || it->kind != DOC_PARAGRAPH || !it->text)
		return;		/* its beginning could not be had */
	va_start(ap, fmt);
	more = format(d, fmt, ap);
	va_end(ap);
	if (!more)
		return;
	if (asprintf(&both, "%s %s", it->text, more) < 0) {
		d->is_broken = true;
	} else {
		free(it->text);
		it->text = both;
	}
	free(more);
}

void doc_table(struct doc *d, const struct doc_column *columns)
{
	struct doc_item *it = item_add(d, DOC_TABLE);

	if (!it)
		return;
	it->columns = columns;
	it->nr_columns = 1;
	while (!columns[it->nr_columns - 1].is_last)
		it->nr_columns++;
}

static void cell_add(struct doc *d, const char *fmt, va_list ap)
{
	struct doc_item *it = &d->items[d->nr - 1];
	char **more = reallocarray(it->cells, it->nr_cells + 1, sizeof(*more));

	if (!more) {
		d->is_broken = true;
		return;
	}
	it->cells = more;
	it->cells[it->nr_cells++] = format(d, fmt, ap);
}

static bool is_last(const struct doc *d, enum doc_kind kind)
{
	return d->nr && d->items[d->nr - 1].kind == kind;
}

void doc_cell(struct doc *d, const char *fmt, ...)
{
	va_list ap;

	if (!is_last(d, DOC_TABLE))
		return;		/* its table could not be had */
	va_start(ap, fmt);
	cell_add(d, fmt, ap);
	va_end(ap);
}

void doc_line(struct doc *d, const char *fmt, ...)
{
	va_list ap;

	if (!is_last(d, DOC_LINES) && !item_add(d, DOC_LINES))
		return;
	va_start(ap, fmt);
	cell_add(d, fmt, ap);
	va_end(ap);
}
