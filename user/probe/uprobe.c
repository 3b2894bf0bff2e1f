// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/uprobe.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/scope.h"

/* union bpf_attr, link_create.uprobe_multi (include/uapi/linux/bpf.h, 6.6). */
struct link_create_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};

/* BPF_F_UPROBE_MULTI_RETURN (include/uapi/linux/bpf.h, 6.6). */
#define UPROBE_MULTI_RETURN 1u

static int explain(int err, struct err *e)
{
	if (err == -EPERM || err == -EACCES)
		return err_set(e, REASON_CAP_PERFMON, err,
			       "uprobe: not permitted (CAP_PERFMON or CAP_SYS_ADMIN is missing)");
	if (err == -ESRCH)
		return err_set(e, REASON_PROCESS_GONE, err, "uprobe: the process has ended");
	return err_set(e, REASON_NO_UPROBE, err, "uprobe: %s", strerror(-err));
}

static int attach_multi(struct uprobes *u, int prog_fd, enum uprobe_where where, pid_t pid,
			const char *path, const uint64_t *offsets, const uint64_t *cookies, size_t n)
{
	struct link_create_uprobe_multi attr = {
		.prog_fd = prog_fd,
		.attach_type = UPROBE_MULTI_ATTACH_TYPE,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.cnt = n,
		.multi_flags = where == UPROBE_RETURN ? UPROBE_MULTI_RETURN : 0,
		.pid = pid,
	};

	u->multi = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return u->multi < 0 ? -errno : 0;
}

/* The dynamic PMU's number; each perf uprobe is an event of it. */
static int uprobe_pmu_type(void)
{
	auto_fclose FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type;

	return f && fscanf(f, "%d", &type) == 1 ? type : -ENOENT;
}

static int attach_single(struct uprobes *u, int prog_fd, enum uprobe_where where, pid_t pid,
			 const char *path, uint64_t offset, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	struct perf_event_attr attr = {
		.type = uprobe_pmu_type(),
		.size = sizeof(attr),
		.config = where == UPROBE_RETURN,	/* format/retprobe of that PMU: config:0 */
		.config1 = (uintptr_t)path,
		.config2 = offset,
	};
	auto_close int fd = -1;
	int link;

	if ((int)attr.type < 0)
		return (int)attr.type;
	fd = syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_link_create(prog_fd, fd, BPF_PERF_EVENT, &opts);
	if (link < 0)
		return link;
	u->fds[u->nr_fds++] = link;	/* holds the event */
	return 0;
}

int uprobes_attach(struct uprobes *u, int prog_fd, bool is_multi, enum uprobe_where where, pid_t pid,
		   const char *path, const uint64_t *offsets, const uint64_t *cookies, size_t n, struct err *e)
{
	int err = 0;

	*u = UPROBES_NONE;
	if (n > UPROBES_MAX)
		return explain(-E2BIG, e);
	if (is_multi)
		err = attach_multi(u, prog_fd, where, pid, path, offsets, cookies, n);
	for (size_t i = 0; !is_multi && i < n && !err; i++)
		err = attach_single(u, prog_fd, where, pid, path, offsets[i], cookies[i]);
	if (!err)
		return 0;
	uprobes_detach(u);
	return explain(err, e);
}

void uprobes_detach(struct uprobes *u)
{
	scope_close(&u->multi);
	for (size_t i = 0; i < u->nr_fds; i++)
		close(u->fds[i]);
	*u = UPROBES_NONE;
}
