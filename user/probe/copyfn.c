// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The methods are the ones that the definer of both set_string and get_string defines,
 * Init_IO_Buffer(). From there it goes on by direct calls, as far as they stay in io_buffer.c: a
 * linker keeps that in one piece, in which all functions of its methods are. Exceptions: the call
 * of rb_enc_str_new() is a site itself, as the memcpy() in string.c serves all Strings; and the
 * function given to rb_nogvl(), io_buffer_memmove_blocking() from 3.4. Read at v3_1_2 to v4.0.5.
 */
#include "probe/copyfn.h"

#include <errno.h>
#include <string.h>

#include "probe/function.h"
#include "probe/import.h"
#include "probe/insn.h"
#include "probe/known.h"
#include "probe/methods.h"
#include "util/scope.h"

enum {
	DEPTH_MAX = 3,		/* calls from a method to its copy */
	VISITS_MAX = 128,	/* functions a method may come by */
};

/* What copies, and which argument is the number of bytes. */
static const struct {
	const char *name;
	enum copy_op op;
	unsigned int len_arg;
} copiers[] = {
	{ "memcpy", COPY_MOVE, 2 },	{ "__memcpy_chk", COPY_MOVE, 2 },
	{ "memmove", COPY_MOVE, 2 },	{ "__memmove_chk", COPY_MOVE, 2 },
	{ "memset", COPY_SET, 2 },	{ "__memset_chk", COPY_SET, 2 },
	{ "memcmp", COPY_COMPARE, 2 },	{ "bcmp", COPY_COMPARE, 2 },
	{ "rb_enc_str_new", COPY_STRING, 1 },
};

struct finder {
	const struct object *o;
	struct imports imports;
	const struct methods *methods;
	struct import_name copiers[ARRAY_LEN(copiers)];
	struct import_name nogvl;
	struct span file;		/* io_buffer.c */
	struct copyfn found;
};

/* A function on the way. */
struct visit {
	uint64_t vaddr;
	unsigned int depth;
	bool is_released;
};

/* From a method through the functions that it calls, each once. */
struct walk {
	struct finder *f;
	enum copy_method method;
	struct visit visits[VISITS_MAX];
	size_t nr;
	const struct visit *at;
	size_t nr_sites;
	bool is_cut;		/* not all that it may come by was looked at */
};

static void finder_release(struct finder *f)
{
	imports_release(&f->imports);
}

const char *copy_method_name(enum copy_method m)
{
	static const char *const names[] = {
#define COPY_METHOD_NAME(name, text) text,
		COPY_METHOD_LIST(COPY_METHOD_NAME)
#undef COPY_METHOD_NAME
	};

	return names[m];
}

static void visit(struct walk *w, uint64_t vaddr, bool is_released)
{
	for (size_t i = 0; i < w->nr; i++)
		if (w->visits[i].vaddr == vaddr && w->visits[i].is_released == is_released)
			return;
	if (w->nr == VISITS_MAX) {
		w->is_cut = true;
		return;
	}
	w->visits[w->nr++] = (struct visit){
		.vaddr = vaddr, .depth = w->at ? w->at->depth + 1 : 0, .is_released = is_released,
	};
}

static bool place_after(struct copy_site *s, const struct known_call *c)
{
	struct place p;

	s->is_tail = !c->insn->is_call;
	if (s->is_tail)
		/* else a probe there would see more than copies */
		return !c->insn->is_conditional;
	if (function_return(&p, c->f, c->insn->vaddr))
		return false;
	s->after_vaddr = p.vaddr;
	s->after_offset = p.offset;
	s->after_emulated = p.emulated;
	return true;
}

static struct copy_site *site_at(struct copyfn *found, uint64_t vaddr)
{
	for (size_t i = 0; i < found->nr; i++)
		if (found->sites[i].call_vaddr == vaddr)
			return &found->sites[i];
	return NULL;
}

static void add_site(struct walk *w, const struct known_call *c, size_t copier)
{
	struct copyfn *found = &w->f->found;
	struct copy_site *have = site_at(found, c->insn->vaddr), s = {
		.op = copiers[copier].op,
		.call_vaddr = c->insn->vaddr,
		.call_emulated = c->insn->emulated,
		.len_reg = insn_arg_reg(copiers[copier].len_arg),
		.is_released = w->at->is_released,
	};

	if (!have) {
		if (found->nr == COPYFN_SITES_MAX || !place_after(&s, c) ||
		    object_file_offset(w->f->o, s.call_vaddr, &s.call_offset)) {
			w->is_cut = true;
			return;
		}
		have = &found->sites[found->nr++];
		*have = s;
	}
	have->methods |= 1u << w->method;
	w->nr_sites++;
}

