// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/function.h"

#include <errno.h>

#include "util/scope.h"

enum {
	FUNCTION_BYTES_MAX = 1 << 16,
	LOOK_MAX = 48,		/* instructions from an entry or a return */
	SEGMENT_BYTES_MAX = 1 << 28,
};

int function_load(struct function *f, const struct object *o, uint64_t vaddr)
{
	auto_free uint8_t *code = NULL;
	auto_free struct insn *insns = NULL;
	struct span span;
	size_t len;

	if (object_function_span(o, vaddr, &span) || span.end <= span.start ||
	    span.end - span.start > FUNCTION_BYTES_MAX)
		return -ENOENT;
	len = span.end - span.start;
	code = malloc(len);
	insns = calloc(len, sizeof(*insns));
	if (!code || !insns)
		return -ENOMEM;
	if (object_read(o, span.start, code, len))
		return -ENOENT;
	*f = (struct function){ .o = o, .span = span };
	f->nr = insn_decode(code, len, span.start, insns, len);
	f->insns = take_ptr(insns);
	return 0;
}

void function_release(struct function *f)
{
	free(f->insns);
	*f = (struct function){ 0 };
}

bool function_starts(const struct object *o, uint64_t vaddr)
{
	struct span span;

	return !object_function_span(o, vaddr, &span) && span.start == vaddr;
}

static bool is_inside(const struct span *s, uint64_t vaddr)
{
	return vaddr >= s->start && vaddr < s->end;
}

uint64_t function_callee(const struct function *f, const struct insn *i)
{
	if (i->callee)
		return i->callee;
	return is_inside(&f->span, i->target) ? 0 : i->target;
}

/* The code of the @i-th segment, to be freed; NULL if it has none. */
static uint8_t *read_code(const struct object *o, size_t i, struct span *s, bool *is_end)
{
	auto_free uint8_t *code = NULL;
	uint64_t offset;

	*is_end = !object_segment(o, false, i, s);
	if (*is_end || object_file_offset(o, s->start, &offset) ||
	    s->end - s->start > SEGMENT_BYTES_MAX)
		return NULL;
	code = malloc(s->end - s->start);
	if (!code || object_read(o, s->start, code, s->end - s->start))
		return NULL;
	return take_ptr(code);
}

/* Direct calls and jumps to @first..@last, and what to do with each until it returns true. */
struct branches {
	const struct object *o;
	uint64_t first, last;
	bool (*fn)(void *arg, const struct function *f, const struct insn *i);
	void *arg;
};

/* Bytes anywhere may look like a branch. They are one if decoding their function comes by it. */
static bool confirm(const struct branches *b, uint64_t end)
{
	auto_release(function_release) struct function f = { 0 };

	if (function_load(&f, b->o, end - 1))
		return false;
	for (size_t i = 0; i < f.nr; i++) {
		uint64_t to = f.insns[i].callee ? f.insns[i].callee : f.insns[i].target;

		if (f.insns[i].vaddr + f.insns[i].size == end && to >= b->first && to <= b->last)
			return b->fn(b->arg, &f, &f.insns[i]);
	}
	return false;
}

/* All but short jumps: those stay in a function. */
static bool branches_each(const struct branches *b)
{
	bool is_end = false;

	for (size_t i = 0; !is_end; i++) {
		struct span s;
		auto_free uint8_t *code = read_code(b->o, i, &s, &is_end);
		size_t at = 0, len = code ? s.end - s.start : 0;

		while ((at = insn_find_branch(code, len, at, s.start, b->first, b->last)) != 0)
			if (confirm(b, s.start + at))
				return true;
	}
	return false;
}

struct callers {
	uint64_t *out;
	int n, max;
};

static bool add_caller(void *arg, const struct function *f, const struct insn *i)
{
	struct callers *c = arg;

	if (!function_callee(f, i))
		return false;
	if (c->n < c->max)
		c->out[c->n] = i->vaddr;
	c->n++;
	return false;
}

