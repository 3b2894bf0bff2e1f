// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/copying.h"

#include <errno.h>

#include "probe/insn.h"
#include "util/scope.h"

/* A routine is probed only where copies up to this size do not come by, and for one trap. */
enum { SPARED_BYTES = 2048 };

/* Places for one program: file offsets and cookies. */
struct batch {
	uint64_t offsets[COPYFN_SITES_MAX], cookies[COPYFN_SITES_MAX];
	size_t n;
};

static void batch_add(struct batch *b, uint64_t offset, uint64_t cookie)
{
	if (b->n == ARRAY_LEN(b->offsets))
		return;
	b->offsets[b->n] = offset;
	b->cookies[b->n++] = cookie;
}

static enum copy_op routine_op(const struct libcopy_routine *r)
{
	return r->op == LIBCOPY_SET ? COPY_SET : COPY_MOVE;
}

static bool is_sparing(const struct libcopy_routine *r)
{
	for (size_t i = 0; i < r->nr_places; i++)
		if (!r->places[i].emulated || r->places[i].least <= SPARED_BYTES)
			return false;
	return r->nr_places > 0;
}

/* True if large copies can be probed at no cost to small ones; else the reason is in why_lib. */
static bool spares_small(struct copying *c)
{
	for (size_t i = 0; i < c->lib.nr_routines; i++) {
		const struct libcopy_routine *r = &c->lib.routines[i];

		if (r->op != LIBCOPY_MOVE || is_sparing(r))
			continue;
		err_set(&c->why_lib, REASON_NO_COPY, -ENOTSUP,
			"%s: its routine for copies has no branch that only large ones take: each from %lu "
			"bytes on would pay a trap", c->lib.object.path, r->places[0].least);
		return false;
	}
	return true;
}

void copying_init(struct copying *c, const struct ruby *r, uint32_t min_bytes)
{
	int err;

	*c = COPYING_NONE;
	c->min_bytes = min_bytes;
	c->has_buffer = methods_find(&c->methods, &r->object, &c->why_buffer) == 0 &&
			copyfn_find(&c->buffer, &r->object, &c->methods, &c->why_buffer) == 0;
	err = libcopy_find(&c->lib, &r->proc, min_bytes, &c->why_lib);
	c->has_lib = c->lib.nr_routines > 0;
	c->has_places = !err && spares_small(c);
}

void copying_inherit(struct copying *c, const struct copying *parent)
{
	*c = *parent;
	c->is_child = true;
	c->enter = c->leave = c->tail = c->large = c->large_return = UPROBES_NONE;
}

void copying_release(struct copying *c)
{
	copying_remove(c);
	if (!c->is_child) {
		libcopy_release(&c->lib);
		methods_release(&c->methods);
	}
	*c = COPYING_NONE;
}

bool copying_is_buffer_method(const struct copying *c, uint64_t vaddr)
{
	for (size_t i = 0; i < ARRAY_LEN(c->buffer.method_vaddr); i++)
		if (c->buffer.method_vaddr[i] == vaddr)
			return true;
	return false;
}

void copying_configure(const struct copying *c, const struct ruby *r, struct target_cfg *cfg)
{
	const struct layout *l = &r->layout;

	cfg->flags |= TARGET_COPY;
	cfg->cfp_ep = l->cfp_ep;
	cfg->method_def = l->method_def;
	cfg->def_function = l->def_function;
	cfg->copy_min = c->min_bytes;
	for (size_t i = 0; i < c->lib.nr_routines && i < COPY_ROUTINES; i++) {
		cfg->routines[i].start = c->lib.routines[i].start + c->lib.object.bias;
		cfg->routines[i].end = c->lib.routines[i].end + c->lib.object.bias;
	}
}

/* A new String may raise (no memory), and a return probe at the call must not be left by that. */
static bool is_untimed(const struct copy_site *s)
{
	return s->is_tail && s->op == COPY_STRING;
}

