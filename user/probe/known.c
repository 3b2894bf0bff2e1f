// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/known.h"

#include <errno.h>

#include "util/scope.h"

static void set(struct known *k, uint32_t reg_bit, uint64_t value)
{
	k->value[__builtin_ctz(reg_bit)] = value;
	k->regs |= reg_bit;
}

static void step(struct known *k, const struct insn *i, const struct imports *t)
{
	uint32_t before = k->regs;
	uint64_t value;

	if (i->ends_block && !i->is_call && !i->is_conditional) {
		k->regs = 0;
		return;
	}
	k->regs &= i->is_call ? insn_kept_by_calls() : ~i->writes;
	if (__builtin_popcount(i->writes) != 1)
		return;
	if (i->sets == INSN_SETS_VALUE)
		set(k, i->writes, i->value);
	else if (i->sets == INSN_SETS_LOADED && imports_word(t, i->value, &value))
		set(k, i->writes, value);
	else if (i->copies >= 0 && (before & 1u << i->copies) && i->copy_size == 8)
		set(k, i->writes, k->value[i->copies]);
}

/* A byte for each of @f's: instructions jump there. To be freed. */
static uint8_t *find_joins(const struct function *f)
{
	uint8_t *joins = calloc(1, f->span.end - f->span.start);

	for (size_t i = 0; joins && i < f->nr; i++)
		if (f->insns[i].target >= f->span.start && f->insns[i].target < f->span.end)
			joins[f->insns[i].target - f->span.start] = 1;
	return joins;
}

bool known_arg(const struct known_call *c, unsigned int i, uint64_t *value)
{
	unsigned int reg = insn_arg_reg(i);

	*value = c->known.value[reg];
	return c->known.regs & 1u << reg;
}

int known_calls(const struct function *f, const struct imports *t,
		void (*fn)(void *arg, const struct known_call *c), void *arg)
{
	auto_free uint8_t *joins = find_joins(f);
	struct known_call c = { .f = f };

	if (!joins)
		return -ENOMEM;
	for (size_t i = 0; i < f->nr; i++) {
		c.insn = &f->insns[i];
		if (joins[c.insn->vaddr - f->span.start])
			c.known.regs = 0;
		if (c.insn->ends_block && imports_callee(t, f, c.insn, &c.to))
			fn(arg, &c);
		step(&c.known, c.insn, t);
	}
	return 0;
}
