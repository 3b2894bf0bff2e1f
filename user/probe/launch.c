// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/uprobe.h"
#include "target/ruby.h"
#include "util/scope.h"

enum { OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL };

/* Runs in the child; what went wrong goes through @report. */
static void run(char **argv, const sigset_t *mask, int report)
{
	int err;

	sigprocmask(SIG_SETMASK, mask, NULL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
		execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int fork_command(struct launch *l, char **argv, const sigset_t *mask, struct err *e)
{
	int fds[2], err = 0;
	auto_close int in = -1, out = -1;

	if (pipe2(fds, O_CLOEXEC))
		return err_sys(e, errno, "pipe");
	in = fds[0];
	out = fds[1];
	l->pid = fork();
	if (l->pid < 0)
		return err_sys(e, errno, "fork");
	if (l->pid == 0)
		run(argv, mask, out);
	close(take_fd(out));
	if (read(in, &err, sizeof(err)) != sizeof(err))
		return 0;	/* closed by a successful exec */
	launch_wait(l);
	return err_set(e, REASON_SYS, -err, "%s: %s", argv[0], strerror(err));
}

/* Waits for the next stop. False when the command has ended. */
static bool next_stop(struct launch *l, int *stop)
{
	while (waitpid(l->pid, stop, __WALL) < 0)
		if (errno != EINTR)
			return false;
	if (WIFSTOPPED(*stop))
		return true;
	l->has_ended = true;
	l->status = *stop;
	return false;
}

/* The signal to pass on with the next resume: the command's own, but not what tracing it adds. */
static int signal_of(int stop)
{
	int sig = WSTOPSIG(stop);

	if (sig == (SIGTRAP | 0x80) || stop >> 16)
		return 0;
	return sig;
}

struct hold {
	struct ruby ruby;
	struct uprobes probe;
};

static bool find_ruby(struct hold *h, pid_t pid)
{
	if (ruby_open_early(&h->ruby, pid, NULL, NULL) == 0)
		return true;
	/* an unsupported Ruby too: the attaching says what is wrong with it */
	if (h->ruby.has_object)
		return true;
	ruby_release(&h->ruby);
	return false;
}

static int place_probe(struct hold *h, pid_t pid, int prog_fd, bool is_multi, struct err *e)
{
	uint64_t vaddr, offset, cookie = 0;

	if (object_symbol(&h->ruby.object, "ruby_run_node", &vaddr, NULL) ||
	    object_file_offset(&h->ruby.object, vaddr, &offset))
		return err_set(e, REASON_ELF, -ENOENT, "%s: its ruby_run_node is not code",
			       h->ruby.object.path);
	return uprobes_attach(&h->probe, prog_fd, is_multi, UPROBE_AT, pid, h->ruby.object.open_path, &offset,
			      &cookie, 1, e);
}

/* From one system call to the next until a Ruby is mapped, then on to ruby_run_node(). */
static int run_to_hold(struct launch *l, struct hold *h, int prog_fd, bool is_multi, struct err *e)
{
	bool placed = false;
	int stop = 0, sig = 0, err;

	while (next_stop(l, &stop)) {
		sig = signal_of(stop);
		if (stop >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8) && placed) {
			uprobes_detach(&h->probe);	/* another program now */
			ruby_release(&h->ruby);
			placed = false;
		}
		if (placed && sig == SIGSTOP) {
			l->is_held = true;
			return 0;
		}
		if (!placed && !sig && find_ruby(h, l->pid)) {
			err = place_probe(h, l->pid, prog_fd, is_multi, e);
			if (err)
				return err;
			placed = true;
		}
		ptrace(placed ? PTRACE_CONT : PTRACE_SYSCALL, l->pid, NULL, (void *)(long)sig);
	}
	return 0;
}

int launch_start(struct launch *l, char **argv, const sigset_t *mask, int prog_fd, bool is_multi,
		 struct err *e)
{
	auto_free struct hold *h = calloc(1, sizeof(*h));
	int err, stop;

	*l = (struct launch){ 0 };
	if (!h)
		return err_nomem(e);
	h->probe = UPROBES_NONE;
	h->ruby.proc.pidfd = -1;
	err = fork_command(l, argv, mask, e);
	if (err || !next_stop(l, &stop))
		return err;
	ptrace(PTRACE_SETOPTIONS, l->pid, NULL, (void *)(long)OPTIONS);
	ptrace(PTRACE_SYSCALL, l->pid, NULL, NULL);
	err = run_to_hold(l, h, prog_fd, is_multi, e);
	uprobes_detach(&h->probe);
	ruby_release(&h->ruby);
	if (err) {
		kill(l->pid, SIGKILL);
		launch_wait(l);
	}
	return err;
}

void launch_release(struct launch *l)
{
	if (l->is_held)
		ptrace(PTRACE_DETACH, l->pid, NULL, NULL);
	l->is_held = false;
}

void launch_abort(struct launch *l)
{
	if (!l->is_held)
		return;
	kill(l->pid, SIGKILL);
	launch_wait(l);
	*l = (struct launch){ 0 };
}

bool launch_poll(struct launch *l, int fd)
{
	auto_close int pidfd = l->has_ended ? -1 : (int)syscall(SYS_pidfd_open, l->pid, 0);
	struct pollfd fds[] = {
		{ .fd = pidfd, .events = POLLIN }, { .fd = fd, .events = POLLIN },
	};

	if (pidfd >= 0)
		poll(fds, ARRAY_LEN(fds), -1);
	if (fds[1].revents)
		return false;
	launch_wait(l);
	return true;
}

void launch_wait(struct launch *l)
{
	while (!l->has_ended) {
		int status;

		if (waitpid(l->pid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		if (WIFSTOPPED(status))
			continue;
		l->has_ended = true;
		l->status = status;
	}
}
