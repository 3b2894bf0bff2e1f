// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/sizeflow.h"

#include <errno.h>
#include <string.h>

#include "util/scope.h"

enum {
	ROUTINE_BYTES_MAX = 1 << 15,
	ROUTINE_INSNS_MAX = 1 << 13,
};

size_t sizeflow_find(const struct sizeflow *f, uint64_t vaddr)
{
	size_t lo = 0, hi = f->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (f->insns[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->nr && f->insns[lo].vaddr == vaddr ? lo : f->nr;
}

static int by_vaddr(const void *a, const void *b)
{
	const struct insn *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* Adds the instructions from @vaddr to the end of its function, or up to one that is there. */
static int decode(struct sizeflow *f, uint64_t vaddr)
{
	auto_free struct insn *insns = NULL;
	auto_free uint8_t *code = NULL;
	struct insn *more;
	struct span span;
	size_t n, add = 0;

	if (object_function_span(f->o, vaddr, &span) || span.end <= vaddr ||
	    span.end - span.start > ROUTINE_BYTES_MAX)
		return -ENOENT;
	code = malloc(span.end - vaddr);
	insns = calloc(span.end - vaddr, sizeof(*insns));
	if (!code || !insns)
		return -ENOMEM;
	if (object_read(f->o, vaddr, code, span.end - vaddr))
		return -ENOENT;
	n = insn_decode(code, span.end - vaddr, vaddr, insns, span.end - vaddr);
	while (add < n && sizeflow_find(f, insns[add].vaddr) == f->nr)
		add++;
	if (!add || f->nr + add > ROUTINE_INSNS_MAX)
		return -ENOENT;
	more = realloc(f->insns, (f->nr + add) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->insns = more;
	memcpy(f->insns + f->nr, insns, add * sizeof(*insns));
	f->nr += add;
	qsort(f->insns, f->nr, sizeof(*f->insns), by_vaddr);
	if (span.start < f->span.start)
		f->span.start = span.start;
	if (span.end > f->span.end)
		f->span.end = span.end;
	return 0;
}

/* Where a jump leads that is not decoded yet; 0 for none. */
static uint64_t next_target(const struct sizeflow *f)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->insns[i].target && sizeflow_find(f, f->insns[i].target) == f->nr)
			return f->insns[i].target;
	return 0;
}

int sizeflow_load(struct sizeflow *f, const struct object *o, const struct proc *p,
		  const uint64_t *starts, size_t nr)
{
	auto_release(sizeflow_release) struct sizeflow made = {
		.o = o, .p = p, .nr_starts = nr, .span = { .start = UINT64_MAX },
	};
	uint64_t at;
	int err = nr > SIZEFLOW_STARTS_MAX ? -E2BIG : 0;

	for (size_t i = 0; i < nr && !err; i++) {
		made.starts[i] = starts[i];
		if (sizeflow_find(&made, starts[i]) == made.nr)
			err = decode(&made, starts[i]);
	}
	while (!err && (at = next_target(&made)) != 0)
		err = decode(&made, at);
	if (err)
		return err;
	made.sizes = calloc(made.nr, sizeof(*made.sizes));
	made.is_stop = calloc(made.nr, sizeof(*made.is_stop));
	if (!made.sizes || !made.is_stop)
		return -ENOMEM;
	*f = made;
	made = (struct sizeflow){ 0 };
	return 0;
}

void sizeflow_release(struct sizeflow *f)
{
	free(f->insns);
	free(f->sizes);
	free(f->is_stop);
	*f = (struct sizeflow){ 0 };
}

/*
 * The first instruction whose address the routine takes: computed jumps go there or behind, to one
 * of a row of alike pieces.
 */
static size_t first_taken(const struct sizeflow *f)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < f->nr; i++)
		if (f->insns[i].sets == INSN_SETS_VALUE && f->insns[i].value >= f->span.start &&
		    f->insns[i].value < f->span.end && f->insns[i].value < first)
			first = f->insns[i].value;
	return sizeflow_find(f, first);
}

struct spread {
	const struct sizeflow *f;
	bool *is_led;
	bool is_lost;		/* to what is not decoded */
	bool changed;
};

static void lead(struct spread *s, uint64_t vaddr)
{
	size_t i = sizeflow_find(s->f, vaddr);

	if (i == s->f->nr) {
		s->is_lost |= vaddr != s->f->span.end;	/* padding ends there */
		return;
	}
	s->changed |= !s->is_led[i];
	s->is_led[i] = true;
}

static void lead_on(struct spread *s, const struct insn *i)
{
	if (i->target)
		lead(s, i->target);
	if (i->ends_block && !i->is_conditional && !i->is_call) {
		if (i->target || i->is_return)
			return;
		s->is_lost |= first_taken(s->f) == s->f->nr;
		for (size_t k = first_taken(s->f); k < s->f->nr; k++)
			lead(s, s->f->insns[k].vaddr);
		return;
	}
	lead(s, i->vaddr + i->size);
}

bool sizeflow_leads(const struct sizeflow *f, size_t from, size_t to)
{
	auto_free bool *is_led = calloc(f->nr, sizeof(*is_led));
	struct spread s = { .f = f, .is_led = is_led, .changed = true };

	if (!is_led)
		return true;
	lead_on(&s, &f->insns[from]);
	while (s.changed && !s.is_lost && !is_led[to]) {
		s.changed = false;
		for (size_t i = 0; i < f->nr; i++)
			if (is_led[i])
				lead_on(&s, &f->insns[i]);
	}
	return s.is_lost || is_led[to];
}
