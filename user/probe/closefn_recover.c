// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Up to 3.4 the scan is rb_notify_fd_close(int fd, list *), thread.c, over vm->waiting_fds. From
 * 4.0 it is rb_thread_io_close_interrupt(struct rb_io *), thread.c, over io->blocking_operations.
 * Neither is exported; rb_io_close() and rb_thread_fd_close() are. Read at v3_0_0 to v4.0.5 and at
 * 20c8fa88ca.
 */
#include <errno.h>

#include "probe/closefn.h"
#include "probe/function.h"
#include "util/scope.h"

enum {
	CALLEES_MAX = 1024,
	POINTER_BYTES = 8,
	LIST_PREV = 8,		/* struct ccan_list_node, ccan/list/list.h: next, prev */
};

struct callees {
	uint64_t at[CALLEES_MAX];
	size_t nr;
};

static bool callees_have(const struct callees *c, uint64_t vaddr)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->at[i] == vaddr)
			return true;
	return false;
}

/* Adds the functions that the one around @vaddr calls directly, each once. */
static void callees_add(struct callees *c, const struct object *o, uint64_t vaddr)
{
	auto_release(function_release) struct function f = { 0 };

	if (function_load(&f, o, vaddr))
		return;
	for (size_t i = 0; i < f.nr; i++) {
		uint64_t callee = function_callee(&f, &f.insns[i]);

		if (callee && c->nr < CALLEES_MAX && !callees_have(c, callee) &&
		    function_starts(o, callee))
			c->at[c->nr++] = callee;
	}
}

static bool names(const struct insn *i, int32_t disp)
{
	return i->has_mem && !i->mem_indexed && !insn_is_stack_pointer(i->mem_base) &&
	       i->mem_disp == disp;
}

static bool function_names(const struct function *f, int32_t disp)
{
	for (size_t i = 0; i < f->nr; i++)
		if (names(&f->insns[i], disp))
			return true;
	return false;
}

/* Sets closing_ec to the closer. rb_thread_io_close_wait(), much like it, only sets it to NULL. */
static bool stores_closer(const struct function *f, const struct layout *l)
{
	for (size_t i = 0; i < f->nr; i++)
		if (names(&f->insns[i], l->io_closing_ec) && f->insns[i].store_reg >= 0 &&
		    f->insns[i].store_size == POINTER_BYTES)
			return true;
	return false;
}

/* Through rb_io_blocking_operations(), which compilers may leave apart. */
static bool uses_waiters(const struct function *f, const struct layout *l)
{
	struct callees c = { 0 };

	if (function_names(f, l->io_waiters))
		return true;
	callees_add(&c, f->o, f->span.start);
	for (size_t i = 0; i < c.nr; i++) {
		auto_release(function_release) struct function callee = { 0 };

		if (!function_load(&callee, f->o, c.at[i]) &&
		    function_names(&callee, l->io_waiters))
			return true;
	}
	return false;
}

/* Whether the first member of *argument that the function touches is closing_ec. */
static bool begins_with_closer(const struct function *f, const struct layout *l)
{
	struct held h = held_begin(0, POINTER_BYTES);

	for (size_t i = 0; i < f->nr; i++) {
		const struct insn *insn = &f->insns[i];

		if (insn->has_mem && !insn->mem_indexed && (h.regs & 1u << insn->mem_base))
			return names(insn, l->io_closing_ec) && !insn->store_size;
		if (!held_step(&h, insn))
			return false;
	}
	return false;
}

typedef bool looks_fn(const struct function *f, const struct layout *l);

static bool looks_per_io(const struct function *f, const struct layout *l)
{
	return begins_with_closer(f, l) && stores_closer(f, l) && uses_waiters(f, l);
}

static bool looks_per_vm(const struct function *f, const struct layout *l)
{
	return function_names(f, l->vm_waiting_fds) ||
	       function_names(f, l->vm_waiting_fds + LIST_PREV);
}

/* The one function of @c that looks right into *out. How many look right. */
static size_t choose(uint64_t *out, const struct callees *c, const struct object *o,
		     looks_fn *looks, const struct layout *l)
{
	size_t found = 0;

	for (size_t i = 0; i < c->nr; i++) {
		auto_release(function_release) struct function f = { 0 };

		if (function_load(&f, o, c->at[i]) || !looks(&f, l))
			continue;
		*out = c->at[i];
		found++;
	}
	return found;
}

/*
 * What rb_io_close() calls, and what that calls: compilers may leave io_close_fptr(), io.c, which
 * does the work, apart.
 */
static int close_callees(struct callees *near, struct callees *far, const struct object *o,
			 struct err *e)
{
	uint64_t vaddr;

	if (object_symbol(o, "rb_io_close", &vaddr, NULL))
		return err_set(e, REASON_NO_CLOSE, -ENOENT, "%s: does not export rb_io_close",
			       o->path);
	callees_add(near, o, vaddr);
	for (size_t i = 0; i < near->nr; i++)
		callees_add(far, o, near->at[i]);
	return 0;
}

static int not_certain(const struct object *o, size_t found, struct err *e)
{
	return err_set(e, REASON_NO_CLOSE, -ENOENT,
		       "%s: %zu functions look like IO#close's scan of waiters, not one", o->path,
		       found);
}

static int recover_per_io(uint64_t *out, const struct object *o, const struct layout *l,
			  struct err *e)
{
	struct callees near = { 0 }, far = { 0 };
	int err = close_callees(&near, &far, o, e);
	size_t found;

	if (err)
		return err;
	found = choose(out, &near, o, looks_per_io, l);
	if (!found)
		found = choose(out, &far, o, looks_per_io, l);
	return found == 1 ? 0 : not_certain(o, found, e);
}

static int recover_per_vm(uint64_t *out, const struct object *o, const struct layout *l,
			  struct err *e)
{
	struct callees near = { 0 }, far = { 0 }, of_fdclose = { 0 };
	int err = close_callees(&near, &far, o, e);
	uint64_t vaddr;
	size_t found;

	if (err)
		return err;
	if (object_symbol(o, "rb_thread_fd_close", &vaddr, NULL))
		return err_set(e, REASON_NO_CLOSE, -ENOENT,
			       "%s: does not export rb_thread_fd_close", o->path);
	callees_add(&of_fdclose, o, vaddr);
	found = choose(out, &of_fdclose, o, looks_per_vm, l);
	if (found != 1)
		return not_certain(o, found, e);
	if (!callees_have(&near, *out) && !callees_have(&far, *out))
		return err_set(e, REASON_NO_CLOSE, -ENOENT,
			       "%s: rb_io_close and rb_thread_fd_close share no scan of waiters",
			       o->path);
	return 0;
}

int closefn_recover(uint64_t *start, const struct object *o, const struct layout *l, struct err *e)
{
	bool is_per_io = l->io_waiters >= 0;

	if (is_per_io ? l->io_closing_ec < 0 : l->vm_waiting_fds < 0)
		return err_set(e, REASON_NO_CLOSE, -ENOTSUP,
			       "%s: where this Ruby keeps its waiters is not known", o->path);
	return is_per_io ? recover_per_io(start, o, l, e) : recover_per_vm(start, o, l, e);
}
