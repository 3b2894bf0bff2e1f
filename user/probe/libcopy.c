// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/libcopy.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "probe/sizeflow.h"
#include "util/scope.h"

/* A place is the better the less pass it in vain: at best all sizes up to 2 KiB go another way. */
static const uint64_t spared[] = { 2048, 1024, 512, 256, 128, 64, 0 };

struct search {
	struct sizeflow f;
	struct sizes *all;	/* what holds at each instruction, whatever the size */
};

static void search_release(struct search *s)
{
	sizeflow_release(&s->f);
	free(s->all);
}

/* A place keeps the size in a register, and the return address is on top of the stack. */
static bool is_candidate(const struct search *s, size_t at, uint64_t spare, bool emulated)
{
	const struct insn *i = &s->f.insns[at];
	const struct sizes *z = &s->all[at];

	if (!z->is_reached || z->least <= spare || !z->held.regs || z->held.stack || i->is_call)
		return false;
	/* repeated instructions, which name memory, would be single-stepped many times */
	return i->emulated || (!emulated && !i->ends_block && !i->has_mem);
}

static bool is_place(const struct search *s, size_t at)
{
	return s->f.is_stop[at] && s->f.sizes[at].is_reached;
}

static bool leads_to_place(const struct search *s, size_t at)
{
	for (size_t i = 0; i < s->f.nr; i++)
		if (is_place(s, i) && sizeflow_leads(&s->f, at, i))
			return true;
	return false;
}

static bool add_place(struct libcopy_routine *r, const struct search *s, size_t at)
{
	const struct insn *i = &s->f.insns[at];
	struct libcopy_place *p = &r->places[r->nr_places];

	if (r->nr_places == LIBCOPY_PLACES_MAX || leads_to_place(s, at))
		return false;
	*p = (struct libcopy_place){
		.vaddr = i->vaddr, .emulated = i->emulated, .least = s->all[at].least,
		.size_reg = __builtin_ctz(s->all[at].held.regs),
	};
	r->nr_places++;
	return !object_file_offset(s->f.o, i->vaddr, &p->offset);
}

/* Places that all sizes from @min on pass, and that spare those up to @spare. */
static bool choose(struct libcopy_routine *r, struct search *s, uint64_t min, uint64_t spare,
		   bool emulated)
{
	struct sizeflow *f = &s->f;

	r->nr_places = 0;
	for (size_t i = 0; i < f->nr; i++)
		f->is_stop[i] = is_candidate(s, i, spare, emulated);
	if (!sizeflow_follow(f, min) || f->is_missed)
		return false;
	for (size_t i = 0; i < f->nr; i++)
		if (is_place(s, i) && !add_place(r, s, i))
			return false;
	for (size_t i = 0; i < f->nr; i++)
		f->is_stop[i] = is_place(s, i);
	if (!sizeflow_follow(f, 0))
		return false;
	r->from = f->is_missed ? f->most_missed + 1 : 0;
	return r->nr_places > 0;
}

/* How many of spared[] a routine's places are short of the best; ARRAY_LEN(spared) for none. */
static size_t choose_best(struct libcopy_routine *r, struct search *s, uint64_t min)
{
	for (size_t i = 0; i < ARRAY_LEN(spared); i++)
		if (choose(r, s, min, spared[i], true) || choose(r, s, min, spared[i], false))
			return i;
	r->nr_places = 0;
	return ARRAY_LEN(spared);
}

int libcopy_place(struct libcopy_routine *out, const struct object *o, const struct proc *p,
		  const uint64_t *starts, size_t nr, uint64_t min)
{
	auto_release(search_release) struct search s = { 0 };
	struct libcopy_routine next;
	size_t rank;
	int err = sizeflow_load(&s.f, o, p, starts, nr);

	if (err)
		return err;
	out->start = s.f.span.start;
	out->end = s.f.span.end;
	s.all = malloc(s.f.nr * sizeof(*s.all));
	if (!s.all)
		return -ENOMEM;
	if (!sizeflow_follow(&s.f, 0))
		return -ENOTSUP;
	memcpy(s.all, s.f.sizes, s.f.nr * sizeof(*s.all));
	rank = choose_best(out, &s, min);
	next = *out;
	if (rank > 0 && choose_best(&next, &s, min + 1) < rank)
		*out = next;
	return out->nr_places ? 0 : -ENOTSUP;
}

/* A function that the C library exports: its address, or that of what the loader asks for it. */
static bool find_export(const struct object *o, const char *name, GElf_Sym *out)
{
	bool found = false;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(o->elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_DYNSYM || !data)
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym); i++) {
			const char *is = elf_strptr(o->elf, sh.sh_link, sym.st_name);
			unsigned int type = GELF_ST_TYPE(sym.st_info);

			if (!is || strcmp(is, name) != 0 || sym.st_shndx == SHN_UNDEF ||
			    (type != STT_GNU_IFUNC && (type != STT_FUNC || found)))
				continue;
			*out = sym;
			found = true;
		}
	}
	return found;
}

