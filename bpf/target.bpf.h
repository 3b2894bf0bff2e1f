/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What all programs share: the targets, their tasks, records and statistics. */
#ifndef GVL_BPF_TARGET_BPF_H
#define GVL_BPF_TARGET_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi.h"
#include "user/event/kind.h"

#define MAP(kind, key_type, value_type, n) \
	__uint(type, kind); __type(key, key_type); __type(value, value_type); __uint(max_entries, n)
/* Each file of programs has them; the linker makes them one. */
#define SHARED_MAP SEC(".maps") __attribute__((weak))

struct { MAP(BPF_MAP_TYPE_HASH, __u32, struct target_cfg, MAX_TARGETS); } targets SHARED_MAP;
struct { MAP(BPF_MAP_TYPE_HASH, struct task_key, struct task_state, MAX_TASKS); } tasks SHARED_MAP;
struct { MAP(BPF_MAP_TYPE_HASH, struct task_key, struct close_state, MAX_CLOSES); } closes SHARED_MAP;
struct { MAP(BPF_MAP_TYPE_HASH, struct task_key, struct copy_state, MAX_COPIES); } copies SHARED_MAP;
struct { MAP(BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, STAT_COUNT); } stats SHARED_MAP;

struct {
	MAP(BPF_MAP_TYPE_ARRAY, __u32, struct lock_state, MAX_LOCKS);
	__uint(map_flags, BPF_F_MMAPABLE);
} locks SHARED_MAP;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} ring SHARED_MAP;

static __always_inline void stat_add(__u32 stat, __u64 n)
{
	__u64 *count = bpf_map_lookup_elem(&stats, &stat);

	if (count)
		*count += n;	/* per CPU; an interrupt in between would cost one count */
}

static __always_inline void stat_inc(__u32 stat)
{
	stat_add(stat, 1);
}

/* The task's id as it knows it itself: in its own, innermost pid namespace. */
static __always_inline __u32 task_tid(const struct target_cfg *t, struct task_struct *task)
{
	struct pid *pid;
	__u32 level, tid = 0;

	if (!(t->flags & TARGET_NESTED))
		return BPF_CORE_READ(task, pid);
	pid = BPF_CORE_READ(task, thread_pid);
	if (!pid)
		return 0;	/* already reaped */
	level = BPF_CORE_READ(pid, level);
	bpf_core_read(&tid, sizeof(tid), (void *)pid +
		      bpf_core_field_offset(struct pid, numbers) +
		      level * bpf_core_type_size(struct upid) +
		      bpf_core_field_offset(struct upid, nr));
	return tid;
}

static __always_inline __u32 current_tid(const struct target_cfg *t)
{
	return t->flags & TARGET_NESTED ? task_tid(t, bpf_get_current_task_btf()) :
					  (__u32)bpf_get_current_pid_tgid();
}

static __always_inline __u64 user_u64(__u64 addr, int *err)
{
	__u64 v = 0;

	*err |= bpf_probe_read_user(&v, sizeof(v), (void *)addr);
	return v;
}

static __always_inline __u32 user_u32(__u64 addr, int *err)
{
	__u32 v = 0;

	*err |= bpf_probe_read_user(&v, sizeof(v), (void *)addr);
	return v;
}

static __always_inline __u8 user_u8(__u64 addr, int *err)
{
	__u8 v = 0;

	*err |= bpf_probe_read_user(&v, sizeof(v), (void *)addr);
	return v;
}

/* The register in slot @slot of struct pt_regs. */
static __always_inline __u64 reg(void *ctx, __u32 slot, int *err)
{
	__u64 v = 0;

	*err |= bpf_probe_read_kernel(&v, sizeof(v), ctx + slot * 8);
	return v;
}

/* The kernel task that runs @thread, as its own pid namespace counts; 0 when it has none now. */
static __always_inline __u32 thread_tid(const struct target_cfg *t, __u64 thread)
{
	__u64 native = thread;
	__u32 tid = 0;
	int err = 0;

	if (t->native_tid >= 0) {
		native = user_u64(thread + t->thread_native, &err);
		if (err || !native)
			return 0;
		bpf_probe_read_user(&tid, sizeof(tid), (void *)(native + t->native_tid));
	} else if (t->thread_tid >= 0) {
		bpf_probe_read_user(&tid, sizeof(tid), (void *)(thread + t->thread_tid));
	}
	return tid;
}

static __always_inline struct task_state *task_state(__u32 tgid, __u32 tid, __u32 on_cpu)
{
	struct task_key key = { .tgid = tgid, .tid = tid };
	struct task_state fresh = { .on_cpu = on_cpu };
	struct task_state *s = bpf_map_lookup_elem(&tasks, &key);

	if (s || !tid)
		return s;
	if (bpf_map_update_elem(&tasks, &key, &fresh, BPF_NOEXIST))
		stat_inc(STAT_LOST_TASK);
	return bpf_map_lookup_elem(&tasks, &key);
}

/* The lock that @s has to do with; the target's first one where that is not known. May be NULL. */
static __always_inline struct lock_state *lock_of(const struct target_cfg *t, const struct task_state *s,
						  __u16 *id)
{
	__u32 lock = s && s->lock ? s->lock - 1 : t->lock;

	*id = lock;
	return bpf_map_lookup_elem(&locks, &lock);
}

/*
 * True if task @tid owns @l. One that became the owner before it was known which task runs it is known
 * from here on.
 */
static __always_inline bool is_owner(const struct target_cfg *t, struct lock_state *l, __u32 tgid,
				     __u32 tid)
{
	if (!l || l->tgid != tgid)
		return false;
	if (!l->owner_tid && l->owner && l->owner != OWNER_UNKNOWN && thread_tid(t, l->owner) == tid)
		l->owner_tid = tid;
	return l->owner_tid == tid;
}

static __always_inline void rec_init(struct rec *r, __u16 target, __u8 kind)
{
	*r = (struct rec){ .ts_ns = bpf_ktime_get_ns(), .target = target, .kind = kind };
}

static __always_inline struct rec *rec_reserve(__u16 target, __u8 kind)
{
	struct rec *r = bpf_ringbuf_reserve(&ring, sizeof(*r), 0);

	if (r)
		rec_init(r, target, kind);
	else
		stat_inc(STAT_LOST_RING);
	return r;
}

#endif
