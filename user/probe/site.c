// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/site.h"

#include <errno.h>

#include "probe/insn.h"
#include "util/scope.h"

enum {
	FUNCTION_BYTES_MAX = 1 << 16,
	LOOK_MAX = 32,		/* instructions around the write */
};

static bool is_jump_target(const struct insn *insns, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++)
		if (insns[i].target == vaddr)
			return true;
	return false;
}

/* A place for the probe, and whether the write is done there. */
struct place {
	const struct insn *at;
	bool is_after;
};

/* An emulated instruction behind the write that nothing else jumps to, the base still there. */
static const struct insn *find_after(const struct insn *insns, size_t n, size_t write)
{
	uint32_t base = 1u << insns[write].mem_base;

	for (size_t i = write + 1; i < n && i <= write + LOOK_MAX; i++) {
		if (is_jump_target(insns, n, insns[i].vaddr))
			return NULL;
		if (insns[i].emulated)
			return &insns[i];
		if (insns[i].ends_block || (insns[i].writes & base))
			return NULL;
	}
	return NULL;
}

/* One before it, from which the write always follows, base and value already in place. */
static const struct insn *find_before(const struct insn *insns, size_t n, size_t write)
{
	const struct insn *w = &insns[write];
	uint32_t needed = 1u << w->mem_base;

	if (w->store_reg >= 0)
		needed |= 1u << w->store_reg;
	for (size_t i = write; i > 0 && i + LOOK_MAX > write; i--) {
		if (is_jump_target(insns, n, insns[i].vaddr) || insns[i - 1].ends_block ||
		    (insns[i - 1].writes & needed))
			return NULL;
		if (insns[i - 1].emulated)
			return &insns[i - 1];
	}
	return NULL;
}

/*
 * Emulated places cost a tenth of others. Failing those, the writing instruction itself: its
 * operands tell everything, and it is reached just when the word is written.
 */
static struct place choose(const struct insn *insns, size_t n, size_t write)
{
	const struct insn *at = find_after(insns, n, write);

	if (at)
		return (struct place){ at, true };
	if (insns[write].store_reg == INSN_STORES_OTHER)
		return (struct place){ NULL, false };
	at = find_before(insns, n, write);
	return (struct place){ at ? at : &insns[write], false };
}

static unsigned int value_slot(const struct insn *w, bool is_after)
{
	if (is_after)
		return SITE_VALUE_MEMORY;
	return w->store_reg < 0 ? SITE_VALUE_ZERO : insn_reg_slot(w->store_reg);
}

int site_choose(struct site *out, const struct object *o, uint64_t vaddr, bool is_next,
		enum word word, struct err *e)
{
	struct span span;
	auto_free uint8_t *code = NULL;
	auto_free struct insn *insns = NULL;
	const struct insn *w = NULL;
	struct place probe;
	size_t len, n;

	if (object_function_span(o, is_next ? vaddr - 1 : vaddr, &span) ||
	    span.end - span.start > FUNCTION_BYTES_MAX)
		return err_set(e, REASON_NO_SITES, -ENOENT,
			       "%s+%#lx: the function around it cannot be told", o->path, vaddr);
	len = span.end - span.start;
	code = malloc(len);
	insns = calloc(len, sizeof(*insns));
	if (!code || !insns)
		return err_nomem(e);
	if (object_read(o, span.start, code, len))
		return err_set(e, REASON_ELF, -EIO, "%s: its code cannot be read", o->path);
	n = insn_decode(code, len, span.start, insns, len);
	for (size_t i = 0; i < n && !w; i++)
		if (insns[i].vaddr + (is_next ? insns[i].size : 0) == vaddr)
			w = &insns[i];
	if (!w || w->store_size != 8 || w->mem_indexed || w->ends_block)
		return err_set(e, REASON_NO_SITES, -ENOTSUP,
			       "%s+%#lx: not a plain store of one word", o->path, vaddr);
	probe = choose(insns, n, w - insns);
	if (!probe.at || object_file_offset(o, probe.at->vaddr, &out->probe_offset))
		return err_set(e, REASON_NO_SITES, -ENOTSUP,
			       "%s+%#lx: nothing around the store can be probed", o->path, vaddr);
	*out = (struct site){
		.word = word,
		.write_vaddr = w->vaddr,
		.probe_vaddr = probe.at->vaddr,
		.probe_offset = out->probe_offset,
		.emulated = probe.at->emulated,
		.cookie = SITE_COOKIE(insn_reg_slot(w->mem_base), value_slot(w, probe.is_after),
				      word, w->mem_disp),
	};
	return 0;
}
