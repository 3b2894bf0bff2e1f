/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the BPF programs and user/probe share. Fixed widths, explicit padding, asserted sizes. */
#ifndef GVL_BPF_ABI_H
#define GVL_BPF_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define MAX_TARGETS 4096		/* processes in one capture */
#define MAX_LOCKS 4096		/* lock words (Ractors) over the whole capture */
#define MAX_TASKS 131072	/* of targets, alive */
#define MAX_WRITERS 1024	/* instructions seen to write a watched word */
#define MAX_SITES 4096		/* probed instructions over the whole capture */
#define COMM_LEN 16		/* TASK_COMM_LEN, include/linux/sched.h */

/* The two words of a lock that are followed. */
enum word {
	WORD_OWNER = 0,		/* rb_thread_sched.running, rb_global_vm_lock_t.owner */
	WORD_QUEUE = 1,		/* the ready queue's list_head.prev: each entry writes it once */
};

/* Which probe's hits become events; the other's hits only count and teach. */
enum source {
	SOURCE_NONE = 0,
	SOURCE_WATCH = 1,
	SOURCE_SITES = 2,
};

enum {
	TARGET_FOLLOW = 1 << 0,	/* report forked children */
	TARGET_NESTED = 1 << 1,	/* its pid namespace is not the first one: ids differ there */
	TARGET_SELF_OWNER = 1 << 2,	/* up to 3.2: the new owner writes the word itself */
};

/* Offsets are in bytes, -1 where this Ruby has no such member. */
struct target_cfg {
	__u16 id;
	__u8 source;		/* enum source */
	__u8 flags;		/* TARGET_* */
	__u32 generation;	/* of the sites whose hits count */
	__s32 queue;		/* from the owner word to the queue's list_head */
	__s32 thread_queue_node;
	__s32 thread_native;
	__s32 native_tid;
	__s32 thread_tid;
	__s32 thread_ractor;
	__s32 ractor_owner;
	__u32 lock;		/* the first lock's number, and its address: a short cut */
	__u64 lock_addr;
};
_Static_assert(sizeof(struct target_cfg) == 48, "shared with BPF");

struct lock_key {
	__u64 addr;		/* of the owner word */
	__u32 tgid;
	__u32 pad;
};
_Static_assert(sizeof(struct lock_key) == 16, "shared with BPF");

#define OWNER_UNKNOWN (~0ULL)

/* Changed only by a task that holds the mutex around Ruby's queue, so by one at a time. */
struct lock_state {
	__u64 addr;
	__u64 owner;		/* rb_thread_t, 0 or OWNER_UNKNOWN */
	__u32 seq;		/* events of this lock, lost ones included */
	__u32 owner_tid;	/* 0 when unknown */
	__u32 tgid;
	__u16 target;
	__u16 pad;
	__u32 home_tid;		/* task that is known to have this as its lock; 0: none */
	__u32 from_memory;	/* owner was read by user space: its event may still come */
	__u64 same;		/* owner written again without having been seen to change */
};
_Static_assert(sizeof(struct lock_state) == 48, "shared with BPF");

struct task_key {
	__u32 tgid;
	__u32 tid;		/* as gettid() tells the task itself */
};

struct task_state {
	__u32 lock;		/* the lock that it last owned, plus 1; or 0 */
	__u32 on_cpu;
	__u64 ran_ns;		/* its CPU time when it last left its CPU; 0: not known */
};

struct writer_key {
	__u64 ip;		/* after the writing instruction (x86 breakpoints trap) */
	__u32 tgid;
	__u32 word;		/* enum word */
};

/*
 * A probed site's bpf_cookie: base register and displacement of the word it writes, where the new
 * value is found, and which site it is. Registers are counted in words of struct pt_regs. Sites are
 * placed in generations, so that one set can take over from another at one moment.
 */
#define SITE_VALUE_MEMORY 31	/* the probe stands behind the write: the word has it */
#define SITE_VALUE_ZERO 30	/* before the write, which is of a constant 0 */
#define SITE_GENERATIONS 32
#define SITE_COOKIE(base_slot, value_slot, word, disp) \
	((__u64)(__u32)(disp) << 32 | (__u64)(word) << 10 | (value_slot) << 5 | (base_slot))
#define SITE_COOKIE_PLACED(cookie, site, generation) \
	((cookie) | (__u64)(site) << 16 | (__u64)(generation) << 11)
#define SITE_BASE(cookie) ((cookie) & 31)
#define SITE_VALUE(cookie) ((cookie) >> 5 & 31)
#define SITE_WORD(cookie) ((cookie) >> 10 & 1)
#define SITE_GENERATION(cookie) ((cookie) >> 11 & (SITE_GENERATIONS - 1))
#define SITE_NUMBER(cookie) ((__u16)((cookie) >> 16))
#define SITE_DISP(cookie) ((__s32)((cookie) >> 32))

/* How often a site was run, and whether it ever wrote to a lock that is followed. */
struct site_count {
	__u64 hits;
	__u64 misses;		/* hits that counted, and that wrote something else */
	__u64 matched;		/* not 0 once it did */
};

/* A watchpoint's cookie is its enum word. */

/* Ids are those of enum event_kind and enum event_flag (user/event/event.h). */
struct rec {
	__u64 ts_ns;
	__u64 thread;
	__u32 seq;
	__u32 tid;
	__u16 lock;
	__u16 target;
	__u8 kind;
	__u8 flags;
	__u16 pad;
};
_Static_assert(sizeof(struct rec) == 32, "shared with BPF");

struct rec_exit {
	struct rec rec;
	char comm[COMM_LEN];
};

enum tracer_stat {
	STAT_HIT_WATCH,		/* runs of the watch program in a target */
	STAT_HIT_SWITCH,	/* task switches of a target's known tasks */
	STAT_LOST_RING,		/* ring full */
	STAT_LOST_READ,		/* the word could not be read (its page was not there) */
	STAT_LOST_TASK,		/* task table full */
	STAT_LOST_LOCK,		/* lock table full */
	STAT_COUNT
};

#endif
