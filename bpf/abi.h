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
#define MAX_CLOSES 4096	/* closes under way at one moment */
#define MAX_WALK 65536		/* nodes of a list of waiters that one walk visits */
#define MAX_COPIES 4096	/* copies under way at one moment */
#define MAX_TALLIES 16384
#define COPY_ROUTINES 4	/* ranges of code in which the C library copies */
#define MAX_CALLS 512		/* system call numbers, include/uapi/asm-generic/unistd.h and x86's */
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
	TARGET_BLOCK = 1 << 3,	/* tell what threads do without the lock */
	TARGET_CLOSE = 1 << 4,	/* follow the VM's list of waiters */
	TARGET_COPY = 1 << 5,	/* tell copies of memory */
};

/* What the programs on IO#close read. Offsets are in bytes, -1 where this Ruby has no such member. */
struct close_layout {
	__s32 waiter_node, waiter_thread, waiter_ec, waiter_fd, waiter_busy;
	__s32 thread_ec, ec_thread, ec_cfp;
	__s32 cfp_pc, cfp_iseq, cfp_self, cfp_size;
	__s32 file_io, io_mode, io_fd, io_waiters, io_fork_gen, io_closing_ec;
};

/* Offsets as above. */
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
	__u64 waiters;		/* up to 3.4: address of the VM's list_head of waiters, else 0 */
	__u64 vm_ractor_count;	/* address of rb_vm_t.ractor.cnt */
	__u64 vm_fork_gen;	/* from 4.0: address of rb_vm_t.fork_gen */
	__u64 alone_start, alone_end;	/* a scan called from there closes nothing: addresses */
	struct close_layout close;
	__s32 thread_status;
	__s32 cfp_ep, method_def, def_function;
	__u32 copy_min;		/* bytes: smaller copies are tallied */
	__u32 walk_share;	/* a walk is followed by so many times its own time without one */
	struct {
		__u64 start, end;	/* addresses */
	} routines[COPY_ROUTINES];
};
_Static_assert(sizeof(struct target_cfg) == 248, "shared with BPF");

/* When the next walk over a target's list is due. User space asks for one that tells each node. */
struct walk_due {
	__u64 next_ns;
	__u32 base;		/* 1: as soon as possible, and tell each node */
	__u32 always;		/* fibers wait on the list, several of a thread: walk at each scan */
};

/* A close that a task has begun. */
struct close_state {
	__u64 start_ns;		/* of the scan; 0 once that is told */
	__u64 busy;		/* address of the list_head that takes the matched ones (up to 3.4) */
	__u64 sum;		/* of a walk: the waiting threads' addresses */
	__u64 frame;		/* rb_control_frame_t of the closing thread, 0: not known */
	__u64 call_ns;		/* close(2) was entered */
	__s32 fd;
	__u32 count;		/* of a walk */
	__u32 matched;
	__u8 flags;		/* enum scan_flag */
	__u8 is_held;		/* the lock, when close(2) was entered */
	__u8 is_told;		/* those that match are */
	__u8 pad;
};

/* A copy that a task has begun. */
struct copy_state {
	__u64 start_ns;
	__u64 bytes;
	__u64 function;		/* of the method that copies, 0: not known */
	__u32 flags;		/* enum copy_flag */
	__u32 pad;
};

struct tally_key {
	__u64 function;
	__u16 target;
	__u8 kind;		/* enum tally_kind */
	__u8 flags;		/* enum copy_flag */
	__u8 slot;		/* of its size, power of two */
	__u8 pad[3];
};

struct tally {
	__u64 count;
	__u64 bytes;
};

/* The cookie of a probe on a copy: which register has the number of bytes, and flags. */
#define COPY_COOKIE(len_slot, flags) ((__u64)(flags) << 8 | (len_slot))
#define COPY_LEN(cookie) ((cookie) & 255)
#define COPY_FLAGS(cookie) ((__u8)((cookie) >> 8))

/* What the programs need to know of system calls: set before they are loaded. */
struct call_table {
	__u32 futex, read, poll, ppoll, close, dup2, dup3;	/* numbers; ~0: there is none */
	__u32 pad;
	__u64 with_fd[MAX_CALLS / 64];	/* bit per call: its first argument is a file descriptor */
	__u64 quiet[MAX_CALLS / 64];	/* ... it says nothing of what a thread waits for (memory, signals) */
};

/* A scan's probe has this cookie: where its arguments are, and what was pushed since the entry. */
#define SCAN_COOKIE(arg_slot, list_slot, shift) ((__u64)(shift) << 16 | (list_slot) << 8 | (arg_slot))
#define SCAN_ARG(cookie) ((cookie) & 255)
#define SCAN_LIST(cookie) ((cookie) >> 8 & 255)
#define SCAN_SHIFT(cookie) ((cookie) >> 16)

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
	__u32 pad2;
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
	__u64 region;		/* rb_thread_t that it runs without the lock; 0: none, or told already */
	__u64 thread;		/* rb_thread_t that it last ran with the lock */
	__u64 waiter;		/* address of the waiter that it was last seen to have on the list */
	__u32 told;		/* how much the call that was told says: call.bpf.c */
	__u32 pad;
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

/* Ids and fields are those of enum event_kind (user/event/kind.h). */
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
	__u64 dur_ns;
	__s32 fd;
	__u32 count;
	__u32 nr;
	__u32 pad2;
};
_Static_assert(sizeof(struct rec) == 56, "shared with BPF");

struct rec_exit {
	struct rec rec;
	char comm[COMM_LEN];
};

/* EVENT_FOREIGN: where both threads are. The topmost Ruby frames; 0 where there is none. */
struct rec_foreign {
	struct rec rec;
	__u64 waiter_iseq, waiter_pc;
	__u64 closer_iseq, closer_pc;
};

enum tracer_stat {
	STAT_HIT_WATCH,		/* runs of the watch program in a target */
	STAT_HIT_SWITCH,	/* task switches of a target's known tasks */
	STAT_LOST_RING,		/* ring full */
	STAT_LOST_READ,		/* the word could not be read (its page was not there) */
	STAT_LOST_TASK,		/* task table full */
	STAT_LOST_LOCK,		/* lock table full */
	STAT_LOST_CLOSE,	/* table of closes full, or what the scan was called with is unreadable */
	STAT_TRUNCATED_WALK,	/* a list was longer than MAX_WALK */
	STAT_HIT_SCAN,		/* runs of the programs on a close's scan */
	STAT_WALKED,		/* nodes visited by walks ... */
	STAT_WALK_NS,		/* ... and how long that took */
	STAT_HIT_NOGVL,		/* runs of the program on rb_nogvl() */
	STAT_LOST_COPY,		/* a table of copies full */
	STAT_HIT_COPY,		/* runs of the programs on copies */
	STAT_HIT_CALL,		/* system calls that a target's known tasks entered */
	STAT_COUNT
};

#endif
