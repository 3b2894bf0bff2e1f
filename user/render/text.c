// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A document as text for a terminal of 100 columns. */
#include <errno.h>
#include <string.h>

#include "render/clean.h"
#include "render/doc.h"

enum {
	WIDTH = 100,
	LABEL = 10,		/* columns of a fact's label, with the space behind it */
	GAP = 2,		/* between the columns of a table */
	SHRUNK_MIN = 12,	/* a table too wide takes from its first column down to this */
	COLUMNS_MAX = 16,
};

struct style {
	const char *on, *off;
};

static void pad(FILE *out, size_t columns)
{
	fprintf(out, "%*s", (int)columns, "");
}

/* Words of @text between @indent and the right edge; the first line is indented already. */
static void wrap(FILE *out, const char *text, size_t indent)
{
	size_t at = indent;

	while (*text) {
		size_t len = strcspn(text, " "), width;
		char word[512];

		if (len >= sizeof(word))
			len = clean_fit(text, sizeof(word) / 4 - 1);
		memcpy(word, text, len);
		word[len] = '\0';
		width = clean_width(word);
		if (at > indent && at + 1 + width > WIDTH) {
			fputc('\n', out);
			pad(out, indent);
			at = indent;
		}
		if (at > indent)
			fputc(' ', out);
		fputs(word, out);
		at += width + (at > indent);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void title(FILE *out, const struct doc_item *it, bool is_first, struct style bold)
{
	fprintf(out, "%s%s%s%s\n", is_first ? "" : "\n", bold.on, it->text, bold.off);
}

static void fact(FILE *out, const struct doc_item *it)
{
	size_t width = clean_width(it->label);

	fputs(it->label, out);
	pad(out, width < LABEL ? LABEL - width : 1);
	wrap(out, it->text, LABEL);
}

static void paragraph(FILE *out, const struct doc_item *it)
{
	fputc('\n', out);
	wrap(out, it->text, 0);
}

static void widths_of(const struct doc_item *it, size_t *widths)
{
	size_t total = 0;

	for (size_t c = 0; c < it->nr_columns; c++) {
		widths[c] = clean_width(it->columns[c].title);
		for (size_t i = c; i < it->nr_cells; i += it->nr_columns) {
			size_t w = clean_width(it->cells[i]);

			widths[c] = w > widths[c] ? w : widths[c];
		}
		total += widths[c] + (c ? GAP : 0);
	}
	if (total > WIDTH && widths[0] > SHRUNK_MIN) {
		size_t over = total - WIDTH, most = widths[0] - SHRUNK_MIN;

		widths[0] -= over < most ? over : most;
	}
}

static void cell(FILE *out, const char *text, size_t width, bool is_right, bool is_end)
{
	size_t has = clean_width(text);
	bool is_cut = has > width;
	size_t len = is_cut ? clean_fit(text, width - 1) : strlen(text);

	if (is_cut)
		has = width;
	if (is_right)
		pad(out, width - has);
	fwrite(text, 1, len, out);
	if (is_cut)
		fputc('~', out);
	if (!is_right && !is_end)
		pad(out, width - has);
}

/* Row @nr, from 1 on; row 0 is the titles. */
static const char *cell_of(const struct doc_item *it, size_t nr, size_t column)
{
	size_t i = (nr - 1) * it->nr_columns + column;

	if (!nr)
		return it->columns[column].title;
	return i < it->nr_cells ? it->cells[i] : "";
}

static void row(FILE *out, const struct doc_item *it, size_t nr, const size_t *widths)
{
	size_t last = it->nr_columns - 1;

	while (last && !*cell_of(it, nr, last))
		last--;
	for (size_t c = 0; c <= last; c++) {
		if (c)
			pad(out, GAP);
		cell(out, cell_of(it, nr, c), widths[c], it->columns[c].is_right, c == last);
	}
}

static void table(FILE *out, const struct doc_item *it, struct style bold)
{
	size_t widths[COLUMNS_MAX];

	widths_of(it, widths);
	fprintf(out, "\n%s", bold.on);
	row(out, it, 0, widths);
	fprintf(out, "%s\n", bold.off);
	for (size_t nr = 1; (nr - 1) * it->nr_columns < it->nr_cells; nr++) {
		row(out, it, nr, widths);
		fputc('\n', out);
	}
}

static void lines(FILE *out, const struct doc_item *it)
{
	fputc('\n', out);
	for (size_t i = 0; i < it->nr_cells; i++)
		fprintf(out, "%s\n", it->cells[i]);
}

int doc_text(const struct doc *d, FILE *out, bool is_bold)
{
	struct style bold = { is_bold ? "\033[1m" : "", is_bold ? "\033[0m" : "" };

	if (d->is_broken)
		return -ENOMEM;
	for (size_t i = 0; i < d->nr; i++) {
		const struct doc_item *it = &d->items[i];

		switch (it->kind) {
		case DOC_TITLE:
			title(out, it, i == 0, bold);
			break;
		case DOC_FACT:
			fact(out, it);
			break;
		case DOC_PARAGRAPH:
			paragraph(out, it);
			break;
		case DOC_TABLE:
			table(out, it, bold);
			break;
		case DOC_LINES:
			lines(out, it);
			break;
		}
	}
	return 0;
}