/* The library's branch tells the ends of large ones, and small ones have none: one trap, not two. */
static bool ends_below(const struct copying *c, const struct copy_site *s)
{
	enum copy_op op = s->op == COPY_STRING ? COPY_MOVE : s->op;	/* rb_enc_str_new() calls memcpy() */
	bool is_probed = false;

	for (size_t i = 0; i < c->lib.nr_routines; i++) {
		const struct libcopy_routine *r = &c->lib.routines[i];

		if (routine_op(r) != op)
			continue;
		if (!is_sparing(r))
			return false;
		is_probed = true;
	}
	return is_probed;
}

static unsigned int end_flag(const struct copying *c, const struct copy_site *s, bool has_large)
{
	if (has_large && ends_below(c, s))
		return COPY_ENDS_BELOW;
	return is_untimed(s) ? COPY_UNTIMED : 0;
}

/* A call in tail position returns to the caller's caller: a return probe at the jump takes that. */
static void place_buffer(struct copying *c, struct tracer *t, const struct ruby *r, bool has_large)
{
	const char *path = r->object.open_path;
	struct batch enter = { .n = 0 }, leave = { .n = 0 }, tail = { .n = 0 };

	for (size_t i = 0; i < c->buffer.nr; i++) {
		const struct copy_site *s = &c->buffer.sites[i];
		unsigned int end = end_flag(c, s, has_large);

		batch_add(&enter, s->call_offset,
			  COPY_COOKIE(insn_reg_slot(s->len_reg), s->op << COPY_OP_SHIFT | end));
		if (end)
			continue;
		if (s->is_tail)
			batch_add(&tail, s->call_offset, 0);
		else
			batch_add(&leave, s->after_offset, 0);
	}
	if (leave.n)
		tracer_probe(t, &c->leave, PROGRAM_COPY_LEAVE, UPROBE_AT, r->proc.pid, path, leave.offsets,
			     leave.cookies, leave.n, &c->why_buffer);
	if (tail.n)
		tracer_probe(t, &c->tail, PROGRAM_COPY_LEAVE, UPROBE_RETURN, r->proc.pid, path, tail.offsets,
			     tail.cookies, tail.n, &c->why_buffer);
	if (tracer_probe(t, &c->enter, PROGRAM_COPY_ENTER, UPROBE_AT, r->proc.pid, path, enter.offsets,
			 enter.cookies, enter.n, &c->why_buffer))
		c->has_buffer = false;
}

/* True if it did. The return address is still on the top of the stack in the branch for large sizes. */
static bool place_large(struct copying *c, struct tracer *t, const struct ruby *r)
{
	const char *path = c->lib.object.open_path;
	struct batch b = { .n = 0 };

	for (size_t i = 0; i < c->lib.nr_routines; i++) {
		const struct libcopy_routine *routine = &c->lib.routines[i];

		if (!is_sparing(routine))
			continue;
		for (size_t k = 0; k < routine->nr_places; k++)
			batch_add(&b, routine->places[k].offset,
				  COPY_COOKIE(insn_reg_slot(routine->places[k].size_reg),
					      routine_op(routine) << COPY_OP_SHIFT));
	}
	return b.n &&
	       !tracer_probe(t, &c->large_return, PROGRAM_LARGE_LEAVE, UPROBE_RETURN, r->proc.pid, path,
			     b.offsets, b.cookies, b.n, &c->why_lib) &&
	       !tracer_probe(t, &c->large, PROGRAM_LARGE_ENTER, UPROBE_AT, r->proc.pid, path, b.offsets,
			     b.cookies, b.n, &c->why_lib);
}

void copying_place(struct copying *c, struct tracer *t, const struct ruby *r, bool all)
{
	bool has_large = all && c->has_places && place_large(c, t, r);

	if (c->has_buffer)
		place_buffer(c, t, r, has_large);
	tracer_tick(t, &c->why_lib);
}

void copying_remove(struct copying *c)
{
	uprobes_detach(&c->enter);
	uprobes_detach(&c->leave);
	uprobes_detach(&c->tail);
	uprobes_detach(&c->large);
	uprobes_detach(&c->large_return);
}