/* The word that has what the resolver at @vaddr chose: where the library calls its own function. */
static bool find_slot(const struct object *o, uint64_t vaddr, uint64_t *slot)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(o->elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);
		GElf_Rela rela;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || !data)
			continue;
		for (int i = 0; gelf_getrela(data, i, &rela); i++)
			if (GELF_R_TYPE(rela.r_info) == insn_resolved_reloc() &&
			    (uint64_t)rela.r_addend == vaddr) {
				*slot = rela.r_offset;
				return true;
			}
	}
	return false;
}

/* ELF address of the routine that runs when @name is called; 0 if that cannot be told. */
static uint64_t find_routine(const struct object *o, const struct proc *p, const char *name)
{
	GElf_Sym sym = { 0 };
	uint64_t at, slot;

	if (!find_export(o, name, &sym))
		return 0;
	at = sym.st_value;
	if (GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC) {
		if (!find_slot(o, at, &slot) || proc_read_u64(p, o->bias + slot, &at))
			return 0;
		at -= o->bias;
	}
	return function_starts(o, at) ? at : 0;
}

static int match_libc(void *arg, const struct proc_map *m)
{
	const char *base = strrchr(m->path, '/');

	if (!m->executable || !base ||
	    (strcmp(base, "/libc.so.6") != 0 && strncmp(base, "/libc-2.", 8) != 0))
		return 0;
	*(struct proc_map *)arg = *m;
	return 1;
}

/* The routines that the names of one kind lead to: one, unless they have no code in common. */
struct group {
	enum libcopy_op op;
	uint64_t starts[SIZEFLOW_STARTS_MAX];
	size_t nr;
	struct span span;
};

static void group_add(struct group *groups, size_t *nr, enum libcopy_op op, const struct libcopy *c,
		      const struct proc *p, uint64_t start)
{
	auto_release(sizeflow_release) struct sizeflow f = { 0 };
	struct group *g = groups;

	if (!start || sizeflow_load(&f, &c->object, p, &start, 1))
		return;
	while (g < groups + *nr && (g->op != op || f.span.start >= g->span.end ||
				    f.span.end <= g->span.start))
		g++;
	if (g == groups + *nr) {
		*g = (struct group){ .op = op, .span = f.span };
		++*nr;
	}
	for (size_t i = 0; i < g->nr; i++)
		if (g->starts[i] == start)
			return;
	g->starts[g->nr++] = start;
}

int libcopy_find(struct libcopy *out, const struct proc *p, uint64_t min, struct err *e)
{
	static const struct {
		const char *name;
		enum libcopy_op op;
	} functions[LIBCOPY_ROUTINES_MAX] = {
		{ "memmove", LIBCOPY_MOVE }, { "memcpy", LIBCOPY_MOVE },
		{ "mempcpy", LIBCOPY_MOVE }, { "memset", LIBCOPY_SET },
	};
	static const char *const op_names[] = { "memmove", "memset" };
	struct group groups[LIBCOPY_ROUTINES_MAX];
	size_t nr = 0, nr_placed = 0;
	struct proc_map m;
	int err;

	memset(out, 0, sizeof(*out));
	out->object.fd = -1;
	err = proc_maps(p, match_libc, &m, e);
	if (err == 0)
		return err_set(e, REASON_NO_COPY, -ENOENT, "process %d: no GNU C library is there",
			       p->pid);
	if (err < 0 || (err = object_open(&out->object, p, &m, e)))
		return err;
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		group_add(groups, &nr, functions[i].op, out, p,
			  find_routine(&out->object, p, functions[i].name));
	for (size_t i = 0; i < nr; i++) {
		struct libcopy_routine *r = &out->routines[out->nr_routines++];

		r->op = groups[i].op;
		if (!libcopy_place(r, &out->object, p, groups[i].starts, groups[i].nr, min))
			nr_placed++;
		else
			err_set(e, REASON_NO_COPY, -ENOTSUP,
				"%s+%#lx: the branch for large sizes of its %s is not found",
				out->object.path, groups[i].starts[0], op_names[r->op]);
	}
	if (!nr)
		return err_set(e, REASON_NO_COPY, -ENOENT,
			       "%s: which memmove and memset it runs is not found", out->object.path);
	return nr_placed == nr ? 0 : -ENOTSUP;
}

void libcopy_release(struct libcopy *c)
{
	object_release(&c->object);
}
