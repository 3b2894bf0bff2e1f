/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process as /proc shows it: its state, its mappings, its memory. Nothing here changes it. */
#ifndef GVL_TARGET_PROC_H
#define GVL_TARGET_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

struct proc {
	pid_t pid;		/* the thread group's id, as this tool's pid namespace counts */
	int pidfd;		/* readable once the process has ended */
	char comm[16];
	char state;		/* 'R', 'S', 'T' (stopped), 't' (traced stop), 'Z', ... */
	pid_t tracer;		/* 0 when nobody debugs it */
	pid_t pid_inside;	/* as its own pid namespace counts */
	bool is_nested;		/* lives in a pid namespace below this tool's */
};

/*
 * Opens process @pid. 0, or -errno with @e set (no such process; a thread's id, a kernel thread,
 * a zombie). To be released with proc_release().
 */
int proc_init(struct proc *p, pid_t pid, struct err *e);
void proc_release(struct proc *p);

bool proc_is_alive(const struct proc *p);

/* Reads state and tracer anew. 0 or -errno with @e set. */
int proc_refresh(struct proc *p, struct err *e);

/*
 * Translates ids of tasks from the process's own pid namespace: calls @fn for each live task with
 * its id there and here. Returns the number of tasks or -errno.
 */
int proc_tasks(const struct proc *p, void (*fn)(void *arg, pid_t tid_inside, pid_t tid_here),
	       void *arg);

/* This tool's id of task @tid of the process's own pid namespace; 0 when there is none. */
pid_t proc_task_here(const struct proc *p, pid_t tid);

/*
 * Fills @comm (16 bytes) with the name of task @tid, an id of the process's own pid namespace;
 * empty when it is gone.
 */
void proc_task_comm(const struct proc *p, pid_t tid, char *comm);

/* 'R', 'S', ... of task @tid of the process's own pid namespace; 'X' when it is gone. */
char proc_task_state(const struct proc *p, pid_t tid);

/*
 * Reads @len bytes at @addr of the process. 0, or -errno (-EFAULT where nothing is mapped, -ESRCH
 * when it is gone, -EPERM); *never* a partial result taken for a whole one.
 */
int proc_read(const struct proc *p, uint64_t addr, void *buf, size_t len);

/* One aligned 8-byte word; same errors. */
int proc_read_u64(const struct proc *p, uint64_t addr, uint64_t *out);

/* Says why the process may not be read, after an access failed with @code; returns that. */
int proc_denied(const struct proc *p, int code, struct err *e);

struct proc_map {
	uint64_t start, end, offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	bool readable, writable, executable;
	char path[4096];	/* "" for anonymous memory; as the process's mount namespace names it */
};

/*
 * Calls @fn for each mapping in address order until it returns nonzero, which is returned. 0 at
 * the end, -errno when the process is gone or unreadable (@e set).
 */
int proc_maps(const struct proc *p, int (*fn)(void *arg, const struct proc_map *m), void *arg,
	      struct err *e);

#endif
