// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/methods.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "probe/function.h"
#include "probe/import.h"
#include "probe/insn.h"
#include "probe/known.h"
#include "util/scope.h"

enum {
	NAME_MAX_BYTES = 64,
	TARGETS_MAX = 64,
	SEGMENT_BYTES_MAX = 1 << 28,
	ARG_NAME = 1,
	ARG_FUNCTION = 2,
};

/* All take (VALUE class, const char *name, function, int arity): include/ruby/internal/method.h. */
static const char *const definers[] = {
	"rb_define_method", "rb_define_private_method", "rb_define_protected_method",
	"rb_define_singleton_method", "rb_define_module_function",
};

struct finder {
	const struct object *o;
	struct imports imports;
	struct import_name names[ARRAY_LEN(definers)];
	struct span targets[TARGETS_MAX];	/* of branches to definers; end inclusive */
	size_t nr_targets;
	struct span *inits;
	size_t nr_inits;
	struct methods found;
	bool is_out_of_memory;
};

static void finder_release(struct finder *f)
{
	imports_release(&f->imports);
	free(f->inits);
	methods_release(&f->found);
}

static void add_target(struct finder *f, uint64_t first, uint64_t last)
{
	if (f->nr_targets < TARGETS_MAX)
		f->targets[f->nr_targets++] = (struct span){ first, last };
}

/* The stubs of the word at @word, which lie together. */
static void add_stub_target(struct finder *f, uint64_t word)
{
	for (size_t i = 0; i < f->imports.nr_stubs; i++) {
		const struct import_stub *s = &f->imports.stubs[i];
		size_t last = i;

		if (s->word != word)
			continue;
		while (last + 1 < f->imports.nr_stubs && f->imports.stubs[last + 1].word == word)
			last++;
		add_target(f, s->vaddr, f->imports.stubs[last].vaddr);
		i = last;
	}
}

static void find_targets(struct finder *f)
{
	for (size_t i = 0; i < ARRAY_LEN(definers); i++) {
		f->names[i] = import_name(f->o, definers[i]);
		if (f->names[i].vaddr)
			add_target(f, f->names[i].vaddr, f->names[i].vaddr);
		for (size_t k = 0; k < f->imports.nr_words; k++) {
			const struct import_word *w = &f->imports.words[k];

			if (!w->to.name || strcmp(w->to.name, definers[i]) != 0)
				continue;
			add_target(f, w->vaddr, w->vaddr);
			add_stub_target(f, w->vaddr);
		}
	}
}

