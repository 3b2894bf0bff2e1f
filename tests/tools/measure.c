// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * measure COMMAND [ARGS...]
 *
 * Runs the command and prints "SECONDS wall, SECONDS cpu, KIB KiB" of it on stderr, last of all.
 * Exit status of the command, 128 + signal, or 127.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec * 1e-6;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	double start = now();
	struct rusage use;
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: measure COMMAND [ARGS...]\n");
		return 2;
	}
	pid = fork();
	if (pid < 0)
		return 127;
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &use) != pid)
		return 127;
	fprintf(stderr, "%.3f wall, %.3f cpu, %ld KiB\n", now() - start,
		seconds(use.ru_utime) + seconds(use.ru_stime), use.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
