// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs both sides of a gate. Each run is a `gvlscope record` of its own: a process that can be
 * ended, and whose losses are its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cmd/gate.h"
#include "stat/sample.h"
#include "util/scope.h"

static const char *const side_names[GATE_SIDES] = { "baseline", "candidate" };

struct runner {
	const struct gate_plan *plan;
	char dir[64], trace[80];
	sigset_t signals;	/* that are waited for, blocked */
	sigset_t before;	/* what was blocked before: for commands */
};

/*
 * A process group of its own: Ctrl-C reaches this tool alone, which can then end all of the group.
 * Its standard output is no part of the gate's.
 */
static int spawn(const struct runner *r, char **words, pid_t *pid)
{
	char *record[] = { "gvlscope", "record", "-q", "-o", (char *)r->trace, "--" };
	auto_free char **argv = NULL;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	size_t nr = 0;
	int err;

	while (words[nr])
		nr++;
	argv = calloc(ARRAY_LEN(record) + nr + 1, sizeof(*argv));
	if (!argv)
		return ENOMEM;
	memcpy(argv, record, sizeof(record));
	memcpy(argv + ARRAY_LEN(record), words, nr * sizeof(*words));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &r->before);
	err = posix_spawn(pid, "/proc/self/exe", &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return err;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

/* False if it was interrupted; then nothing of its group is left. */
static bool wait_end(const struct runner *r, pid_t pid, int *status)
{
	int interrupts = 0;

	while (!has_ended(pid)) {
		int sig = sigwaitinfo(&r->signals, NULL);

		if (sig > 0 && sig != SIGCHLD)
			kill(-pid, interrupts++ ? SIGKILL : SIGTERM);
	}
	if (interrupts)
		kill(-pid, SIGKILL);
	waitpid(pid, status, 0);
	return !interrupts;
}

/* `record` ends as its command did. Without a trace it is `record` that failed. */
static int check_end(const struct runner *r, const char *name, int status, struct err *e)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	bool has_trace = access(r->trace, F_OK) == 0;

	if (WIFEXITED(status) && !code && has_trace)
		return 0;
	if (!has_trace && code == EXIT_CANNOT)
		return err_set(e, REASON_RUN_UNTRACED, -ENOTSUP, "%s: it cannot be traced here", name);
	if (!has_trace)
		return err_set(e, REASON_RUN_FAILED, -ECHILD, "%s: it could not be started and traced", name);
	if (WIFSIGNALED(status))
		return err_set(e, REASON_RUN_FAILED, -ECHILD, "%s: the command was ended by SIG%s", name,
			       sigabbrev_np(WTERMSIG(status)));
	return err_set(e, REASON_RUN_FAILED, -ECHILD, "%s: the command ended with status %d", name, code);
}

/* @nr from 1 on; 0 is a run that does not count. */
static int run_side(const struct runner *r, enum gate_side side, uint64_t nr, struct runs *runs,
		    struct err *e)
{
	char name[64];
	pid_t pid;
	int status = 0, err;

	if (nr)
		snprintf(name, sizeof(name), "%s run %" PRIu64, side_names[side], nr);
	else
		snprintf(name, sizeof(name), "%s warm-up", side_names[side]);
	err = spawn(r, r->plan->commands[side], &pid);
	if (err)
		return err_sys(e, err, name);
	if (!wait_end(r, pid, &status))
		return err_set(e, REASON_SYS, -EINTR, "%s: interrupted", name);
	err = check_end(r, name, status, e);
	if (!err && nr)
		err = gate_read_trace(&runs[side], name, r->trace, e);
	unlink(r->trace);
	return err;
}

static int run_pair(const struct runner *r, enum gate_side first, uint64_t nr, struct runs *runs,
		    struct err *e)
{
	const enum gate_side order[] = { first, first == GATE_BASELINE ? GATE_CANDIDATE : GATE_BASELINE };

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		int err = r->plan->commands[order[i]] ? run_side(r, order[i], nr, runs, e) : 0;

		if (err)
			return err;
	}
	return 0;
}

static int run_all(const struct runner *r, struct runs *runs, struct err *e)
{
	const struct gate_plan *p = r->plan;
	uint64_t random = p->seed;

	for (uint64_t i = 0; i < p->warmup + p->nr; i++) {
		uint64_t nr = i < p->warmup ? 0 : i - p->warmup + 1;
		enum gate_side first = random_next(&random) & 1 ? GATE_CANDIDATE : GATE_BASELINE;
		int err;

		if (!p->is_quiet && nr)
			fprintf(stderr, "Run %" PRIu64 " of %" PRIu64 "\n", nr, p->nr);
		err = run_pair(r, first, nr, runs, e);
		if (err)
			return err;
	}
	return 0;
}

static int open_dir(struct runner *r, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || !*tmp || strlen(tmp) > 32)
		tmp = "/tmp";
	snprintf(r->dir, sizeof(r->dir), "%s/gvlscope-gate-XXXXXX", tmp);
	if (!mkdtemp(r->dir))
		return err_sys(e, errno, r->dir);
	snprintf(r->trace, sizeof(r->trace), "%s/run.gvs", r->dir);
	return 0;
}

int gate_run(const struct gate_plan *p, struct runs runs[GATE_SIDES], struct err *e)
{
	static const int signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	struct runner r = { .plan = p };
	int err = open_dir(&r, e);

	if (err)
		return err;
	sigemptyset(&r.signals);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaddset(&r.signals, signals[i]);
	signal(SIGCHLD, SIG_DFL);	/* ignored, it would not come */
	sigprocmask(SIG_BLOCK, &r.signals, &r.before);
	if (!p->is_quiet)
		fprintf(stderr, "Running each side %" PRIu64 " times in random order, seed %" PRIu64 "\n",
			p->nr, p->seed);
	err = run_all(&r, runs, e);
	unlink(r.trace);
	rmdir(r.dir);
	sigprocmask(SIG_SETMASK, &r.before, NULL);
	return err;
}
