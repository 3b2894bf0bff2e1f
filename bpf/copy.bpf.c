// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Copies of memory: IO::Buffer's where it calls the C library for them, other large ones in the branch of
 * the library's routine that only they take, and by clock ticks all that are made with the lock held.
 * Small copies are only tallied.
 */
#include "bpf/target.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct { MAP(BPF_MAP_TYPE_HASH, struct tally_key, struct tally, MAX_TALLIES); } tallies SEC(".maps");

enum {
	ENV_METHOD = -2 * 8,			/* vm_core.h: VM_ENV_DATA_INDEX_ME_CREF, */
	FRAME_MAGIC_MASK = 0x7fff0001,		/* VM_FRAME_MAGIC_MASK, */
	FRAME_MAGIC_CFUNC = 0x55550001,		/* VM_FRAME_MAGIC_CFUNC (3.0 to 4.0) */
};

/* The running task, with the lock that it is known to have to do with. */
struct self {
	const struct target_cfg *t;
	struct task_state *s;
	struct task_key key;
	__u64 thread;		/* rb_thread_t, 0: not known */
	bool is_owner;
};

static __always_inline bool find_self(struct self *me)
{
	struct lock_state *l;
	__u16 lock;

	me->key.tgid = bpf_get_current_pid_tgid() >> 32;
	me->t = bpf_map_lookup_elem(&targets, &me->key.tgid);
	if (!me->t || me->t->source == SOURCE_NONE || !(me->t->flags & TARGET_COPY))
		return false;
	me->key.tid = current_tid(me->t);
	me->s = bpf_map_lookup_elem(&tasks, &me->key);
	if (!me->s)
		return false;
	l = lock_of(me->t, me->s, &lock);
	me->is_owner = is_owner(me->t, l, me->key.tgid, me->key.tid);
	me->thread = me->is_owner ? l->owner : me->s->thread;
	return true;
}

/* The C function of the method that the topmost frame runs; 0 if that is no C function's frame. */
static __always_inline __u64 method_function(const struct self *me)
{
	const struct target_cfg *t = me->t;
	int err = 0;
	__u64 cfp, ep, method;

	if (!me->thread)
		return 0;
	cfp = user_u64(user_u64(me->thread + t->close.thread_ec, &err) + t->close.ec_cfp, &err);
	ep = user_u64(cfp + t->cfp_ep, &err);
	if (err || (user_u32(ep, &err) & FRAME_MAGIC_MASK) != FRAME_MAGIC_CFUNC)
		return 0;
	method = user_u64(ep + ENV_METHOD, &err);
	method = user_u64(user_u64(method + t->method_def, &err) + t->def_function, &err);
	return err ? 0 : method;
}

static __always_inline void tally_add(const struct tally_key *key, __u64 bytes)
{
	struct tally *have = bpf_map_lookup_elem(&tallies, key), fresh = { 1, bytes };

	if (have) {
		__sync_fetch_and_add(&have->count, 1);
		__sync_fetch_and_add(&have->bytes, bytes);
	} else if (bpf_map_update_elem(&tallies, key, &fresh, BPF_NOEXIST)) {
		stat_inc(STAT_LOST_COPY);
	}
}

/* Sizes from 2^(n - 1) up to 2^n are in slot n, 0 is in slot 0. */
static __always_inline __u8 size_slot(__u64 bytes)
{
	__u8 slot = 0;

	for (int i = 0; i < 64 && bytes; i++) {
		bytes >>= 1;
		slot++;
	}
	return slot;
}