int function_callers(uint64_t *out, int max, const struct object *o, uint64_t start)
{
	struct callers c = { .out = out, .max = max };

	branches_each(&(struct branches){
		.o = o, .first = start, .last = start, .fn = add_caller, .arg = &c,
	});
	return c.n;
}

struct held held_begin(unsigned int i, uint8_t size)
{
	return (struct held){ .regs = 1u << insn_arg_reg(i), .size = size };
}

bool held_step(struct held *h, const struct insn *i)
{
	bool is_copy = i->copies >= 0 && (h->regs & 1u << i->copies) && i->copy_size >= h->size;

	if ((i->ends_block && !i->is_call) || i->stack == INSN_STACK_UNKNOWN)
		return false;
	h->regs &= is_copy ? UINT32_MAX : ~i->writes;
	if (is_copy)
		h->regs |= i->writes;
	if (i->is_call)
		h->regs &= insn_kept_by_calls();
	h->stack += i->stack;
	return h->regs != 0;
}

static bool is_any(void *arg, const struct function *f, const struct insn *i)
{
	(void)arg;
	(void)f;
	(void)i;
	return true;
}

/*
 * Whether a jump leads to the addresses @first..@last of @f. Parts of a function that rarely run
 * lie apart, in a span of their own, and jump back from there.
 */
static bool is_jumped_to(const struct function *f, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->insns[i].target >= first && f->insns[i].target <= last)
			return true;
	return branches_each(&(struct branches){
		.o = f->o, .first = first, .last = last, .fn = is_any,
	});
}

static unsigned int lowest_bit(uint32_t bits)
{
	return __builtin_ctz(bits);
}

static int place_at(struct place *p, const struct function *f, const struct insn *i)
{
	*p = (struct place){ .vaddr = i->vaddr, .emulated = i->emulated };
	return object_file_offset(f->o, i->vaddr, &p->offset);
}

int function_entry(struct place *out, const struct function *f, const struct held *begin)
{
	struct held h = *begin;
	const struct insn *at = f->insns;

	if (!f->nr)
		return -ENOENT;
	for (size_t i = 0; i < f->nr && i < LOOK_MAX; i++) {
		if (f->insns[i].emulated) {
			at = &f->insns[i];
			break;
		}
		if (!held_step(&h, &f->insns[i]))
			break;
	}
	if (!at->emulated || (at > f->insns && is_jumped_to(f, f->span.start + 1, at->vaddr))) {
		at = f->insns;
		h = *begin;
	}
	if (place_at(out, f, at))
		return -ENOENT;
	/* the register it came in, as long as that still has it */
	out->reg = lowest_bit(h.regs & begin->regs ? h.regs & begin->regs : h.regs);
	out->sp_shift = h.stack;
	return 0;
}

uint32_t function_held(const struct function *f, const struct held *begin, uint64_t vaddr)
{
	struct held h = *begin;

	for (size_t i = 0; i < f->nr; i++) {
		if (f->insns[i].vaddr == vaddr)
			return h.regs;
		if (!held_step(&h, &f->insns[i]))
			return 0;
	}
	return 0;
}

static const struct insn *insn_at(const struct function *f, uint64_t vaddr)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->insns[i].vaddr == vaddr)
			return &f->insns[i];
	return NULL;
}

int function_return(struct place *out, const struct function *f, uint64_t vaddr)
{
	const struct insn *call = insn_at(f, vaddr), *end = f->insns + f->nr, *at;

	if (!call || !call->is_call || call + 1 == end)
		return -ENOENT;
	at = call + 1;
	while (at < end && at - call < LOOK_MAX && !at->emulated && !at->ends_block)
		at++;
	if (at == end || !at->emulated || is_jumped_to(f, call[1].vaddr, at->vaddr))
		at = call + 1;
	return place_at(out, f, at);
}
