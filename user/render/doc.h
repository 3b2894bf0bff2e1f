/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A small document: titles, facts, paragraphs, tables, drawings. What it says is decided once; text for a
 * terminal and markdown are two ways to print it. All strings are clean text (render/clean.h).
 */
#ifndef GVL_RENDER_DOC_H
#define GVL_RENDER_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct doc_column {
	const char *title;
	bool is_right;		/* numbers are aligned right */
	bool is_last;		/* ends the columns of its table */
};

enum doc_kind {
	DOC_TITLE,
	DOC_FACT,		/* a label and what it is */
	DOC_PARAGRAPH,
	DOC_TABLE,
	DOC_LINES,		/* lines that keep their spaces: a drawing */
};

struct doc_item {
	enum doc_kind kind;
	char *label;			/* facts only */
	char *text;			/* not of tables */
	const struct doc_column *columns;
	size_t nr_columns;
	char **cells;			/* row by row; of a drawing its lines */
	size_t nr_cells;
};

/* All zero is an empty one. Running out of memory is remembered; it makes printing fail. */
struct doc {
	struct doc_item *items;
	size_t nr;
	bool is_broken;
};

void doc_release(struct doc *d);

__attribute__((format(printf, 2, 3)))
void doc_title(struct doc *d, const char *fmt, ...);
__attribute__((format(printf, 3, 4)))
void doc_fact(struct doc *d, const char *label, const char *fmt, ...);
__attribute__((format(printf, 2, 3)))
void doc_paragraph(struct doc *d, const char *fmt, ...);

/* Goes on in the paragraph that was last begun. */
__attribute__((format(printf, 2, 3)))
void doc_more(struct doc *d, const char *fmt, ...);

/* One more line of a drawing: goes on in the one that was last begun. */
__attribute__((format(printf, 2, 3)))
void doc_line(struct doc *d, const char *fmt, ...);

/* Begins a table with @columns (kept, not copied); cells follow row by row. */
void doc_table(struct doc *d, const struct doc_column *columns);
__attribute__((format(printf, 2, 3)))
void doc_cell(struct doc *d, const char *fmt, ...);

/* Both return 0, or -ENOMEM. Errors of @out are for its owner to check. */
int doc_text(const struct doc *d, FILE *out, bool is_bold);
int doc_markdown(const struct doc *d, FILE *out);

#endif
