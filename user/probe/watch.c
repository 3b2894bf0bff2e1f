// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/scope.h"

static int open_on_cpu(uint64_t addr, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = addr,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int explain(int err, struct err *e)
{
	switch (-err) {
	case ENOSPC:
		return err_set(e, REASON_NO_WATCHPOINT, err,
			       "watchpoint: all debug registers are in use");
	case EPERM:
	case EACCES:
		return err_set(e, REASON_CAP_PERFMON, err,
			       "watchpoint: not permitted (CAP_PERFMON is missing)");
	default:
		return err_set(e, REASON_NO_WATCHPOINT, err, "watchpoint: %s", strerror(-err));
	}
}

static int link_on_cpu(uint64_t addr, uint64_t cookie, int prog_fd, int cpu)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	auto_close int fd = open_on_cpu(addr, cpu);

	return fd < 0 ? fd : bpf_link_create(prog_fd, fd, BPF_PERF_EVENT, &opts);
}

int watch_open(struct watch *w, uint64_t addr, uint64_t cookie, int prog_fd, struct err *e)
{
	int nr_cpus = libbpf_num_possible_cpus();

	*w = (struct watch){ .fds = calloc(nr_cpus > 0 ? nr_cpus : 1, sizeof(*w->fds)) };
	if (!w->fds)
		return err_nomem(e);
	for (int cpu = 0; cpu < nr_cpus; cpu++) {
		int fd = link_on_cpu(addr, cookie, prog_fd, cpu);

		if (fd == -ENODEV)
			continue;	/* possible, but not online */
		if (fd < 0) {
			watch_close(w);
			return explain(fd, e);
		}
		w->fds[w->nr_fds++] = fd;
	}
	return w->nr_fds ? 0 : explain(-ENODEV, e);
}

void watch_close(struct watch *w)
{
	for (int i = 0; i < w->nr_fds; i++)
		close(w->fds[i]);
	free(w->fds);
	*w = (struct watch){ 0 };
}
