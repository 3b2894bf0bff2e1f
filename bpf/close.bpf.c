// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Follows IO#close: the scan for threads that wait for the descriptor. (The close(2) that ends it is
 * seen in call.bpf.c.) Up to 3.4 the VM has one list of waiters, with a node {list_node, thread, fd} on
 * each one's stack, and the scan moves those of the descriptor to a list of its own; from 4.0 each IO has
 * one, of {list_node, ec}. The task that scans holds the lock, so the lists keep still.
 */
#include "bpf/target.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct { MAP(BPF_MAP_TYPE_ARRAY, __u32, struct walk_due, MAX_TARGETS); } walks SEC(".maps");

/* A walk over a list of waiters. Scalars only: it is passed through bpf_loop(). */
struct walk {
	__u64 head, at;
	__u64 sum;		/* of the threads' addresses */
	__u64 self;		/* the IO that is closed, if that is known; for MATCHED */
	struct rec_foreign like;	/* what the nodes' records have in common */
	struct close_layout l;
	__s32 fd;		/* only nodes that wait for it are told; -1: all */
	__u32 count, told;
	__u16 target;
	__u8 kind;		/* of the record for each node, 0: none */
	bool is_broken;
	bool has_fibers;	/* a thread has several nodes */
	__u64 last;		/* thread of the node before */
};

enum {
	T_FILE = 0x0b, T_MASK = 0x1f,	/* ruby_value_type, include/ruby/internal/value_type.h */
	FMODE_EXTERNAL = 0x10000,	/* include/ruby/io.h; FMODE_PREP up to 3.2 */
	FRAMES_MAX = 4,			/* looked at for one that runs Ruby code */
};

/* True for a reference to an IO. Not for immediate values (internal/special_consts.h). */
static __always_inline bool is_io(__u64 value)
{
	int err = 0;

	return value > 8 && !(value & 7) && (user_u64(value, &err) & T_MASK) == T_FILE && !err;
}

static __always_inline __u64 top_frame(const struct walk *w, __u64 ec)
{
	int err = 0;

	return ec ? user_u64(ec + w->l.ec_cfp, &err) : 0;
}

/* The first frame from @cfp on that runs Ruby code: callers are at higher addresses (vm_core.h). */
static __always_inline void find_place(const struct walk *w, __u64 cfp, __u64 *iseq, __u64 *pc)
{
	int err = 0;

	for (int i = 0; i < FRAMES_MAX; i++) {
		*iseq = user_u64(cfp + w->l.cfp_iseq, &err);
		*pc = user_u64(cfp + w->l.cfp_pc, &err);
		if (err || (*iseq && *pc))
			return;
		cfp += w->l.cfp_size;
	}
}

/* Tells of a waiter that is interrupted although it waits in another IO object. */
static __noinline void tell_foreign(struct walk *w, __u64 thread, __u64 cfp)
{
	struct rec_foreign *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (!r) {
		stat_inc(STAT_LOST_RING);
		return;
	}
	*r = w->like;
	r->rec.kind = EVENT_FOREIGN;
	r->rec.thread = thread;
	find_place(w, cfp, &r->waiter_iseq, &r->waiter_pc);
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);	/* its lines can be read while it lives */
}

