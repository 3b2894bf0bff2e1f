// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/calls.h"

#include <seccomp.h>
#include <stddef.h>

#include "util/scope.h"

/* Calls of which the first argument is the descriptor that is waited for. */
static const char *const with_fd[] = {
	"read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev",
	"pwritev2", "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg", "sendmmsg", "accept",
	"accept4", "connect", "bind", "listen", "shutdown", "getsockopt", "setsockopt", "flock", "fsync",
	"fdatasync", "fcntl", "ioctl", "lseek", "ftruncate", "fallocate", "fstat", "fstatfs", "fchmod",
	"fchown", "fchdir", "getdents64", "close", "sendfile", "splice", "tee", "copy_file_range",
	"epoll_wait", "epoll_pwait", "epoll_pwait2", "sync_file_range", "syncfs", "dup", "dup2", "dup3",
};

/* Calls that any code may make in passing: they do not say what it is about. */
static const char *const quiet[] = {
	"brk", "mmap", "munmap", "mremap", "madvise", "mprotect", "rt_sigprocmask", "rt_sigaction",
	"rt_sigreturn", "rt_sigpending", "sigaltstack", "getpid", "gettid", "getppid", "tgkill",
	"clock_gettime", "gettimeofday", "getrusage", "sched_yield", "getcpu", "rseq", "membarrier",
	"set_robust_list", "timer_settime", "timer_create", "timer_delete", "getrandom", "clone",
	"clone3", "sched_getaffinity", "prctl", "restart_syscall",
};

static uint32_t number(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	return nr >= 0 ? (uint32_t)nr : ~0u;	/* negative: not a call of this architecture */
}

static void set_bits(uint64_t bits[MAX_CALLS / 64], const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t nr = number(names[i]);

		if (nr < MAX_CALLS)
			bits[nr / 64] |= 1ULL << nr % 64;
	}
}

void calls_fill(struct call_table *out)
{
	uint64_t fds[MAX_CALLS / 64] = { 0 }, silent[MAX_CALLS / 64] = { 0 };

	*out = (struct call_table){
		.futex = number("futex"), .read = number("read"), .poll = number("poll"), .ppoll = number("ppoll"),
		.close = number("close"), .dup2 = number("dup2"), .dup3 = number("dup3"),
	};
	set_bits(fds, with_fd, ARRAY_LEN(with_fd));
	set_bits(silent, quiet, ARRAY_LEN(quiet));
	for (size_t i = 0; i < MAX_CALLS / 64; i++) {
		out->with_fd[i] = fds[i];
		out->quiet[i] = silent[i];
	}
}
