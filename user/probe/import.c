// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/import.h"

#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "util/scope.h"

enum {
	STUBS_BYTES_MAX = 1 << 20,
	WORDS_MAX = 1 << 22,
	STUB_INSNS = 2,		/* that may precede a stub's jump: a landing pad, its index */
};

static int grow(void *array, size_t nr, size_t more, size_t size)
{
	void *bigger = reallocarray(*(void **)array, nr + more, size);

	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	return 0;
}

/* What the loader writes: the value of a symbol, if it is in the file, and an addend. */
static bool read_word(const struct object *o, const GElf_Shdr *table, Elf_Data *symbols,
		      const GElf_Rela *r, struct import_word *w)
{
	GElf_Shdr sh;
	GElf_Sym sym;

	*w = (struct import_word){ .vaddr = r->r_offset };
	if (GELF_R_SYM(r->r_info) == 0) {
		w->to.vaddr = r->r_addend;
		return true;
	}
	if (!symbols || !gelf_getsym(symbols, GELF_R_SYM(r->r_info), &sym) ||
	    !gelf_getshdr(elf_getscn(o->elf, table->sh_link), &sh))
		return false;
	w->to.name = elf_strptr(o->elf, sh.sh_link, sym.st_name);
	if (sym.st_shndx != SHN_UNDEF)
		w->to.vaddr = sym.st_value + r->r_addend;
	return true;
}

static int add_words(struct imports *t, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Scn *linked = elf_getscn(t->o->elf, sh->sh_link);
	Elf_Data *symbols = linked ? elf_getdata(linked, NULL) : NULL;
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;

	if (n > WORDS_MAX)
		n = WORDS_MAX;
	if (n && grow(&t->words, t->nr_words, n, sizeof(*t->words)))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		GElf_Rela r;

		if (gelf_getrela(data, i, &r) &&
		    read_word(t->o, sh, symbols, &r, &t->words[t->nr_words]))
			t->nr_words++;
	}
	return 0;
}

/* Instruction @i of @n jumps through a word: it and those right before it are a stub's start. */
static void add_stub(struct imports *t, const struct insn *insns, size_t i)
{
	for (size_t k = i; k + STUB_INSNS >= i; k--) {
		t->stubs[t->nr_stubs++] = (struct import_stub){
			.vaddr = insns[k].vaddr, .word = insns[i].via,
		};
		if (k == 0 || insns[k - 1].ends_block)
			break;
	}
}

static int add_stubs(struct imports *t, const GElf_Shdr *sh)
{
	auto_free uint8_t *code = NULL;
	auto_free struct insn *insns = NULL;
	size_t n, len = sh->sh_size;

	if (!len || len > STUBS_BYTES_MAX)
		return 0;
	code = malloc(len);
	insns = calloc(len, sizeof(*insns));
	if (!code || !insns || grow(&t->stubs, t->nr_stubs, len, sizeof(*t->stubs)))
		return -ENOMEM;
	if (object_read(t->o, sh->sh_addr, code, len))
		return 0;
	n = insn_decode(code, len, sh->sh_addr, insns, len);
	for (size_t i = 0; i < n; i++)
		if (insns[i].via && !insns[i].is_call)
			add_stub(t, insns, i);
	return 0;
}

/* Linkers name them .plt, .plt.got and .plt.sec. */
static bool has_stubs(const struct object *o, const GElf_Shdr *sh)
{
	const char *name;
	size_t names;

	if (sh->sh_type != SHT_PROGBITS || !(sh->sh_flags & SHF_EXECINSTR) ||
	    elf_getshdrstrndx(o->elf, &names))
		return false;
	name = elf_strptr(o->elf, names, sh->sh_name);
	return name && strncmp(name, ".plt", 4) == 0;
}

/* Both begin with the address. */
static int by_vaddr(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

_Static_assert(offsetof(struct import_word, vaddr) == 0, "by_vaddr");
_Static_assert(offsetof(struct import_stub, vaddr) == 0, "by_vaddr");

int imports_load(struct imports *t, const struct object *o)
{
	auto_release(imports_release) struct imports new = { .o = o };
	Elf_Scn *scn = NULL;
	int err = 0;

	while (!err && (scn = elf_nextscn(o->elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (sh.sh_type == SHT_RELA)
			err = add_words(&new, scn, &sh);
		else if (has_stubs(o, &sh))
			err = add_stubs(&new, &sh);
	}
	if (err)
		return err;
	qsort(new.words, new.nr_words, sizeof(*new.words), by_vaddr);
	qsort(new.stubs, new.nr_stubs, sizeof(*new.stubs), by_vaddr);
	*t = new;
	new = (struct imports){ 0 };
	return 0;
}

void imports_release(struct imports *t)
{
	free(t->words);
	free(t->stubs);
	*t = (struct imports){ 0 };
}

static bool word_to(const struct imports *t, uint64_t vaddr, struct import_to *out)
{
	const struct import_word *w = bsearch(&vaddr, t->words, t->nr_words, sizeof(*w), by_vaddr);
	uint64_t value;

	if (w) {
		*out = w->to;
		return true;
	}
	/* filled in by the linker */
	if (object_read(t->o, vaddr, &value, sizeof(value)) || !value)
		return false;
	*out = (struct import_to){ .vaddr = value };
	return true;
}

bool imports_word(const struct imports *t, uint64_t vaddr, uint64_t *out)
{
	struct import_to to;

	if (!word_to(t, vaddr, &to))
		return false;
	*out = to.vaddr;
	return to.vaddr != 0;
}

bool imports_callee(const struct imports *t, const struct function *f, const struct insn *i,
		    struct import_to *out)
{
	uint64_t to = function_callee(f, i);
	const struct import_stub *s;

	if (i->via)
		return word_to(t, i->via, out);
	if (!to)
		return false;
	s = bsearch(&to, t->stubs, t->nr_stubs, sizeof(*s), by_vaddr);
	if (s)
		return word_to(t, s->word, out);
	*out = (struct import_to){ .vaddr = to };
	return true;
}

struct import_name import_name(const struct object *o, const char *name)
{
	struct import_name n = { .name = name };

	if (object_symbol(o, name, &n.vaddr, NULL))
		n.vaddr = 0;
	return n;
}

bool import_is(const struct import_to *to, const struct import_name *n)
{
	return (to->name && strcmp(to->name, n->name) == 0) || (n->vaddr && to->vaddr == n->vaddr);
}
