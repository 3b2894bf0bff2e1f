// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/cost.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "probe/scratch.h"
#include "probe/uprobe.h"
#include "probe/watch.h"
#include "target/object.h"
#include "target/proc.h"
#include "util/clock.h"
#include "util/scope.h"

/*
 * The scratch process runs one kind of work on request and replies how much CPU time it took, in ns. The
 * work is done in a second thread: a probe that sees only the first one is of no use.
 */
struct scratch {
	pid_t pid;
	int fd;
};

static void *serve(void *arg)
{
	int fd = *(int *)arg;
	struct scratch_job job;

	while (read(fd, &job, sizeof(job)) == sizeof(job)) {
		uint64_t start = clock_thread_cpu_ns(), dur_ns;

		scratch_run(&job);
		dur_ns = clock_thread_cpu_ns() - start;
		if (write(fd, &dur_ns, sizeof(dur_ns)) != sizeof(dur_ns))
			break;
	}
	_exit(0);
}

enum { TRIES = 5 };

static int scratch_start(struct scratch *s)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	s->pid = fork();
	if (s->pid == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		if (pthread_create(&thread, NULL, serve, &fds[1]))
			_exit(1);
		pthread_join(thread, NULL);
		_exit(0);
	}
	close(fds[1]);
	s->fd = fds[0];
	if (s->pid > 0)
		return 0;
	close(fds[0]);
	return -errno;
}

static void scratch_end(struct scratch *s)
{
	close(s->fd);
	waitpid(s->pid, NULL, 0);
}

/* CPU time for one turn of @job in ns, the least of several tries: others' load only adds. */
static double scratch_time(const struct scratch *s, const struct scratch_job *job)
{
	uint64_t best = UINT64_MAX, dur_ns;

	for (int i = 0; i < TRIES; i++) {
		if (write(s->fd, job, sizeof(*job)) != sizeof(*job) ||
		    read(s->fd, &dur_ns, sizeof(dur_ns)) != sizeof(dur_ns))
			return 0;
		if (dur_ns < best)
			best = dur_ns;
	}
	return (double)best / job->turns;
}

static int load_empty_program(enum bpf_prog_type type, enum bpf_attach_type attach)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);

	return bpf_prog_load(type, "empty", "GPL", insns, ARRAY_LEN(insns), &opts);
}

/* Where in this program's own file the code at @addr is. */
struct self_place {
	uint64_t addr, offset;
	char path[4096];
};

static int find_place(void *arg, const struct proc_map *m)
{
	struct self_place *p = arg;

	if (!m->executable || p->addr < m->start || p->addr >= m->end)
		return 0;
	p->offset = p->addr - m->start + m->offset;
	snprintf(p->path, sizeof(p->path), "/proc/self/exe");
	return 1;
}

/* What a trap costs: hundreds of ns on any machine. Less means that it did not happen: 0. */
static double trap_ns(double bare, double probed)
{
	enum { TRAP_MIN_NS = 50 };

	return probed - bare >= TRAP_MIN_NS ? probed - bare : 0;
}

static double with_uprobe(const struct scratch *s, struct scratch_job *job, bool is_multi)
{
	struct self_place at = { .addr = scratch_place(job->work) };
	struct proc self = { .pid = getpid(), .pidfd = -1 };
	uint64_t cookie = 0;
	struct uprobes u;
	double bare = scratch_time(s, job), probed;
	auto_close int prog = load_empty_program(BPF_PROG_TYPE_KPROBE,
						 is_multi ? UPROBE_MULTI_ATTACH_TYPE : 0);

	if (prog < 0 || proc_maps(&self, find_place, &at, NULL) != 1 ||
	    uprobes_attach(&u, prog, is_multi, UPROBE_AT, s->pid, at.path, &at.offset, &cookie, 1, NULL))
		return 0;
	probed = scratch_time(s, job);
	uprobes_detach(&u);
	return trap_ns(bare, probed);
}

static double with_watch(const struct scratch *s, struct scratch_job *job)
{
	double bare = scratch_time(s, job), watched;
	auto_close int prog = load_empty_program(BPF_PROG_TYPE_PERF_EVENT, 0);
	struct watch w;

	if (prog < 0 || watch_open(&w, scratch_place(job->work), 0, prog, NULL))
		return 0;
	watched = scratch_time(s, job);
	watch_close(&w);
	return trap_ns(bare, watched);
}

/* Measured on a virtual machine, Linux 6.18 (docs/method.md): used until this machine's are known. */
static const struct cost usual = {
	.emulated_ns = 750, .stepped_ns = 9600, .watch_ns = 8600, .program_ns = 400,
};

void cost_try(struct cost *out, bool *has_uprobe_multi, bool *has_watch)
{
	struct scratch_job nop = { .work = SCRATCH_EMULATED, .turns = 1000 };
	struct scratch_job store = { .work = SCRATCH_STORE, .turns = 100 };
	struct scratch s;

	*out = usual;
	*has_uprobe_multi = *has_watch = false;
	if (scratch_start(&s))
		return;
	*has_uprobe_multi = out->is_multi = with_uprobe(&s, &nop, true) > 0;
	*has_watch = with_watch(&s, &store) > 0;
	if (!*has_watch)
		out->watch_ns = 0;
	scratch_end(&s);
}

void cost_measure(struct cost *out)
{
	struct scratch_job job = { .work = SCRATCH_EMULATED, .turns = 2000 };
	struct scratch s;

	if (scratch_start(&s))
		return;
	out->emulated_ns = with_uprobe(&s, &job, out->is_multi);
	job = (struct scratch_job){ .work = SCRATCH_STEPPED, .turns = 500 };
	out->stepped_ns = with_uprobe(&s, &job, out->is_multi);
	job.work = SCRATCH_STORE;
	out->watch_ns = with_watch(&s, &job);
	out->is_measured = true;
	scratch_end(&s);
}
