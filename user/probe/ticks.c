// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/ticks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_one(int cpu, int prog_fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .size = sizeof(attr),
		.freq = 1, .sample_freq = TICKS_PER_SECOND,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno == ENODEV ? -1 : -errno;	/* a CPU that is offline */
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog_fd) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

int ticks_start(struct ticks *t, int prog_fd, struct err *e)
{
	int n = libbpf_num_possible_cpus();

	*t = (struct ticks){ .fds = n > 0 ? malloc(n * sizeof(*t->fds)) : NULL };
	if (!t->fds)
		return err_nomem(e);
	for (int cpu = 0; cpu < n; cpu++) {
		int fd = open_one(cpu, prog_fd);

		if (fd < -1) {
			ticks_stop(t);
			return err_sys(e, -fd, "perf event: a clock's ticks");
		}
		t->fds[t->nr++] = fd;
	}
	return 0;
}

void ticks_stop(struct ticks *t)
{
	for (int i = 0; i < t->nr; i++)
		if (t->fds[i] >= 0)
			close(t->fds[i]);
	free(t->fds);
	*t = (struct ticks){ 0 };
}
