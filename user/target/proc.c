// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "util/caps.h"
#include "util/scope.h"

static FILE *proc_open(pid_t pid, const char *name)
{
	char path[192];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

/* The text after "Key:\t" in a status file, without the newline; "" where there is none. */
static void status_field(FILE *f, const char *key, char *out, size_t size)
{
	size_t n = strlen(key);
	char line[256];

	out[0] = '\0';
	rewind(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(out, size, "%s", line + n + 1 + strspn(line + n + 1, "\t "));
		return;
	}
}

int proc_refresh(struct proc *p, struct err *e)
{
	auto_fclose FILE *f = proc_open(p->pid, "status");
	char text[64];

	if (!f)
		return err_set(e, REASON_NO_PROCESS, -ESRCH, "process %d: no such process", p->pid);
	status_field(f, "State", text, sizeof(text));
	p->state = text[0];
	status_field(f, "TracerPid", text, sizeof(text));
	p->tracer = atoi(text);
	status_field(f, "NSpid", text, sizeof(text));
	p->is_nested = strchr(text, '\t');
	p->pid_inside = p->is_nested ? atoi(strrchr(text, '\t') + 1) : p->pid;
	status_field(f, "Name", text, sizeof(text));
	snprintf(p->comm, sizeof(p->comm), "%.15s", text);
	status_field(f, "Tgid", text, sizeof(text));
	if (atoi(text) != p->pid)
		return err_set(e, REASON_NO_PROCESS, -ESRCH,
			       "%d is a thread of process %s; give the process", p->pid, text);
	if (p->state == 'Z' || p->state == 'X')
		return err_set(e, REASON_PROCESS_GONE, -ESRCH, "process %d (%s) has ended", p->pid,
			       p->comm);
	return 0;
}

int proc_init(struct proc *p, pid_t pid, struct err *e)
{
	struct proc fresh = { .pid = pid, .pidfd = -1 };
	int err;

	if (pid <= 0)
		return err_set(e, REASON_USAGE, -EINVAL, "%d is no process id", pid);
	err = proc_refresh(&fresh, e);
	if (err)
		return err;
	fresh.pidfd = syscall(SYS_pidfd_open, pid, 0);
	if (fresh.pidfd < 0 && errno == ESRCH)
		return err_set(e, REASON_NO_PROCESS, -ESRCH, "process %d: no such process", pid);
	if (fresh.pidfd < 0)
		return err_set(e, REASON_SYS, -errno, "process %d: pidfd_open: %s", pid,
			       strerror(errno));
	*p = fresh;
	return 0;
}

void proc_release(struct proc *p)
{
	scope_close(&p->pidfd);
	p->pidfd = -1;
}

bool proc_is_alive(const struct proc *p)
{
	struct pollfd pfd = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && poll(&pfd, 1, 0) == 0;
}

static void scope_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

int proc_tasks(const struct proc *p, void (*fn)(void *arg, pid_t inside, pid_t here), void *arg)
{
	char path[64], text[256];
	auto_release(scope_closedir) DIR *dir = NULL;
	struct dirent *d;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		pid_t here = atoi(d->d_name), inside = here;
		auto_fclose FILE *f = NULL;
		const char *last;

		if (here <= 0)
			continue;
		snprintf(path, sizeof(path), "task/%d/status", here);
		f = proc_open(p->pid, path);
		if (!f)
			continue;
		status_field(f, "NSpid", text, sizeof(text));
		last = strrchr(text, '\t');
		if (last)
			inside = atoi(last + 1);
		fn(arg, inside, here);
		n++;
	}
	return n;
}

struct task_search {
	pid_t inside, here;
};

static void match_task(void *arg, pid_t inside, pid_t here)
{
	struct task_search *q = arg;

	if (inside == q->inside)
		q->here = here;
}

pid_t proc_task_here(const struct proc *p, pid_t tid)
{
	struct task_search q = { .inside = tid };

	if (!p->is_nested)
		return tid;
	proc_tasks(p, match_task, &q);
	return q.here;
}

/*
 * A file of task @tid, an id of the process's own pid namespace. Through the process's own /proc where
 * it has one mounted; else every task has to be asked for its id inside.
 */
static FILE *open_task(const struct proc *p, pid_t tid, const char *file)
{
	char name[128];
	FILE *f;

	if (p->is_nested) {
		snprintf(name, sizeof(name), "root/proc/%d/task/%d/%s", p->pid_inside, tid, file);
		f = proc_open(p->pid, name);
		if (f)
			return f;
		snprintf(name, sizeof(name), "root/proc/%d/status", p->pid_inside);
		f = proc_open(p->pid, name);
		if (f) {		/* it has a /proc: then the task is gone */
			fclose(f);
			return NULL;
		}
	}
	snprintf(name, sizeof(name), "task/%d/%s", proc_task_here(p, tid), file);
	return proc_open(p->pid, name);
}

void proc_task_comm(const struct proc *p, pid_t tid, char *comm)
{
	auto_fclose FILE *f = open_task(p, tid, "comm");

	comm[0] = '\0';
	if (f && fgets(comm, 16, f))
		comm[strcspn(comm, "\n")] = '\0';
}

char proc_task_state(const struct proc *p, pid_t tid)
{
	auto_fclose FILE *f = open_task(p, tid, "status");
	char text[64];

	if (!f)
		return 'X';
	status_field(f, "State", text, sizeof(text));
	return text[0];
}

int proc_read(const struct proc *p, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };
	ssize_t n = process_vm_readv(p->pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}

int proc_read_u64(const struct proc *p, uint64_t addr, uint64_t *out)
{
	if (addr & 7)
		return -EFAULT;
	return proc_read(p, addr, out, sizeof(*out));
}

int proc_denied(const struct proc *p, int code, struct err *e)
{
	if (!caps_has(CAP_SYS_PTRACE))
		return err_set(e, REASON_CAP_SYS_PTRACE, code,
			       "process %d (%s): it may not be read (CAP_SYS_PTRACE is missing)", p->pid,
			       p->comm);
	return err_set(e, REASON_NO_ACCESS, code,
		       "process %d (%s): the system does not let it be read", p->pid, p->comm);
}

/* One line of /proc/PID/maps (fs/proc/task_mmu.c, show_map_vma). */
static bool map_parse(const char *line, struct proc_map *m)
{
	char perm[5];
	int at = 0;

	*m = (struct proc_map){ 0 };
	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &m->start, &m->end, perm, &m->offset,
		   &m->dev_major, &m->dev_minor, &m->inode, &at) < 7)
		return false;
	m->readable = perm[0] == 'r';
	m->writable = perm[1] == 'w';
	m->executable = perm[2] == 'x';
	snprintf(m->path, sizeof(m->path), "%s", line + at);
	m->path[strcspn(m->path, "\n")] = '\0';
	return true;
}

int proc_maps(const struct proc *p, int (*fn)(void *arg, const struct proc_map *m), void *arg,
	      struct err *e)
{
	auto_fclose FILE *f = proc_open(p->pid, "maps");
	auto_free char *line = NULL;
	size_t size = 0;
	int ret;

	if (!f && errno == EACCES)
		return proc_denied(p, -EACCES, e);
	if (!f)
		return err_set(e, REASON_PROCESS_GONE, -ESRCH, "process %d has ended", p->pid);
	while (getline(&line, &size, f) > 0) {
		struct proc_map m;

		if (!map_parse(line, &m))
			continue;
		ret = fn(arg, &m);
		if (ret)
			return ret;
	}
	return 0;
}
