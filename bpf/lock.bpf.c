// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Follows the owner and the ready queue of Ruby's locks through the words that name them. */
#include "bpf/target.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct { MAP(BPF_MAP_TYPE_HASH, struct lock_key, __u32, MAX_LOCKS); } lock_ids SEC(".maps");
struct { MAP(BPF_MAP_TYPE_HASH, struct writer_key, __u64, MAX_WRITERS); } writers SEC(".maps");
struct { MAP(BPF_MAP_TYPE_ARRAY, __u32, struct site_count, MAX_SITES); } site_counts SEC(".maps");

__u32 nr_locks;			/* entries of locks in use; user space adds, so do the programs */

/* A lock word that nobody knew: a Ractor was born. The first event of it is this one. */
static __noinline __u32 lock_add(__u64 addr, __u32 tgid, __u16 target)
{
	struct lock_key key = { .addr = addr, .tgid = tgid };
	__u32 id = __sync_fetch_and_add(&nr_locks, 1);
	struct lock_state *l = bpf_map_lookup_elem(&locks, &id);

	if (!l) {
		stat_inc(STAT_LOST_LOCK);
		return MAX_LOCKS;
	}
	*l = (struct lock_state){
		.addr = addr, .owner = OWNER_UNKNOWN, .tgid = tgid, .target = target,
	};
	if (bpf_map_update_elem(&lock_ids, &key, &id, BPF_NOEXIST))
		return MAX_LOCKS;	/* another task was first; the next event finds it */
	return id;
}

/*
 * True if @addr is the owner word of a Ractor: its new owner belongs to just that Ractor. (A word
 * set to "nobody" proves nothing; the next owner will.)
 */
static __always_inline bool is_ractor_lock(const struct target_cfg *t, __u64 addr, __u64 owner)
{
	int err = 0;
	__u64 ractor = owner ? user_u64(owner + t->thread_ractor, &err) : 0;

	return !err && ractor && ractor + t->ractor_owner == addr;
}

struct hit {
	const struct target_cfg *t;
	struct lock_state *l;
	__u32 lock;
	__u32 tgid;
	__u32 tid;
	struct task_state *self;	/* of the task that runs; may be NULL */
	__u64 value;		/* of the word, new */
};

