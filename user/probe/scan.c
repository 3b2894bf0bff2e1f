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

/*
 * The owner and the queue as code names them, from the pointers that compilers keep in registers: to the
 * scheduler's structure, to the Ractor, to the queue's head, to the mutex. A function may use several.
 */
struct view {
	int32_t owner, queue;
};

enum { VIEWS = 4, VIEW_HEAD = 2 };

static bool names(const struct insn *i, int32_t disp)
{
	return i->has_mem && !i->mem_indexed && !insn_is_stack_pointer(i->mem_base) &&
	       i->mem_disp == disp;
}

static bool uses_queue(const struct insn *insns, size_t n, const struct view *views)
{
	for (size_t i = 0; i < n; i++)
		for (size_t v = 0; v < VIEWS; v++)
			/* through its own address everything looks alike; but that was taken before */
			if (v != VIEW_HEAD && (names(&insns[i], views[v].queue) ||
					       names(&insns[i], views[v].queue + 8)))
				return true;
	return false;
}

static bool is_word_store(const struct insn *i, int32_t disp)
{
	return i->store_size == 8 && names(i, disp);
}

static bool is_owner_store(const struct insn *i, const struct view *views)
{
	for (size_t v = 0; v < VIEWS; v++)
		if (is_word_store(i, views[v].owner))
			return true;
	return false;
}

static bool writes_owner(const struct insn *insns, size_t n, const struct view *views)
{
	for (size_t i = 0; i < n; i++)
		if (is_owner_store(&insns[i], views))
			return true;
	return false;
}

/*
 * Which word the store may write, or -1. A function that writes the owner looks at the queue as well:
 * it hands the lock on, or waits its turn. list_add_tail() writes head.prev.
 */
static int classify(const struct insn *insns, size_t n, const struct insn *store,
		    const struct view *views)
{
	if (is_owner_store(store, views) && uses_queue(insns, n, views))
		return WORD_OWNER;
	for (size_t v = 0; v < VIEWS; v++)
		if (is_word_store(store, views[v].queue + 8) &&
		    (v != VIEW_HEAD || (uses_queue(insns, n, views) && writes_owner(insns, n, views))))
			return WORD_QUEUE;
	return -1;
}

struct scan {
	const struct object *o;
	struct view views[VIEWS];
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
		int word = classify(s->insns, n, &s->insns[i], s->views);

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
	int32_t queue = l->ractor_queue - l->ractor_owner;
	int32_t inside = l->ractor_owner - l->ractor_sched;
	/* rb_global_vm_lock_t and 3.2's rb_thread_sched have the mutex behind the owner, others first */
	int32_t mutex = inside ? 0 : 8;
	struct scan s = {
		.o = o, .out = out, .max = max,
		.views = {
			{ inside, inside + queue },
			{ l->ractor_owner, l->ractor_queue },
			[VIEW_HEAD] = { -queue, 0 },
			{ inside - mutex, inside + queue - mutex },
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
