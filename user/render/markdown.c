// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A document as markdown (GitHub's, for its tables). */
#include <errno.h>
#include <string.h>

#include "render/doc.h"

/* Outside text must stay text: no markup, no link, no HTML, no end of a cell. */
static void escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else if (strchr("\\`*_[]#|~>@$", *text) || strncmp(text, "://", 3) == 0)
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void fact(FILE *out, const struct doc_item *it)
{
	fprintf(out, "- **%s** ", it->label);
	escaped(out, it->text);
	fputc('\n', out);
}

static void table(FILE *out, const struct doc_item *it)
{
	fputs("\n|", out);
	for (size_t c = 0; c < it->nr_columns; c++)
		fprintf(out, " %s |", it->columns[c].title);
	fputs("\n|", out);
	for (size_t c = 0; c < it->nr_columns; c++)
		fputs(it->columns[c].is_right ? " ---: |" : " --- |", out);
	for (size_t i = 0; i < it->nr_cells; i++) {
		fputs(i % it->nr_columns ? " " : "\n| ", out);
		escaped(out, it->cells[i]);
		fputs(" |", out);
	}
	fputc('\n', out);
}

/* Indented: nothing in a line can end it, as it could a fence. */
static void lines(FILE *out, const struct doc_item *it)
{
	fputc('\n', out);
	for (size_t i = 0; i < it->nr_cells; i++)
		fprintf(out, "    %s\n", it->cells[i]);
}

int doc_markdown(const struct doc *d, FILE *out)
{
	if (d->is_broken)
		return -ENOMEM;
	for (size_t i = 0; i < d->nr; i++) {
		const struct doc_item *it = &d->items[i];

		switch (it->kind) {
		case DOC_TITLE:
			fputs(i ? "\n## " : "# ", out);
			escaped(out, it->text);
			fputc('\n', out);
			break;
		case DOC_FACT:
			if (i && d->items[i - 1].kind != DOC_FACT)
				fputc('\n', out);
			fact(out, it);
			break;
		case DOC_PARAGRAPH:
			fputc('\n', out);
			escaped(out, it->text);
			fputc('\n', out);
			break;
		case DOC_TABLE:
			table(out, it);
			break;
		case DOC_LINES:
			lines(out, it);
			break;
		}
	}
	return 0;
}