static __always_inline void tell_node(struct walk *w, __u64 thread, __u64 ec)
{
	struct rec *r = rec_reserve(w->target, w->kind);
	__u64 cfp, self;
	int err = 0;

	if (r) {
		r->thread = thread;
		r->tid = w->like.rec.tid;
		r->lock = w->like.rec.lock;
		r->fd = w->like.rec.fd;
		r->nr = w->count;
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	if (w->kind != EVENT_MATCHED || !w->self)
		return;
	cfp = top_frame(w, ec ? ec : user_u64(thread + w->l.thread_ec, &err));
	self = cfp ? user_u64(cfp + w->l.cfp_self, &err) : 0;
	if (self != w->self && is_io(self))
		tell_foreign(w, thread, cfp);
}

static long walk_step(__u32 i, struct walk *w)
{
	__u64 waiter = w->at - w->l.waiter_node, thread, ec = 0;
	int err = 0;

	(void)i;
	if (w->at == w->head)
		return 1;
	if (w->l.waiter_ec >= 0) {
		ec = user_u64(waiter + w->l.waiter_ec, &err);
		thread = ec ? user_u64(ec + w->l.ec_thread, &err) : 0;
	} else {
		thread = user_u64(waiter + w->l.waiter_thread, &err);
	}
	w->at = user_u64(w->at, &err);
	if (err) {
		w->is_broken = true;
		return 1;
	}
	w->sum += thread;
	w->has_fibers |= thread == w->last;
	w->last = thread;
	if (w->kind && (w->fd < 0 || (__s32)user_u32(waiter + w->l.waiter_fd, &err) == w->fd)) {
		tell_node(w, thread, ec);
		w->told++;
	}
	w->count++;
	return 0;
}

/* Visits the nodes of the list_head at @head. False if it is not told what there is. */
static __always_inline bool walk(struct walk *w, __u64 head)
{
	__u64 start = bpf_ktime_get_ns();
	int err = 0;

	w->head = head;
	w->at = user_u64(head, &err);
	if (err)
		return false;
	bpf_loop(MAX_WALK, walk_step, w, 0);
	stat_add(STAT_WALKED, w->count);
	stat_add(STAT_WALK_NS, bpf_ktime_get_ns() - start);
	if (w->is_broken || w->at != w->head) {
		stat_inc(STAT_TRUNCATED_WALK);
		return false;
	}
	return true;
}

static __always_inline void walk_init(struct walk *w, const struct target_cfg *t, __u32 tid,
				      const struct task_state *s, __u8 kind)
{
	w->target = t->id;
	w->kind = kind;
	w->fd = -1;
	w->l = t->close;
	rec_init(&w->like.rec, t->id, 0);
	w->like.rec.tid = tid;
	lock_of(t, s, &w->like.rec.lock);
}

/* The frame of the thread that @tid runs with the lock; 0 where it cannot be told. */
static __always_inline __u64 own_frame(const struct target_cfg *t, __u32 tgid, __u32 tid,
				       const struct task_state *s)
{
	__u16 id;
	struct lock_state *l = lock_of(t, s, &id);
	int err = 0;
	__u64 ec;

	if (!is_owner(t, l, tgid, tid) || !l->owner || l->owner == OWNER_UNKNOWN)
		return 0;
	ec = user_u64(l->owner + t->close.thread_ec, &err);
	return err ? 0 : user_u64(ec + t->close.ec_cfp, &err);
}

/* Where the scanning thread itself is: the IO that it closes is the receiver of its topmost frame. */
static __always_inline void find_closer(struct walk *w, __u64 cfp)
{
	int err = 0;
	__u64 self;

	if (!cfp)
		return;
	self = user_u64(cfp + w->l.cfp_self, &err);
	w->self = !err && is_io(self) ? self : 0;
	find_place(w, cfp, &w->like.closer_iseq, &w->like.closer_pc);
}

/* A walk over the VM's list, if one is due; it is long, and the lock is held. */
static __always_inline void walk_all(const struct target_cfg *t, struct close_state *c, __u32 tid,
				     const struct task_state *s)
{
	__u32 id = t->id;
	struct walk_due *due = bpf_map_lookup_elem(&walks, &id);
	struct walk w = { 0 };
	__u64 start = bpf_ktime_get_ns(), end;

	if (due && due->always)
		c->flags |= SCAN_SHARED;
	if (!due || (!due->base && !(c->flags & SCAN_SHARED) && start < due->next_ns))
		return;
	walk_init(&w, t, tid, s, due->base ? EVENT_LISTED : 0);
	c->flags |= SCAN_WALKED | (due->base ? SCAN_BASE : 0);
	if (!walk(&w, t->waiters))
		c->flags |= SCAN_TRUNCATED;
	c->count = w.count;
	c->sum = w.sum;
	due->always |= w.has_fibers;
	c->flags |= due->always ? SCAN_SHARED : 0;
	due->base = 0;
	end = bpf_ktime_get_ns();
	due->next_ns = end + (end - start) * t->walk_share;
}

/* The waiters that a scan interrupts: those on the list @head that wait for @fd, -1: all. */
static __always_inline void walk_matched(const struct target_cfg *t, struct close_state *c, __u32 tid,
					 const struct task_state *s, __u64 head, __s32 fd)
{
	struct walk w = { 0 };

	walk_init(&w, t, tid, s, EVENT_MATCHED);
	w.like.rec.fd = c->fd;
	w.fd = fd;
	find_closer(&w, c->frame);
	if (!walk(&w, head))
		c->flags |= SCAN_TRUNCATED;
	c->matched = w.told;
}

static __always_inline void tell_scan(const struct target_cfg *t, struct close_state *c, __u32 tid,
				      const struct task_state *s, __u64 end_ns)
{
	struct rec *r = rec_reserve(t->id, EVENT_SCAN);
	__u64 start = c->start_ns;

	c->start_ns = 0;
	if (!r)
		return;
	r->ts_ns = end_ns;
	r->tid = tid;
	lock_of(t, s, &r->lock);
	r->flags = c->flags;
	r->thread = c->sum;
	r->fd = c->fd;
	r->count = c->count;
	r->nr = c->matched;
	r->dur_ns = c->flags & SCAN_UNTIMED ? 0 : end_ns - start;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* From 4.0: looks into the IO itself. Where there is nothing to scan, that takes no time. */
static __always_inline void enter_io(const struct target_cfg *t, struct close_state *c, __u64 io,
				     __u32 tid, const struct task_state *s, int *err)
{
	__u64 closing_ec = user_u64(io + t->close.io_closing_ec, err);
	__u64 fork_gen = user_u64(io + t->close.io_fork_gen, err);

	c->flags |= SCAN_PER_IO | SCAN_WALKED | SCAN_UNTIMED;
	c->fd = user_u32(io + t->close.io_fd, err);
	/* another one is closing it, or the list is from before a fork: as the scan itself decides */
	if (closing_ec || fork_gen != user_u64(t->vm_fork_gen, err) || *err)
		return;
	walk_matched(t, c, tid, s, io + t->close.io_waiters, -1);
	c->count = c->matched;
	if (c->count)
		c->flags &= ~SCAN_UNTIMED;
}

static __always_inline const struct target_cfg *closing_target(__u32 tgid)
{
	const struct target_cfg *t = bpf_map_lookup_elem(&targets, &tgid);

	return t && t->flags & TARGET_CLOSE && t->source != SOURCE_NONE ? t : NULL;
}

/* The struct rb_io of the IO whose method runs in the frame at @cfp; 0 if it is none. */
static __always_inline __u64 io_of_frame(const struct target_cfg *t, __u64 cfp)
{
	int err = 0;
	__u64 self = cfp ? user_u64(cfp + t->close.cfp_self, &err) : 0;

	return is_io(self) ? user_u64(self + t->close.file_io, &err) : 0;
}

/* True for one whose descriptor is not its own (autoclose: false): closing it does not close that. */
static __always_inline bool is_external(const struct target_cfg *t, __u64 io)
{
	int err = 0;

	return io && user_u32(io + t->close.io_mode, &err) & FMODE_EXTERNAL && !err;
}

/* The scan begins; the cookie says which register has its argument: a descriptor or a struct rb_io. */
SEC("uprobe")
int scan_enter(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), arg, from;
	struct task_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	const struct target_cfg *t = closing_target(key.tgid);
	struct close_state c = { 0 };
	struct task_state *s;
	bool is_parallel;
	int err = 0;

	if (!t)
		return 0;
	stat_inc(STAT_HIT_SCAN);
	key.tid = current_tid(t);
	s = task_state(key.tgid, key.tid, 1);
	arg = reg(ctx, SCAN_ARG(cookie), &err);
	from = user_u64(PT_REGS_SP(ctx) + SCAN_SHIFT(cookie), &err);
	c.frame = own_frame(t, key.tgid, key.tid, s);
	if ((from >= t->alone_start && from < t->alone_end) ||
	    is_external(t, t->waiters ? io_of_frame(t, c.frame) : arg))
		c.flags |= SCAN_ALONE;
	if (t->waiters) {
		c.fd = arg;
		c.busy = reg(ctx, SCAN_LIST(cookie), &err);
		/* those of other Ractors do not wait for this lock: they may be gone when it returns */
		if (user_u32(t->vm_ractor_count, &err) > 1)
			c.flags |= SCAN_SHARED;
		is_parallel = c.flags & SCAN_SHARED;
		walk_all(t, &c, key.tid, s);
		c.is_told = is_parallel;
		if (is_parallel)
			walk_matched(t, &c, key.tid, s, t->waiters, c.fd);
	} else {
		enter_io(t, &c, arg, key.tid, s, &err);
	}
	if (err) {
		stat_inc(STAT_LOST_CLOSE);
		return 0;
	}
	c.start_ns = bpf_ktime_get_ns();
	if (c.flags & SCAN_UNTIMED)
		tell_scan(t, &c, key.tid, s, c.start_ns);
	if (bpf_map_update_elem(&closes, &key, &c, BPF_ANY))
		stat_inc(STAT_LOST_CLOSE);
	return 0;
}

/* It has ended: on return (up to 3.4), or back in its caller (from 4.0, where it may change stacks). */
SEC("uprobe")
int scan_leave(struct pt_regs *ctx)
{
	struct task_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	const struct target_cfg *t = closing_target(key.tgid);
	__u64 now = bpf_ktime_get_ns();
	struct close_state *c;
	struct task_state *s;
	int err = 0;

	if (!t)
		return 0;
	stat_inc(STAT_HIT_SCAN);
	key.tid = current_tid(t);
	c = bpf_map_lookup_elem(&closes, &key);
	if (!c || !c->start_ns)
		return 0;
	s = task_state(key.tgid, key.tid, 1);
	if (t->waiters && !c->is_told && user_u64(c->busy, &err) != c->busy)
		walk_matched(t, c, key.tid, s, c->busy, -1);
	tell_scan(t, c, key.tid, s, now);
	return 0;
}