static __always_inline void lock_emit(const struct hit *h, __u8 kind, __u64 thread, __u8 flags)
{
	struct rec *r;

	h->l->seq++;		/* a lost record shows as a step in seq */
	r = rec_reserve(h->t->id, kind);
	if (!r)
		return;
	r->thread = thread;
	r->seq = h->l->seq;
	r->tid = h->tid;
	r->lock = h->lock;
	r->flags = flags;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/*
 * Notes the new owner's task, so that the scheduler's program knows whose switches matter. Returns
 * flags for EVENT_OWNER.
 */
static __always_inline __u8 owner_comes(const struct hit *h, __u64 owner)
{
	struct task_state *s = h->self;
	__u32 tid = 0;

	if (owner)
		tid = h->t->flags & TARGET_SELF_OWNER ? h->tid : thread_tid(h->t, owner);
	/* atomic, thus ordered before reading on_cpu; task_switched() does it the other way round */
	__sync_lock_test_and_set(&h->l->owner_tid, tid);
	if (!tid)
		return owner ? EVENT_OWNER_NO_TASK : 0;
	if (tid != h->tid)
		s = task_state(h->tgid, tid, 0);
	if (!s)
		return EVENT_OWNER_OFF_CPU;
	s->lock = h->lock + 1;
	s->thread = owner;
	if (tid != h->tid)
		return s->on_cpu ? 0 : EVENT_OWNER_OFF_CPU;
	s->on_cpu = 1;
	s->region = 0;
	return 0;
}

static __always_inline void word_lost(const struct hit *h)
{
	h->l->seq++;
	stat_inc(STAT_LOST_READ);
}

static __always_inline void cpu_emit(const struct target_cfg *t, __u8 kind, __u32 lock, __u32 tid,
				     __u8 flags, __u64 ago_ns)
{
	struct rec *r = rec_reserve(t->id, kind);

	if (!r)
		return;
	r->ts_ns -= ago_ns;
	r->tid = tid;
	r->lock = lock;
	r->flags = flags;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/*
 * The owner runs although it was not seen to get a CPU: not every switch is told (seen on 6.18, back
 * from some tasks of the machine's own). Its CPU time says since when.
 */
static __always_inline void cpu_catch_up(const struct target_cfg *t, struct task_state *s, __u32 tid,
					 __u64 ran_ns)
{
	if (s->ran_ns)
		cpu_emit(t, EVENT_ON_CPU, s->lock - 1, tid, 0, ran_ns - s->ran_ns);
}

/*
 * True if a waiter at @node on the VM's list is @thread's. One that was taken out stays in memory for a
 * while, but its neighbour does not name it any more.
 */
static __always_inline bool is_listed(const struct target_cfg *t, __u64 node, __u64 thread)
{
	__u64 waiter = node - t->close.waiter_node;
	int err = 0;
	__u64 next;

	if (user_u64(waiter + t->close.waiter_thread, &err) != thread || err)
		return false;
	/* from 3.3 on it says when a close has moved it to a list of its own */
	if (t->close.waiter_busy >= 0 && user_u64(waiter + t->close.waiter_busy, &err))
		return false;
	next = user_u64(node, &err);
	return user_u64(next + 8, &err) == node && !err;
}

/* Whoever goes to wait for a descriptor enters the list at its head, then releases the lock. */
static __always_inline __u8 find_on_list(const struct hit *h, __u64 thread)
{
	int err = 0;
	__u64 first = user_u64(h->t->waiters, &err);

	if (err || first == h->t->waiters)
		return 0;
	if (is_listed(h->t, first, thread))
		h->self->waiter = first;
	else if (!h->self->waiter || !is_listed(h->t, h->self->waiter, thread))
		h->self->waiter = 0;
	return h->self->waiter ? EVENT_ON_LIST : 0;
}

/* What the last owner, which writes who comes after it, goes on to do. Returns flags for EVENT_OWNER. */
static __always_inline __u8 owner_leaves(const struct hit *h)
{
	__u64 thread = h->l->owner;
	struct task_state *s = h->self;
	__u8 flags = 0;
	int err = 0;

	if (!s || !thread || thread == OWNER_UNKNOWN)
		return 0;
	/* when it became the owner its task may not have been known yet */
	s->lock = h->lock + 1;
	s->thread = thread;
	if (h->l->owner_tid == h->tid && !s->on_cpu) {
		s->on_cpu = 1;
		cpu_catch_up(h->t, s, h->tid,
			     BPF_CORE_READ(bpf_get_current_task_btf(), se.sum_exec_runtime));
	}
	if (h->t->flags & TARGET_BLOCK) {
		/* STOPPED or STOPPED_FOREVER: vm_core.h, enum rb_thread_status */
		__u32 status = user_u8(thread + h->t->thread_status, &err) & 3;

		s->told = 0;
		s->region = status == 1 || status == 2 ? thread : 0;
		flags |= s->region ? EVENT_RELEASED : 0;
	}
	if (h->t->flags & TARGET_CLOSE)
		flags |= find_on_list(h, thread);
	return flags;
}

static __always_inline void owner_written(const struct hit *h)
{
	__u64 head = h->l->addr + h->t->queue;
	int err = 0;
	__u64 first = user_u64(head, &err);
	__u8 flags = first == head ? EVENT_QUEUE_EMPTY : 0;

	if (err) {
		word_lost(h);
		return;
	}
	if (h->value == h->l->owner) {
		h->l->same += !h->l->from_memory;
		h->l->from_memory = 0;
		return;
	}
	h->l->from_memory = 0;
	flags |= owner_leaves(h);
	flags |= owner_comes(h, h->value);
	h->l->owner = h->value;
	lock_emit(h, EVENT_OWNER, h->value, flags);
}

static __always_inline void word_written(struct hit *h, __u32 word)
{
	h->tid = current_tid(h->t);
	h->self = task_state(h->tgid, h->tid, 1);
	if (word == WORD_OWNER) {
		owner_written(h);
		return;
	}
	if (h->value == h->l->addr + h->t->queue)
		return;		/* the last one left the queue */
	h->value -= h->t->thread_queue_node;
	if (h->self && h->self->region == h->value)
		h->self->region = 0;
	lock_emit(h, EVENT_QUEUE, h->value, 0);
}

static __always_inline bool find_lock(struct hit *h, const struct lock_key *key)
{
	__u32 *id;

	h->lock = h->t->lock;
	if (key->addr == h->t->lock_addr)
		return true;
	id = bpf_map_lookup_elem(&lock_ids, key);
	if (id)
		h->lock = *id;
	return id;
}

static __always_inline __u64 site_value(void *ctx, __u64 cookie, __u64 addr, int *err)
{
	switch (SITE_VALUE(cookie)) {
	case SITE_VALUE_MEMORY:
		return user_u64(addr, err);
	case SITE_VALUE_ZERO:
		return 0;
	default:
		return reg(ctx, SITE_VALUE(cookie), err);
	}
}

/*
 * An instruction that may write a lock's word has just run or is about to; the cookie says where it
 * writes. Other lists and structures have the same shape: only a known lock's address counts, or,
 * for an owner word, one in a Ractor whose new owner says so.
 */
SEC("uprobe")
int site_hit(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 site = SITE_NUMBER(cookie), word = SITE_WORD(cookie);
	struct hit h = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	struct lock_key key = { .tgid = h.tgid };
	struct site_count *count;
	bool known;
	__u64 addr;
	int err = 0;

	h.t = bpf_map_lookup_elem(&targets, &h.tgid);
	count = bpf_map_lookup_elem(&site_counts, &site);
	if (!h.t || !count)
		return 0;
	__sync_fetch_and_add(&count->hits, 1);
	if (h.t->source != SOURCE_SITES || h.t->generation != SITE_GENERATION(cookie))
		return 0;
	addr = reg(ctx, SITE_BASE(cookie), &err) + SITE_DISP(cookie);
	key.addr = word == WORD_QUEUE ? addr - h.t->queue - 8 : addr;
	known = find_lock(&h, &key);
	if (!known && word == WORD_QUEUE) {
		count->misses++;
		return 0;
	}
	h.value = site_value(ctx, cookie, addr, &err);
	if (!known) {
		if (!is_ractor_lock(h.t, addr, h.value)) {
			count->misses++;
			return 0;
		}
		h.lock = lock_add(addr, h.tgid, h.t->id);
	}
	h.l = bpf_map_lookup_elem(&locks, &h.lock);
	if (!h.l)
		return 0;
	if (!count->matched)
		count->matched = 1;
	if (err)
		word_lost(&h);
	else
		word_written(&h, word);
	return 0;
}

/* The first instruction of a command's main program is next: hold it there (SIGSTOP is 19). */
SEC("uprobe")
int hold(struct pt_regs *ctx)
{
	bpf_send_signal(19);
	return 0;
}

/* A hardware watchpoint on a lock's word fired; the cookie says which word it is. */
SEC("perf_event")
int watch_hit(struct bpf_perf_event_data *ctx)
{
	struct hit h = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	struct writer_key writer = { .tgid = h.tgid, .word = bpf_get_attach_cookie(ctx) };
	struct lock_key key = { .tgid = h.tgid, .addr = ctx->addr };
	__u64 one = 1, *count;
	int err = 0;

	h.t = bpf_map_lookup_elem(&targets, &h.tgid);
	if (!h.t)
		return 0;
	stat_inc(STAT_HIT_WATCH);
	if (writer.word == WORD_QUEUE)
		key.addr -= h.t->queue + 8;
	if (!find_lock(&h, &key))
		return 0;
	h.l = bpf_map_lookup_elem(&locks, &h.lock);
	if (!h.l)
		return 0;
	writer.ip = PT_REGS_IP(&ctx->regs);
	count = bpf_map_lookup_elem(&writers, &writer);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&writers, &writer, &one, BPF_NOEXIST);
	if (h.t->source != SOURCE_WATCH)
		return 0;
	h.value = user_u64(ctx->addr, &err);
	if (err)
		word_lost(&h);
	else
		word_written(&h, writer.word);
	return 0;
}

static __always_inline void task_switched(struct task_struct *task, __u8 kind, __u8 flags)
{
	__u32 tgid = BPF_CORE_READ(task, tgid), tid, lock;
	const struct target_cfg *t = bpf_map_lookup_elem(&targets, &tgid);
	__u64 ran_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	bool is_off = kind == EVENT_OFF_CPU, was_on, is_owner;
	struct lock_state *l;
	struct task_state *s;

	if (!t)
		return;
	tid = task_tid(t, task);
	s = task_state(tgid, tid, 0);
	if (!s)
		return;
	if (t->source != SOURCE_NONE)
		stat_inc(STAT_HIT_SWITCH);
	was_on = __sync_lock_test_and_set(&s->on_cpu, !is_off);	/* see owner_comes() */
	lock = s->lock - 1;
	l = bpf_map_lookup_elem(&locks, &lock);
	is_owner = l && l->owner_tid == tid && l->tgid == tgid && t->source != SOURCE_NONE;
	if (is_owner && is_off && !was_on)
		cpu_catch_up(t, s, tid, ran_ns);
	if (is_off)
		s->ran_ns = ran_ns;
	if (is_owner)
		cpu_emit(t, kind, lock, tid, flags, 0);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	/* TASK_RUNNING is 0 (include/linux/sched.h): it was taken off, it did not go to sleep */
	bool runnable = preempt || BPF_CORE_READ(prev, __state) == 0;

	task_switched(prev, EVENT_OFF_CPU, runnable ? EVENT_PREEMPTED : 0);
	task_switched(next, EVENT_ON_CPU, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sched_process_exit, struct task_struct *task)
{
	struct task_key key = { .tgid = BPF_CORE_READ(task, tgid) };
	const struct target_cfg *t = bpf_map_lookup_elem(&targets, &key.tgid);
	struct rec_exit *r;

	if (!t)
		return 0;
	key.tid = task_tid(t, task);
	bpf_map_delete_elem(&tasks, &key);
	bpf_map_delete_elem(&closes, &key);
	bpf_map_delete_elem(&copies, &key);
	r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);
	if (!r) {
		stat_inc(STAT_LOST_RING);
		return 0;
	}
	rec_init(&r->rec, t->id, EVENT_EXIT);
	r->rec.tid = key.tid;
	bpf_core_read_str(r->comm, sizeof(r->comm), &task->comm);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The words are no longer where they were: nothing of the new program may be read as a lock. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(sched_process_exec, struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct target_cfg *t = bpf_map_lookup_elem(&targets, &tgid);
	struct rec *r;

	if (!t)
		return 0;
	t->source = SOURCE_NONE;
	r = rec_reserve(t->id, EVENT_EXEC);
	if (!r)
		return 0;
	r->tid = task_tid(t, task);
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = BPF_CORE_READ(parent, tgid);
	const struct target_cfg *t = bpf_map_lookup_elem(&targets, &tgid);
	__u32 child_tgid = BPF_CORE_READ(child, tgid);
	struct rec *r;

	if (!t || !(t->flags & TARGET_FOLLOW) || child_tgid == tgid)
		return 0;
	r = rec_reserve(t->id, EVENT_FORK);
	if (!r)
		return 0;
	r->tid = task_tid(t, parent);
	r->thread = child_tgid;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
	return 0;
}
