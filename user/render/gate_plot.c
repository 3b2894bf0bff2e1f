// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two samples as strips of marks, one below the other on a common scale:
 *
 *	old   . :  .o .                       20 runs
 *	new                      . .:: o  .   20 runs
 *	      1.02 ms                1.19 ms
 */
#include <math.h>
#include <string.h>

#include "render/gate.h"

enum {
	COLUMNS = 64,
	LOG_FROM = 20,		/* a scale that spans more than this many times its least is logarithmic */
};

struct scale {
	double least, most;
	bool is_log;
};

static void scale_add(struct scale *s, const struct sample *x)
{
	for (size_t i = 0; i < x->nr; i++) {
		s->least = fmin(s->least, x->values[i]);
		s->most = fmax(s->most, x->values[i]);
	}
}

static size_t column_of(const struct scale *s, double value)
{
	double at = s->is_log ? log(value / s->least) / log(s->most / s->least) :
		    (value - s->least) / (s->most - s->least);

	return at * (COLUMNS - 1) + 0.5;
}

/* How many runs fell into a column: . is one, : two, o three or four, O more. */
static void add_strip(struct doc *d, const char *side, const struct sample *x, const struct scale *s)
{
	static const char marks[] = " .:oo";
	size_t counts[COLUMNS] = { 0 };
	char strip[COLUMNS + 1];

	if (!x->nr)
		return;
	for (size_t i = 0; i < x->nr; i++)
		counts[column_of(s, x->values[i])]++;
	for (size_t c = 0; c < COLUMNS; c++)
		strip[c] = counts[c] < strlen(marks) ? marks[counts[c]] : 'O';
	strip[COLUMNS] = '\0';
	doc_line(d, "%s  |%s|  %s run%s", side, strip, unit_count(x->nr).text, x->nr == 1 ? "" : "s");
}

void gate_plot(struct doc *d, const struct verdict *v)
{
	struct scale s = { INFINITY, -INFINITY, false };
	struct unit least, most;

	scale_add(&s, &v->before);
	scale_add(&s, &v->after);
	if (v->before.nr + v->after.nr < 3 || !(s.least < s.most) || isinf(s.most))
		return;
	s.is_log = s.least > 0 && s.most / s.least > LOG_FROM;
	least = gate_value(v, s.least);
	most = gate_value(v, s.most);
	add_strip(d, "old", &v->before, &s);
	add_strip(d, "new", &v->after, &s);
	doc_line(d, "      %-*s%s%s", COLUMNS - (int)strlen(most.text), least.text, most.text,
		 s.is_log ? "   (logarithmic)" : "");
}
