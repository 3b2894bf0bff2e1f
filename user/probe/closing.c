// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/closing.h"

#include <errno.h>

#include "probe/insn.h"

/* A walk over the VM's list holds the lock for its time: 1 part in 200 of all time at most. */
enum { WALK_SHARE = 200 };

void closing_init(struct closing *c, const struct ruby *r)
{
	*c = (struct closing){ .enter = UPROBES_NONE, .leave = UPROBES_NONE };
	c->is_found = closefn_find(&c->fn, &r->object, &r->layout, &c->why) == 0;
}

void closing_configure(const struct closing *c, const struct ruby *r, struct target_cfg *cfg)
{
	const struct layout *l = &r->layout;

	cfg->walk_share = WALK_SHARE;
	cfg->close = (struct close_layout){
		l->waiter_node, l->waiter_thread, l->waiter_ec, l->waiter_fd, l->waiter_busy, l->thread_ec, l->ec_thread, l->ec_cfp,
		l->cfp_pc, l->cfp_iseq, l->cfp_self, l->cfp_size, l->file_io, l->io_mode, l->io_fd, l->io_waiters,
		l->io_fork_gen, l->io_closing_ec,
	};
	if (!c->is_found)
		return;
	cfg->flags |= TARGET_CLOSE;
	cfg->vm_ractor_count = r->vm + l->vm_ractor_count;
	cfg->waiters = c->fn.is_per_io ? 0 : r->vm + l->vm_waiting_fds;
	cfg->vm_fork_gen = c->fn.is_per_io ? r->vm + l->vm_fork_gen : 0;
	if (!c->fn.is_per_io && c->fn.fdclose_start) {
		cfg->alone_start = c->fn.fdclose_start + r->object.bias;
		cfg->alone_end = c->fn.fdclose_end + r->object.bias;
	}
}

/*
 * The scan's return: a return probe at the function's begin where that costs no trap of its own. From
 * 4.0 the scan may change stacks, which a return probe does not survive: its callers tell.
 */
static int place_leave(struct closing *c, struct tracer *t, pid_t pid, const char *path, struct err *e)
{
	uint64_t cookies[CLOSEFN_CALLS_MAX] = { 0 };

	if (!c->fn.is_per_io && c->fn.entry_is_start)
		return tracer_probe(t, &c->leave, PROGRAM_SCAN_LEAVE, UPROBE_RETURN, pid, path,
				    &c->fn.entry_offset, cookies, 1, e);
	return tracer_probe(t, &c->leave, PROGRAM_SCAN_LEAVE, UPROBE_AT, pid, path, c->fn.after_offset,
			    cookies, c->fn.nr_after, e);
}

int closing_place(struct closing *c, struct tracer *t, pid_t pid, const struct ruby *r, struct err *e)
{
	unsigned int list = c->fn.list_regs ? __builtin_ctz(c->fn.list_regs) : 0;
	uint64_t cookie = SCAN_COOKIE(insn_reg_slot(c->fn.arg_reg), insn_reg_slot(list), c->fn.sp_shift);
	const char *path = r->object.open_path;
	int err;

	if (!c->fn.is_per_io && !c->fn.list_regs)
		return err_set(e, REASON_NO_CLOSE, -ENOTSUP,
			       "%s+%#lx: IO#close's scan of waiters does not tell those that it found",
			       r->object.path, c->fn.start);
	err = place_leave(c, t, pid, path, e);

	if (err)
		return err;
	err = tracer_probe(t, &c->enter, PROGRAM_SCAN_ENTER, UPROBE_AT, pid, path, &c->fn.entry_offset,
			   &cookie, 1, e);
	if (err)
		closing_remove(c);
	return err;
}

void closing_remove(struct closing *c)
{
	uprobes_detach(&c->enter);
	uprobes_detach(&c->leave);
}

const char *closing_method(const struct closing *c)
{
	if (!c->is_found)
		return NULL;
	return c->fn.how == CLOSEFN_SYMBOL ? "symbol" : "recovered";
}