static __always_inline void copy_tell(const struct self *me, const struct copy_state *c, __u64 dur_ns)
{
	struct rec *r = rec_reserve(me->t->id, EVENT_COPY);

	if (!r)
		return;
	r->thread = c->function;
	r->tid = me->key.tid;
	lock_of(me->t, me->s, &r->lock);
	r->flags = c->flags & ~COPY_ENDS_BELOW;
	r->dur_ns = dur_ns;
	r->fd = bpf_get_smp_processor_id() + 1;
	r->count = c->bytes;
	r->nr = c->bytes >> 32;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* The last copy went another way than the library's branch for large ones, in which its end was awaited. */
static __always_inline void copy_give_up(const struct self *me)
{
	struct copy_state *c = bpf_map_lookup_elem(&copies, &me->key);

	if (!c || !(c->flags & COPY_ENDS_BELOW))
		return;
	c->flags |= COPY_UNTIMED;
	copy_tell(me, c, 0);
	bpf_map_delete_elem(&copies, &me->key);
}

static __always_inline void copy_begin(const struct self *me, __u64 bytes, __u8 flags)
{
	struct copy_state c = { .bytes = bytes, .function = method_function(me) };

	c.flags = flags | (me->is_owner ? COPY_HELD : 0);
	if (bytes < me->t->copy_min) {
		struct tally_key key = {
			.function = c.function, .target = me->t->id, .kind = TALLY_COPY,
			.flags = c.flags & ~(COPY_UNTIMED | COPY_ENDS_BELOW), .slot = size_slot(bytes),
		};

		tally_add(&key, bytes);
		return;
	}
	copy_give_up(me);
	if (flags & COPY_UNTIMED) {
		copy_tell(me, &c, 0);
		return;
	}
	c.start_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&copies, &me->key, &c, BPF_ANY))
		stat_inc(STAT_LOST_COPY);
}

static __always_inline bool ends_in_library(const struct copy_state *c)
{
	return !(c->flags & COPY_BUFFER) || c->flags & COPY_ENDS_BELOW;
}

static __always_inline int copy_end(const struct self *me, bool in_library)
{
	struct copy_state *c = bpf_map_lookup_elem(&copies, &me->key);

	if (!c || ends_in_library(c) != in_library)
		return 0;
	copy_tell(me, c, bpf_ktime_get_ns() - c->start_ns);
	bpf_map_delete_elem(&copies, &me->key);
	return 0;
}

/* A probe on a copy was hit; its cookie says where the number of bytes is. */
static __always_inline bool find_copy(struct self *me, struct pt_regs *ctx, __u64 cookie, __u64 *bytes)
{
	int err = 0;

	if (!find_self(me))
		return false;
	stat_inc(STAT_HIT_COPY);
	*bytes = reg(ctx, COPY_LEN(cookie), &err);
	return !err;
}

/* IO::Buffer is about to call for a copy. */
SEC("uprobe")
int copy_enter(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), bytes;
	struct self me = { 0 };

	if (find_copy(&me, ctx, cookie, &bytes))
		copy_begin(&me, bytes, COPY_FLAGS(cookie) | COPY_BUFFER);
	return 0;
}

SEC("uprobe")
int copy_leave(struct pt_regs *ctx)
{
	struct self me = { 0 };

	if (!find_self(&me))
		return 0;
	stat_inc(STAT_HIT_COPY);
	return copy_end(&me, false);
}

/* IO::Buffer called for this one, and that is where it began. */
static __always_inline bool has_begun(const struct self *me, __u64 bytes)
{
	const struct copy_state *c = bpf_map_lookup_elem(&copies, &me->key);

	if (!c || !(c->flags & COPY_ENDS_BELOW))
		return c;
	return c->bytes == bytes && c->function == method_function(me);
}

/* The branch for large sizes in the C library's routine. */
SEC("uprobe")
int large_enter(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), bytes;
	struct self me = { 0 };

	if (find_copy(&me, ctx, cookie, &bytes) && bytes >= me.t->copy_min && !has_begun(&me, bytes))
		copy_begin(&me, bytes, COPY_FLAGS(cookie));
	return 0;
}

SEC("uprobe")
int large_leave(struct pt_regs *ctx)
{
	struct self me = { 0 };

	return find_self(&me) ? copy_end(&me, true) : 0;
}

static __always_inline bool is_in_copy(const struct target_cfg *t, __u64 ip)
{
	for (int i = 0; i < COPY_ROUTINES; i++)
		if (ip >= t->routines[i].start && ip < t->routines[i].end)
			return true;
	return false;
}

/* The clock ticks on each CPU: is the lock's owner copying? */
SEC("perf_event")
int tick(struct bpf_perf_event_data *ctx)
{
	struct tally_key key = { .kind = TALLY_TICK };
	struct self me = { 0 };
	struct pt_regs *regs;

	if (!find_self(&me) || !me.is_owner)
		return 0;
	key.target = me.t->id;
	tally_add(&key, 0);
	/* where its own code is, were it in the kernel just now (a page fault) */
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (!is_in_copy(me.t, PT_REGS_IP_CORE(regs)))
		return 0;
	key.kind = TALLY_TICK_COPY;
	key.function = method_function(&me);
	tally_add(&key, 0);
	return 0;
}