static int add_init(struct finder *f, const struct span *s)
{
	struct span *more = reallocarray(f->inits, f->nr_inits + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	f->inits = more;
	f->inits[f->nr_inits++] = *s;
	return 0;
}

/* Adds the functions that have bytes like a branch to @target. */
static int scan_code(struct finder *f, const uint8_t *code, const struct span *s,
		     const struct span *target)
{
	struct span in = { 0 };
	size_t at = 0, len = s->end - s->start;

	while ((at = insn_find_branch(code, len, at, s->start, target->start, target->end)) != 0) {
		uint64_t vaddr = s->start + at - 1;

		if ((vaddr >= in.start && vaddr < in.end) ||
		    object_function_span(f->o, vaddr, &in))
			continue;
		if (add_init(f, &in))
			return -ENOMEM;
	}
	return 0;
}

static int scan_segment(struct finder *f, const struct span *s)
{
	auto_free uint8_t *code = NULL;
	uint64_t offset, len = s->end - s->start;

	if (object_file_offset(f->o, s->start, &offset) || len > SEGMENT_BYTES_MAX)
		return 0;
	code = malloc(len);
	if (!code)
		return -ENOMEM;
	if (object_read(f->o, s->start, code, len))
		return 0;
	for (size_t i = 0; i < f->nr_targets; i++)
		if (scan_code(f, code, s, &f->targets[i]))
			return -ENOMEM;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int find_inits(struct finder *f)
{
	struct span s;

	for (size_t i = 0; object_segment(f->o, false, i, &s); i++)
		if (scan_segment(f, &s))
			return -ENOMEM;
	qsort(f->inits, f->nr_inits, sizeof(*f->inits), by_start);
	return 0;
}

/* An identifier, with what may end a method's name, or an operator. */
static bool is_name(const char *s)
{
	static const char *const operators[] = {
		"!", "!=", "!~", "%", "&", "*", "**", "+", "+@", "-", "-@", "/", "<", "<<", "<=",
		"<=>", "==", "===", "=~", ">", ">=", ">>", "[]", "[]=", "^", "`", "|", "~",
	};
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (n && !isdigit((unsigned char)s[0]))
		return !s[n] || (strchr("?!=", s[n]) && !s[n + 1]);
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (strcmp(s, operators[i]) == 0)
			return true;
	return false;
}

static bool read_name(const struct object *o, uint64_t vaddr, char *out)
{
	for (size_t len = NAME_MAX_BYTES + 1; len; len /= 2)
		if (!object_read(o, vaddr, out, len))
			return memchr(out, '\0', len) && is_name(out);
	return false;
}

static int add_method(struct methods *m, uint64_t vaddr, const char *name, uint64_t init)
{
	struct method_def *more = reallocarray(m->all, m->nr + 1, sizeof(*more));
	char *copy = strdup(name);

	if (more)
		m->all = more;
	if (!more || !copy) {
		free(copy);
		return -ENOMEM;
	}
	m->all[m->nr++] = (struct method_def){ .vaddr = vaddr, .name = copy, .init = init };
	return 0;
}

static void look_at_call(void *arg, const struct known_call *c)
{
	struct finder *f = arg;
	char name[NAME_MAX_BYTES + 1];
	uint64_t text, vaddr;
	size_t i = 0;

	while (i < ARRAY_LEN(definers) && !import_is(&c->to, &f->names[i]))
		i++;
	if (i == ARRAY_LEN(definers) || !known_arg(c, ARG_NAME, &text) ||
	    !known_arg(c, ARG_FUNCTION, &vaddr) || !read_name(f->o, text, name) ||
	    !function_starts(f->o, vaddr))
		return;
	if (add_method(&f->found, vaddr, name, c->f->span.start))
		f->is_out_of_memory = true;
}

static int find_definitions(struct finder *f)
{
	for (size_t i = 0; i < f->nr_inits; i++) {
		auto_release(function_release) struct function fn = { 0 };

		if ((i && f->inits[i].start == f->inits[i - 1].start) ||
		    function_load(&fn, f->o, f->inits[i].start))
			continue;
		if (known_calls(&fn, &f->imports, look_at_call, f) || f->is_out_of_memory)
			return -ENOMEM;
	}
	return 0;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct method_def *x = a, *y = b;

	return x->vaddr == y->vaddr ? strcmp(x->name, y->name) : x->vaddr < y->vaddr ? -1 : 1;
}

int methods_find(struct methods *out, const struct object *o, struct err *e)
{
	auto_release(finder_release) struct finder f = { .o = o };
	int err = imports_load(&f.imports, o);

	if (!err) {
		find_targets(&f);
		err = find_inits(&f);
	}
	if (!err)
		err = find_definitions(&f);
	if (err)
		return err_set(e, REASON_SYS, err, "%s: %s", o->path, strerror(-err));
	qsort(f.found.all, f.found.nr, sizeof(*f.found.all), by_vaddr);
	*out = f.found;
	f.found = (struct methods){ 0 };
	return 0;
}

void methods_release(struct methods *m)
{
	for (size_t i = 0; i < m->nr; i++)
		free((char *)m->all[i].name);
	free(m->all);
	*m = (struct methods){ 0 };
}

const struct method_def *methods_at(const struct methods *m, uint64_t vaddr)
{
	size_t lo = 0, hi = m->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->all[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->nr && m->all[lo].vaddr == vaddr ? &m->all[lo] : NULL;
}

const struct method_def *methods_named(const struct methods *m, uint64_t init, const char *name)
{
	for (size_t i = 0; i < m->nr; i++)
		if (m->all[i].init == init && strcmp(m->all[i].name, name) == 0)
			return &m->all[i];
	return NULL;
}
