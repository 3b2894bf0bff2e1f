// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/scan.h"

#include <errno.h>

#include "probe/insn.h"
#include "util/scope.h"

/*
 * Exported functions of thread.c, which includes the scheduler (thread_pthread.c): compilers keep
 * a file's functions together, so the scheduler's code lies around these.
 */
static const char *const neighbours[] = {
	"rb_thread_wait_for", "rb_thread_fd_close", "rb_mutex_lock", "rb_mutex_sleep", "rb_nogvl",
	"rb_thread_call_without_gvl", "rb_thread_create", "rb_thread_schedule", "rb_thread_alone",
	"ruby_thread_has_gvl_p", "rb_thread_atfork", "rb_thread_wakeup",
};

enum {
	MARGIN_BYTES = 0x8000,		/* how far the scheduler may lie beyond them */
	FILE_BYTES_MAX = 0x40000,	/* no file's code is larger */
	FUNCTION_BYTES_MAX = 1 << 16,
};

/* The same member seen from a pointer to the scheduler's structure, and from one to the Ractor. */
struct member {
	int32_t owner, queue;
};

static bool names_member(const struct insn *i, uint8_t base, int32_t disp)
{
	return i->has_mem && !i->mem_indexed && i->mem_base == base && i->mem_disp == disp;
}

/*
 * A function that writes the owner looks at the queue as well, through the same pointer: it hands
 * the lock on, or waits its turn.
 */
static bool uses_queue(const struct insn *insns, size_t n, uint8_t base, int32_t queue)
{
	for (size_t i = 0; i < n; i++)
		if (names_member(&insns[i], base, queue) ||
		    names_member(&insns[i], base, queue + 8))
			return true;
	return false;
}

static bool writes_owner(const struct insn *insns, size_t n, const struct member *m)
{
	for (size_t i = 0; i < n; i++)
		if (insns[i].store_size == 8 && !insns[i].mem_indexed &&
		    insns[i].mem_disp == m->owner &&
		    uses_queue(insns, n, insns[i].mem_base, m->queue))
			return true;
	return false;
}

/* Which word the store may write, or -1. */
static int classify(const struct insn *insns, size_t n, const struct insn *store,
		    const struct member *m)
{
	if (store->store_size != 8 || store->mem_indexed || insn_is_stack_pointer(store->mem_base))
		return -1;
	if (store->mem_disp == m->owner && uses_queue(insns, n, store->mem_base, m->queue))
		return WORD_OWNER;
	/* list_add_tail() writes head.prev; its head may have been put into a register by itself */
	if (store->mem_disp == m->queue + 8 ||
	    (store->mem_disp == 8 && writes_owner(insns, n, m)))
		return WORD_QUEUE;
	return -1;
}

struct scan {
	const struct object *o;
	struct member members[2];
	struct site *out;
	int n, max;
	uint8_t *code;
	struct insn *insns;
};

static void scan_function(struct scan *s, const struct span *f)
{
	size_t len = f->end - f->start, n;

	if (len > FUNCTION_BYTES_MAX || object_read(s->o, f->start, s->code, len))
		return;
	n = insn_decode(s->code, len, f->start, s->insns, len);
	for (size_t i = 0; i < n && s->n < s->max; i++) {
		int word = -1;

		for (size_t k = 0; k < ARRAY_LEN(s->members) && word < 0; k++)
			word = classify(s->insns, n, &s->insns[i], &s->members[k]);
		if (word >= 0 && !site_choose(&s->out[s->n], s->o, s->insns[i].vaddr, false, word, NULL))
			s->n++;
	}
}

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Around the median: a compiler may put a function that it takes for rarely used far away. */
static int neighbourhood(const struct object *o, struct span *out)
{
	uint64_t at[ARRAY_LEN(neighbours)], middle;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(neighbours); i++)
		n += object_symbol(o, neighbours[i], &at[n], NULL) == 0;
	if (!n)
		return -ENOENT;
	qsort(at, n, sizeof(at[0]), by_address);
	middle = at[n / 2];
	*out = (struct span){ middle, middle };
	for (size_t i = 0; i < n; i++) {
		if (at[i] < out->start && middle - at[i] < FILE_BYTES_MAX)
			out->start = at[i];
		if (at[i] > out->end && at[i] - middle < FILE_BYTES_MAX)
			out->end = at[i];
	}
	out->start -= out->start > MARGIN_BYTES ? MARGIN_BYTES : out->start;
	out->end += MARGIN_BYTES;
	return 0;
}

int scan_candidates(struct site *out, int max, const struct object *o, const struct layout *l,
		    struct err *e)
{
	int32_t inside = l->ractor_owner - l->ractor_sched;
	struct scan s = {
		.o = o, .out = out, .max = max,
		.members = {
			{ inside, inside + l->ractor_queue - l->ractor_owner },
			{ l->ractor_owner, l->ractor_queue },
		},
	};
	auto_free uint8_t *code = malloc(FUNCTION_BYTES_MAX);
	auto_free struct insn *insns = calloc(FUNCTION_BYTES_MAX, sizeof(*insns));
	struct span area, f;

	if (!code || !insns)
		return err_nomem(e);
	s.code = code;
	s.insns = insns;
	if (neighbourhood(o, &area))
		return err_set(e, REASON_NO_SITES, -ENOENT, "%s: exports nothing of thread.c", o->path);
	for (uint64_t at = area.start; at < area.end;) {
		if (object_function_span(o, at, &f) || f.end <= at) {
			at += 16;
			continue;
		}
		scan_function(&s, &f);
		at = f.end;
	}
	return s.n;
}
