// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "gate/policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate/file.h"
#include "util/parse.h"
#include "util/scope.h"

enum {
	BYTES_MAX = 1 << 20,
	WORDS_MAX = 8,
};

const char *severity_name(enum severity s)
{
	return s == SEVERITY_FAIL ? "fail" : "warn";
}

const char *rule_sign(enum rule_kind k)
{
	static const char *const signs[] = { "", "<", "<=", "==", ">=", ">" };

	return signs[k];
}

/* A line being read. */
struct line {
	const char *name;	/* of the policy */
	unsigned int nr;
	char *words[WORDS_MAX];
	size_t nr_words;
};

__attribute__((format(printf, 3, 4)))
static int bad(struct err *e, const struct line *l, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return err_set(e, REASON_POLICY, -EINVAL, "%s:%u: %s", l->name, l->nr, what);
}

/* "10%" as 0.1. */
static int parse_percent(const char *word, double *out)
{
	size_t len = strlen(word);
	char text[32];
	double v;

	if (len < 2 || len > sizeof(text) || word[len - 1] != '%')
		return -EINVAL;
	memcpy(text, word, len - 1);
	text[len - 1] = 0;
	if (parse_double(text, &v))
		return -EINVAL;
	*out = v / 100;
	return 0;
}

/* A bound in the unit that the metric has, or as a plain number. */
static int parse_bound(const char *word, enum finding_unit unit, double *out)
{
	uint64_t n;

	if (parse_double(word, out) == 0)
		return 0;
	if (unit == FINDING_SHARE)
		return parse_percent(word, out);
	if ((unit == FINDING_NS && parse_time(word, &n) == 0) ||
	    (unit == FINDING_BYTES && parse_size(word, &n) == 0)) {
		*out = n;
		return 0;
	}
	return -EINVAL;
}

static int parse_severity(const struct line *l, size_t word, enum severity *out, struct err *e)
{
	*out = SEVERITY_FAIL;
	if (l->nr_words == word)
		return 0;
	for (enum severity s = SEVERITY_FAIL; s <= SEVERITY_WARN; s++) {
		if (strcmp(l->words[word], severity_name(s)) != 0)
			continue;
		*out = s;
		if (l->nr_words > word + 1)
			return bad(e, l, "%s: nothing may follow the severity", l->words[word + 1]);
		return 0;
	}
	return bad(e, l, "%s: not a severity, which is fail or warn", l->words[word]);
}

/* metric better limit minimum [severity] */
static int parse_compare(struct rule *r, const struct line *l, struct err *e)
{
	r->kind = RULE_COMPARE;
	if (strcmp(l->words[1], "lower") != 0 && strcmp(l->words[1], "higher") != 0)
		return bad(e, l, "%s: neither a direction (lower, higher) nor one of < <= == >= >", l->words[1]);
	r->is_higher_better = l->words[1][0] == 'h';
	if (l->nr_words < 4)
		return bad(e, l, "%s: wants a limit and a minimum effect, as in 10%% 5%%", l->words[0]);
	if (parse_percent(l->words[2], &r->limit) || r->limit == 0)
		return bad(e, l, "%s: not a limit, which is a percentage above 0%%", l->words[2]);
	if (parse_percent(l->words[3], &r->minimum))
		return bad(e, l, "%s: not a minimum effect, which is a percentage", l->words[3]);
	if (r->minimum > r->limit)
		return bad(e, l, "%s: the minimum effect is above the limit %s", l->words[3], l->words[2]);
	return parse_severity(l, 4, &r->severity, e);
}

/* metric sign bound [severity] */
static int parse_bound_rule(struct rule *r, const struct line *l, struct err *e)
{
	if (l->nr_words < 3)
		return bad(e, l, "%s: wants a number after %s", l->words[0], l->words[1]);
	if (parse_bound(l->words[2], r->metric->unit, &r->bound))
		return bad(e, l, "%s: not a number that %s can have", l->words[2], l->words[0]);
	return parse_severity(l, 3, &r->severity, e);
}

