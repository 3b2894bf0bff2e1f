// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/closefn.h"

#include <errno.h>

#include "probe/function.h"
#include "util/scope.h"

enum { POINTER_BYTES = 8, FD_BYTES = 4 };

static int find_start(struct closefn *c, const struct object *o, const struct layout *l,
		      uint64_t *start, struct err *e)
{
	const char *name = c->is_per_io ? "rb_thread_io_close_interrupt" : "rb_notify_fd_close";

	c->how = CLOSEFN_SYMBOL;
	if (!object_symbol(o, name, start, NULL))
		return 0;
	c->how = CLOSEFN_RECOVERED;
	return closefn_recover(start, o, l, e);
}

static int place_entry(struct closefn *c, const struct function *f, struct err *e)
{
	struct held arg = held_begin(0, c->is_per_io ? POINTER_BYTES : FD_BYTES);
	struct held list = held_begin(1, POINTER_BYTES);
	struct place p;

	if (function_entry(&p, f, &arg))
		return err_set(e, REASON_NO_CLOSE, -ENOTSUP,
			       "%s+%#lx: IO#close's scan of waiters cannot be probed", f->o->path,
			       f->span.start);
	c->entry_vaddr = p.vaddr;
	c->entry_offset = p.offset;
	c->entry_emulated = p.emulated;
	c->entry_is_start = p.vaddr == f->span.start;
	c->arg_reg = p.reg;
	c->sp_shift = p.sp_shift;
	c->list_regs = function_held(f, &list, p.vaddr);
	return 0;
}

static void place_after(struct closefn *c, const struct object *o, uint64_t call)
{
	auto_release(function_release) struct function f = { 0 };
	struct place p;

	if (function_load(&f, o, call) || function_return(&p, &f, call)) {
		c->nr_tail_calls++;
		return;
	}
	c->after_vaddr[c->nr_after] = p.vaddr;
	c->after_offset[c->nr_after] = p.offset;
	c->after_emulated[c->nr_after++] = p.emulated;
}

static int place_afters(struct closefn *c, const struct object *o, struct err *e)
{
	uint64_t calls[CLOSEFN_CALLS_MAX];
	int n = function_callers(calls, CLOSEFN_CALLS_MAX, o, c->start);

	if (n == 0 || n > CLOSEFN_CALLS_MAX)
		return err_set(e, REASON_NO_CLOSE, -ENOTSUP,
			       "%s+%#lx: IO#close's scan of waiters is called from %d places",
			       o->path, c->start, n);
	for (int i = 0; i < n; i++)
		place_after(c, o, calls[i]);
	return 0;
}

static void find_fdclose(struct closefn *c, const struct object *o)
{
	struct span s;
	uint64_t vaddr;

	if (object_symbol(o, "rb_thread_fd_close", &vaddr, NULL) ||
	    object_function_span(o, vaddr, &s))
		return;
	c->fdclose_start = s.start;
	c->fdclose_end = s.end;
}

int closefn_find(struct closefn *out, const struct object *o, const struct layout *l,
		 struct err *e)
{
	auto_release(function_release) struct function f = { 0 };
	struct closefn c = { .is_per_io = l->io_waiters >= 0 };
	uint64_t start;
	int err;

	err = find_start(&c, o, l, &start, e);
	if (err)
		return err;
	if (function_load(&f, o, start) || f.span.start != start)
		return err_set(e, REASON_NO_CLOSE, -ENOENT, "%s+%#lx: no function starts there",
			       o->path, start);
	c.start = f.span.start;
	c.end = f.span.end;
	err = place_entry(&c, &f, e);
	if (!err)
		err = place_afters(&c, o, e);
	if (err)
		return err;
	find_fdclose(&c, o);
	*out = c;
	return 0;
}
