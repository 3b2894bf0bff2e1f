/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types that bpf/ reads, and of them only the members it reads; libbpf relocates the
 * offsets to the running kernel (CO-RE). Names from include/linux/{sched,pid,fs,dcache,fdtable}.h.
 */
#ifndef GVL_VMLINUX_H
#define GVL_VMLINUX_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

enum {
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_F_MMAPABLE = 1U << 10,
};

enum {
	BPF_RB_NO_WAKEUP = 1ULL << 0,
	BPF_RB_FORCE_WAKEUP = 1ULL << 1,
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_rdev;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	unsigned int __state;
	struct sched_entity se;
	int pid;
	int tgid;
	struct pid *thread_pid;
	struct files_struct *files;
	char comm[16];
};

struct linux_binprm;

#pragma clang attribute pop

/*
 * What probes are handed. These are ABI (arch/x86/include/asm/ptrace.h, arch/arm64/include/uapi/asm/
 * ptrace.h) and not relocated. __VMLINUX_H__ has <bpf/bpf_tracing.h> use these names.
 */
#define __VMLINUX_H__

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp, pc, pstate;
};

struct bpf_perf_event_data {
#ifdef __TARGET_ARCH_arm64
	struct user_pt_regs regs;
#else
	struct pt_regs regs;
#endif
	__u64 sample_period;
	__u64 addr;
};

#endif