static int check_twice(const struct policy *p, const struct rule *r, const struct line *l, struct err *e)
{
	for (size_t i = 0; i < p->nr; i++)
		if (r->kind == RULE_COMPARE && p->rules[i].kind == r->kind && p->rules[i].metric == r->metric)
			return bad(e, l, "%s: is compared in line %u already", l->words[0], p->rules[i].line);
	return 0;
}

static int add_rule(struct policy *p, const struct line *l, struct err *e)
{
	struct rule r = { .metric = metric_find(l->words[0]), .line = l->nr }, *more;
	int err;

	if (!r.metric)
		return bad(e, l, "%s: there is no such metric", l->words[0]);
	if (l->nr_words < 2)
		return bad(e, l, "%s: wants a direction or a bound, as in `lower 10%% 5%%` or `<= 1`", l->words[0]);
	for (r.kind = RULE_BELOW; r.kind <= RULE_ABOVE; r.kind++)
		if (strcmp(l->words[1], rule_sign(r.kind)) == 0)
			break;
	err = r.kind <= RULE_ABOVE ? parse_bound_rule(&r, l, e) : parse_compare(&r, l, e);
	err = err ? err : check_twice(p, &r, l, e);
	if (err)
		return err;
	more = reallocarray(p->rules, p->nr + 1, sizeof(*more));
	if (!more)
		return err_nomem(e);
	p->rules = more;
	p->rules[p->nr++] = r;
	return 0;
}

static int set_false_alarms(struct policy *p, const struct line *l, struct err *e)
{
	double share;

	if (l->nr_words != 2 || parse_percent(l->words[1], &share) || share < 0.0001 || share > 0.1)
		return bad(e, l, "false_alarms: wants one percentage from 0.01%% to 10%%");
	p->false_alarms = share;
	return 0;
}

static int parse_line(struct policy *p, struct line *l, char *text, struct err *e)
{
	char *save;

	text[strcspn(text, "#")] = 0;
	for (const char *c = text; *c; c++)
		if (!isprint((unsigned char)*c) && !isspace((unsigned char)*c))
			return bad(e, l, "byte 0x%02x: a policy is plain text", (unsigned char)*c);
	l->nr_words = 0;
	for (char *w = strtok_r(text, " \t\r\f\v", &save); w; w = strtok_r(NULL, " \t\r\f\v", &save)) {
		if (l->nr_words == WORDS_MAX)
			return bad(e, l, "%s: too many words", w);
		l->words[l->nr_words++] = w;
	}
	if (!l->nr_words)
		return 0;
	if (strcmp(l->words[0], "false_alarms") == 0)
		return set_false_alarms(p, l, e);
	return add_rule(p, l, e);
}

static void scope_policy(struct policy *p)
{
	policy_release(p);
}

int policy_parse(struct policy *out, const char *name, const char *text, struct err *e)
{
	auto_release(scope_policy) struct policy p = { .false_alarms = 0.003, .is_default = !text };
	auto_free char *copy = strdup(text ? text : policy_default);
	struct line l = { .name = name };
	char *rest = copy, *line;

	if (!copy)
		return err_nomem(e);
	while ((line = strsep(&rest, "\n"))) {
		int err;

		l.nr++;
		err = parse_line(&p, &l, line, e);
		if (err)
			return err;
	}
	if (!p.nr)
		return err_set(e, REASON_POLICY, -EINVAL, "%s: has no rule", name);
	*out = p;
	p = (struct policy){ 0 };
	return 0;
}

int policy_read(struct policy *out, const char *path, struct err *e)
{
	auto_free char *text = NULL;
	size_t size;
	int err = file_read(path, BYTES_MAX, REASON_POLICY, &text, &size, e);

	if (err)
		return err;
	if (memchr(text, 0, size))
		return err_set(e, REASON_POLICY, -EINVAL, "%s: not plain text", path);
	return policy_parse(out, path, text, e);
}

void policy_release(struct policy *p)
{
	free(p->rules);
	*p = (struct policy){ 0 };
}
