/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a benchmark or a comparison found: sentences, facts, tables of figures. One model; render/findings.h
 * prints it as text, markdown and JSON.
 */
#ifndef GVL_STAT_FINDINGS_H
#define GVL_STAT_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stat/sample.h"

/* How a figure or number of a column is written for people. JSON has the plain number and "unit". */
enum finding_unit {
	FINDING_LABEL,		/* not a number: text */
	FINDING_COUNT,		/* 1,234 */
	FINDING_NS,
	FINDING_BYTES,
	FINDING_BYTES_PER_S,
	FINDING_PER_S,
	FINDING_RATIO,		/* 1.62x */
	FINDING_SHARE,		/* 41.2 % */
	FINDING_UNITS
};

struct findings_column {
	const char *key;	/* in JSON: "readers", "close_ns" */
	const char *title;	/* for people */
	enum finding_unit unit;
};

struct findings_cell {
	char *text;		/* FINDING_LABEL, heap; NULL otherwise */
	struct figure figure;	/* nr 0: nothing here; 1: an exact number, without spread */
};

struct findings_table {
	const char *key;	/* in JSON, unique in its findings */
	const char *title;
	const struct findings_column *columns;	/* kept, not copied */
	size_t nr_columns;
	struct findings_cell *cells;		/* row by row */
	size_t nr_cells;
};

/* A number that is no part of a table, e.g. the fitted cost per waiter. */
struct findings_fact {
	const char *key, *title;
	enum finding_unit unit;
	struct findings_cell cell;
};

/* All zero is an empty one. Running out of memory is remembered in is_broken. */
struct findings {
	const char *schema;	/* "gvlscope.bench/1" */
	const char *name;	/* "close" */
	char **sentences;	/* what it comes to, in plain words, in order */
	size_t nr_sentences;
	struct findings_fact *facts;
	size_t nr_facts;
	struct findings_table *tables;
	size_t nr_tables;
	bool is_broken;
};

void findings_release(struct findings *f);

__attribute__((format(printf, 2, 3)))
void findings_say(struct findings *f, const char *fmt, ...);

void findings_fact(struct findings *f, const char *key, const char *title, enum finding_unit unit,
		   const struct figure *v);
void findings_fact_text(struct findings *f, const char *key, const char *title, const char *text);

/* Begins a table; cells follow row by row, each of the kind that its column has. Strings are kept. */
void findings_table(struct findings *f, const char *key, const char *title,
		    const struct findings_column *columns, size_t nr_columns);
void findings_label(struct findings *f, const char *text);	/* copied */
void findings_number(struct findings *f, double exact);
void findings_figure(struct findings *f, const struct figure *v);	/* NULL: nothing here */

/* sample_figure() and sample_ratio(); out of memory breaks @f, and there is no figure. */
struct figure findings_median(struct findings *f, const struct sample *s);
struct figure findings_ratio(struct findings *f, const struct sample *a, const struct sample *b);

#endif
