// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/extras.h"

#include "probe/function.h"
#include "util/scope.h"

void extras_init(struct extras *x, const struct ruby *r, unsigned int measures, uint32_t copy_min)
{
	*x = (struct extras){
		.measures = measures, .is_set = true, .nogvl = UPROBES_NONE,
		.closing = { .enter = UPROBES_NONE, .leave = UPROBES_NONE }, .copying = COPYING_NONE,
	};
	if (r->layout.thread_status < 0)
		x->measures &= ~(MEASURE_BLOCK | MEASURE_FUNCTIONS);
	if (x->measures & MEASURE_CLOSE && r->has_object)
		closing_init(&x->closing, r);
	if (!x->closing.is_found)
		x->measures &= ~MEASURE_CLOSE;
	if (x->measures & MEASURE_COPY && r->has_object && r->layout.method_def >= 0)
		copying_init(&x->copying, r, copy_min);
	if (!x->copying.has_buffer && !x->copying.has_lib)
		x->measures &= ~(MEASURE_COPY | MEASURE_LARGE);
}

void extras_release(struct extras *x)
{
	if (!x->is_set)
		return;
	extras_stop(x);
	copying_release(&x->copying);
	x->is_set = false;
}

void extras_inherit(struct extras *x, const struct extras *parent)
{
	*x = *parent;
	x->nogvl = x->closing.enter = x->closing.leave = UPROBES_NONE;
	copying_inherit(&x->copying, &parent->copying);
}

void extras_configure(const struct extras *x, const struct ruby *r, struct target_cfg *cfg)
{
	cfg->thread_status = r->layout.thread_status;
	if (x->measures & MEASURE_BLOCK)
		cfg->flags |= TARGET_BLOCK;
	closing_configure(&x->closing, r, cfg);
	if (x->measures & MEASURE_COPY)
		copying_configure(&x->copying, r, cfg);
}

/* rb_nogvl() is exported by every Ruby from 2.7 on (include/ruby/thread.h). */
static void start_functions(struct extras *x, struct tracer *t, const struct ruby *r)
{
	const struct object *o = &r->object;
	struct held arg = held_begin(0, sizeof(void *));
	auto_release(function_release) struct function f = { 0 };
	struct place p;
	uint64_t vaddr, cookie;

	if (object_symbol(o, "rb_nogvl", &vaddr, NULL) || function_load(&f, o, vaddr) ||
	    function_entry(&p, &f, &arg))
		return;
	cookie = insn_reg_slot(p.reg);
	tracer_probe(t, &x->nogvl, PROGRAM_NOGVL, UPROBE_AT, r->proc.pid, o->open_path, &p.offset, &cookie,
		     1, NULL);
}

void extras_start(struct extras *x, struct tracer *t, uint16_t id, const struct ruby *r)
{
	if (x->measures & MEASURE_CLOSE) {
		tracer_want_waiters(t, id);
		if (closing_place(&x->closing, t, r->proc.pid, r, &x->closing.why)) {
			x->closing.is_found = false;
			x->measures &= ~MEASURE_CLOSE;
		}
	}
	if (x->measures & MEASURE_FUNCTIONS)
		start_functions(x, t, r);
	if (x->measures & MEASURE_COPY)
		copying_place(&x->copying, t, r, x->measures & MEASURE_LARGE);
}

void extras_stop(struct extras *x)
{
	if (!x->is_set)
		return;
	closing_remove(&x->closing);
	copying_remove(&x->copying);
	uprobes_detach(&x->nogvl);
}

const char *extras_close_method(const struct extras *x)
{
	if (x->measures & MEASURE_CLOSE)
		return closing_method(&x->closing);
	return x->closing.why.msg[0] ? x->closing.why.msg : "not measured";
}

const char *extras_copy_method(const struct extras *x)
{
	if (!(x->measures & MEASURE_COPY))
		return x->copying.why_buffer.msg[0] ? x->copying.why_buffer.msg : "not measured";
	if (!x->copying.has_buffer)
		return x->measures & MEASURE_LARGE && x->copying.has_places ? "large, samples" : "samples";
	return x->measures & MEASURE_LARGE && x->copying.has_places ? "buffer, large, samples" :
								      "buffer, samples";
}

const char *extras_block_method(const struct extras *x)
{
	return x->measures & MEASURE_BLOCK ? "calls" : "not measured";
}