static bool is_copier(const struct walk *w, const struct known_call *c, size_t *copier)
{
	for (size_t i = 0; i < ARRAY_LEN(copiers); i++) {
		if (!import_is(&c->to, &w->f->copiers[i]))
			continue;
		*copier = i;
		return copiers[i].op != COPY_STRING || w->method == COPY_METHOD_GET_STRING;
	}
	return false;
}

static void look_at_call(void *arg, const struct known_call *c)
{
	struct walk *w = arg;
	const struct span *file = &w->f->file;
	uint64_t blocking;
	size_t copier;

	if (is_copier(w, c, &copier))
		add_site(w, c, copier);
	else if (import_is(&c->to, &w->f->nogvl))
		visit(w, known_arg(c, 0, &blocking) ? blocking : 0, true);
	else if (c->to.vaddr >= file->start && c->to.vaddr < file->end && w->at->depth < DEPTH_MAX)
		visit(w, c->to.vaddr, w->at->is_released);
}

static int walk_method(struct finder *f, enum copy_method method)
{
	struct walk w = { .f = f, .method = method };

	visit(&w, f->found.method_vaddr[method], false);
	for (size_t i = 0; i < w.nr; i++) {
		auto_release(function_release) struct function fn = { 0 };
		int err;

		w.at = &w.visits[i];
		if (!function_starts(f->o, w.at->vaddr) || function_load(&fn, f->o, w.at->vaddr)) {
			w.is_cut = true;
			continue;
		}
		err = known_calls(&fn, &f->imports, look_at_call, &w);
		if (err)
			return err;
	}
	if (!w.nr_sites || w.is_cut)
		f->found.unseen |= 1u << method;
	return 0;
}

static int not_there(const struct object *o, const char *what, struct err *e)
{
	return err_set(e, REASON_NO_COPY, -ENOENT, "%s: %s IO::Buffer", o->path, what);
}

/* The function that defines IO::Buffer's methods. */
static int find_init(const struct finder *f, uint64_t *init, struct err *e)
{
	const char *get = copy_method_name(COPY_METHOD_GET_STRING);
	const char *set = copy_method_name(COPY_METHOD_SET_STRING);
	size_t found = 0;

	for (size_t i = 0; i < f->methods->nr; i++) {
		const struct method_def *m = &f->methods->all[i];

		if (strcmp(m->name, get) != 0 || !methods_named(f->methods, m->init, set))
			continue;
		*init = m->init;
		found++;
	}
	if (!found)
		return not_there(f->o, "defines no", e);
	return found == 1 ? 0 : not_there(f->o, "defines more than one", e);
}

static void extend(struct span *s, const struct span *by)
{
	if (by->start < s->start)
		s->start = by->start;
	if (by->end > s->end)
		s->end = by->end;
}

static void find_methods(struct finder *f, uint64_t init)
{
	struct span s;

	f->file = (struct span){ .start = UINT64_MAX };
	for (size_t i = 0; i < f->methods->nr; i++)
		if (f->methods->all[i].init == init &&
		    !object_function_span(f->o, f->methods->all[i].vaddr, &s))
			extend(&f->file, &s);
	if (!object_function_span(f->o, init, &s))
		extend(&f->file, &s);
	for (unsigned int i = 0; i < COPY_METHODS; i++) {
		const struct method_def *m = methods_named(f->methods, init, copy_method_name(i));

		f->found.method_vaddr[i] = m ? m->vaddr : 0;
	}
}

static int by_vaddr(const void *a, const void *b)
{
	const struct copy_site *x = a, *y = b;

	return (x->call_vaddr > y->call_vaddr) - (x->call_vaddr < y->call_vaddr);
}

int copyfn_find(struct copyfn *out, const struct object *o, const struct methods *m, struct err *e)
{
	auto_release(finder_release) struct finder f = { .o = o, .methods = m };
	uint64_t init = 0;
	int err = find_init(&f, &init, e);

	if (err)
		return err;
	if (imports_load(&f.imports, o))
		return err_set(e, REASON_SYS, -ENOMEM, "out of memory");
	for (size_t i = 0; i < ARRAY_LEN(copiers); i++)
		f.copiers[i] = import_name(o, copiers[i].name);
	f.nogvl = import_name(o, "rb_nogvl");
	find_methods(&f, init);
	for (unsigned int i = 0; i < COPY_METHODS; i++)
		if (f.found.method_vaddr[i] && walk_method(&f, i))
			return err_set(e, REASON_SYS, -ENOMEM, "out of memory");
	qsort(f.found.sites, f.found.nr, sizeof(f.found.sites[0]), by_vaddr);
	*out = f.found;
	return 0;
}
