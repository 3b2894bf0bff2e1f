// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * System calls of the targets: what a thread does that has released its lock, and the close(2) that ends
 * a close. A call that does not block never leaves the CPU, so the scheduler cannot tell it.
 */
#include "bpf/target.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct call_table calls;

enum {
	FUTEX_WAIT = 0, FUTEX_WAIT_BITSET = 9, FUTEX_OP = 0x7f,	/* include/uapi/linux/futex.h */
	MODE_TYPE = 0xf000, MODE_FIFO = 0x1000, MODE_CHAR = 0x2000, MODE_SOCKET = 0xc000,
	MODE_REGULAR = 0x8000, MODE_DIR = 0x4000, MODE_BLOCK = 0x6000,	/* include/uapi/linux/stat.h */
	TTY_MAJOR = 4, TTYAUX_MAJOR = 5, PTS_FIRST = 136, PTS_LAST = 143, /* include/uapi/linux/major.h */
	MINOR_BITS = 20,	/* include/linux/kdev_t.h */
};

static __always_inline bool has_bit(const volatile __u64 *bits, __u32 nr)
{
	return nr < MAX_CALLS && bits[nr / 64] >> (nr % 64) & 1;
}

/* An anonymous inode has no type; its name is in its dentry. */
static __always_inline bool is_eventfd(const struct file *file)
{
	static const char name[] = "[eventfd]";
	char have[sizeof(name)] = { 0 };

	bpf_probe_read_kernel(have, sizeof(have), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	for (int i = 0; i < (int)sizeof(name) - 1; i++)
		if (have[i] != name[i])
			return false;
	return true;
}

static __always_inline __u32 char_kind(__u32 rdev)
{
	__u32 major = rdev >> MINOR_BITS;

	return major == TTY_MAJOR || major == TTYAUX_MAJOR ||
	       (major >= PTS_FIRST && major <= PTS_LAST) ? FILE_TTY : FILE_FILE;
}

static __always_inline __u32 file_kind(__s32 fd)
{
	struct fdtable *table = BPF_CORE_READ(bpf_get_current_task_btf(), files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd < 0 || (__u32)fd >= BPF_CORE_READ(table, max_fds))
		return FILE_NONE;
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	if (!file)
		return FILE_NONE;
	switch (BPF_CORE_READ(file, f_inode, i_mode) & MODE_TYPE) {
	case MODE_FIFO:
		return FILE_PIPE;
	case MODE_SOCKET:
		return FILE_SOCKET;
	case MODE_DIR:
	case MODE_BLOCK:
		return FILE_FILE;
	case MODE_CHAR:
		return char_kind(BPF_CORE_READ(file, f_inode, i_rdev));
	case MODE_REGULAR:	/* anonymous inodes too, since 6.17 */
	default:
		if (is_eventfd(file))
			return FILE_EVENTFD;
		return (BPF_CORE_READ(file, f_inode, i_mode) & MODE_TYPE) == MODE_REGULAR ? FILE_FILE :
											   FILE_NONE;
	}
}

static __always_inline __s32 call_fd(__u32 nr, struct pt_regs *regs)
{
	__s32 fd = -1;

	if (has_bit(calls.with_fd, nr))
		return PT_REGS_PARM1_CORE_SYSCALL(regs);
	/* struct pollfd begins with the descriptor; Ruby waits for one, up to 3.2 beside its own for signals */
	if ((nr == calls.poll || nr == calls.ppoll) && PT_REGS_PARM2_CORE_SYSCALL(regs) <= 2 &&
	    !bpf_probe_read_user(&fd, sizeof(fd), (void *)PT_REGS_PARM1_CORE_SYSCALL(regs)))
		return fd;
	return -1;
}

static __always_inline bool is_wait(struct pt_regs *regs)
{
	__u32 op = PT_REGS_PARM2_CORE_SYSCALL(regs) & FUTEX_OP;

	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET;
}

/* How much a call says of what a thread released the lock for. */
enum { SAYS_NOTHING, SAYS_SIGNALS, SAYS_FUTEX, SAYS_ALL };

/* Reads of an eventfd may just empty the one for signals, futexes may be of Ruby's own locks. */
static __always_inline __u32 what_it_says(__u32 nr, struct pt_regs *regs, __u32 kind)
{
	if (has_bit(calls.quiet, nr))
		return SAYS_NOTHING;
	if (nr == calls.futex)
		return is_wait(regs) ? SAYS_FUTEX : SAYS_NOTHING;
	return nr == calls.read && kind == FILE_EVENTFD ? SAYS_SIGNALS : SAYS_ALL;
}

/* The first call that says more than those before it. */
static __always_inline void tell_call(const struct target_cfg *t, struct task_state *s, __u32 tid, __u32 nr,
				      struct pt_regs *regs)
{
	__u64 thread = s->region;
	__s32 fd = call_fd(nr, regs);
	__u32 kind = fd >= 0 ? file_kind(fd) : FILE_NONE;
	__u32 says = what_it_says(nr, regs, kind);
	struct rec *r;

	if (says <= s->told)
		return;
	s->told = says;
	if (says == SAYS_ALL)
		s->region = 0;
	r = rec_reserve(t->id, EVENT_CALL);
	if (!r)
		return;
	r->thread = thread;
	r->tid = tid;
	lock_of(t, s, &r->lock);
	r->nr = nr;
	r->fd = fd;
	r->count = kind;
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

/* True for the call that ends the close of @fd: close(2), or dup(2) onto it (IO#reopen). */
static __always_inline bool ends_close(__u32 nr, struct pt_regs *regs, __s32 fd)
{
	if (nr == calls.close)
		return (__s32)PT_REGS_PARM1_CORE_SYSCALL(regs) == fd;
	return (nr == calls.dup2 || nr == calls.dup3) && (__s32)PT_REGS_PARM2_CORE_SYSCALL(regs) == fd;
}

static __always_inline bool is_closing_call(__u32 nr)
{
	return nr == calls.close || nr == calls.dup2 || nr == calls.dup3;
}

/* rb_nogvl(func, ...): the cookie says which register has func. */
SEC("uprobe")
int nogvl(struct pt_regs *ctx)
{
	struct task_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	const struct target_cfg *t = bpf_map_lookup_elem(&targets, &key.tgid);
	struct task_state *s;
	struct rec *r;
	int err = 0;

	if (!t || t->source == SOURCE_NONE)
		return 0;
	stat_inc(STAT_HIT_NOGVL);
	key.tid = current_tid(t);
	s = bpf_map_lookup_elem(&tasks, &key);
	r = s ? rec_reserve(t->id, EVENT_FUNCTION) : NULL;
	if (!r)
		return 0;
	r->thread = reg(ctx, bpf_get_attach_cookie(ctx), &err);
	r->tid = key.tid;
	lock_of(t, s, &r->lock);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long id)
{
	struct task_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	const struct target_cfg *t = bpf_map_lookup_elem(&targets, &key.tgid);
	struct close_state *c;
	struct task_state *s;
	__u32 nr = id;
	__u16 lock;

	if (!t || t->source == SOURCE_NONE)
		return 0;
	key.tid = current_tid(t);
	s = bpf_map_lookup_elem(&tasks, &key);
	if (!s)
		return 0;
	stat_inc(STAT_HIT_CALL);
	if (s->region)
		tell_call(t, s, key.tid, nr, regs);
	if (!is_closing_call(nr))
		return 0;
	c = bpf_map_lookup_elem(&closes, &key);
	if (!c || !ends_close(nr, regs, c->fd))
		return 0;
	c->is_held = is_owner(t, lock_of(t, s, &lock), key.tgid, key.tid);
	c->call_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	struct task_key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	const struct target_cfg *t = bpf_map_lookup_elem(&targets, &key.tgid);
	struct close_state *c;
	struct rec *r;

	if (!t || !(t->flags & TARGET_CLOSE))
		return 0;
	key.tid = current_tid(t);
	c = bpf_map_lookup_elem(&closes, &key);
	if (!c || !c->call_ns)
		return 0;
	r = rec_reserve(t->id, EVENT_CLOSE);
	if (r) {
		r->tid = key.tid;
		lock_of(t, bpf_map_lookup_elem(&tasks, &key), &r->lock);
		r->fd = c->fd;
		r->dur_ns = r->ts_ns - c->call_ns;
		r->flags = c->is_held ? CLOSE_HELD : 0;
		bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	}
	bpf_map_delete_elem(&closes, &key);
	return 0;
}
