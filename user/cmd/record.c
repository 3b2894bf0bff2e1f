// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "cmd/cmd.h"
#include "cmd/record_options.h"
#include "trace/trace.h"
#include "util/scope.h"

struct recording {
	struct trace_writer *writer;
	struct capture *capture;
	struct launch launch;	/* pid 0 without a command */
	int stop_fd;
	uint64_t nr_events;
	int err;
	struct err e;
};

static void write_event(void *arg, const struct event *ev)
{
	struct recording *r = arg;

	if (r->err || !r->writer)
		return;
	r->nr_events++;
	r->err = trace_write(r->writer, ev, &r->e);
	if (r->err)
		capture_abort(r->capture);
}

/* What was captured so far survives whatever happens to this tool. */
static void flush_events(void *arg)
{
	struct recording *r = arg;

	if (r->err || !r->writer)
		return;
	r->err = trace_flush(r->writer, &r->e);
	if (r->err)
		capture_abort(r->capture);
}

static int open_output(const char *name, struct err *e)
{
	int fd;

	if (strcmp(name, "-") == 0 && isatty(STDOUT_FILENO))
		return err_set(e, REASON_USAGE, -EINVAL,
			       "-o -: a trace is not for a terminal; give a file or a pipe");
	if (strcmp(name, "-") == 0)
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	/* a named pipe without a reader is an error, not a wait that no signal ends */
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
	if (fd < 0)
		return err_set(e, REASON_SYS, -errno, "%s: %s", name,
			       errno == ENXIO ? "a pipe that nobody reads" : strerror(errno));
	fcntl(fd, F_SETFL, 0);
	return fd;
}

/*
 * The first Ctrl-C ends the capture in order, the second at once. A command gets its own from the
 * terminal: its end is the capture's end.
 */
static int open_stop_fd(void)
{
	sigset_t stop, blocked;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	blocked = stop;
	/* a write that cannot be done is an error to report, not a death */
	sigaddset(&blocked, SIGPIPE);
	sigaddset(&blocked, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	return signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void allow_second_stop(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int take_stop(int stop_fd)
{
	struct signalfd_siginfo info;

	return read(stop_fd, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}

/* A signal to this tool is the command's. The terminal's Ctrl-C has reached it by itself. */
static void forward(const struct launch *l, int sig)
{
	if (sig && sig != SIGINT && !l->has_ended)
		kill(l->pid, sig);
}

static enum capture_end run(struct record_options *o, struct recording *rec)
{
	int interrupts = 0;

	for (;;) {
		enum capture_end end = capture_run(rec->capture, o->duration_ns, rec->stop_fd);
		int sig;

		if (end != CAPTURE_INTERRUPT)
			return end;
		sig = take_stop(rec->stop_fd);
		interrupts += sig == SIGINT;
		if (o->command && interrupts < 2) {
			forward(&rec->launch, sig);
			continue;
		}
		allow_second_stop();
		return end;
	}
}

static char *join(int argc, char **argv)
{
	size_t size = 1;
	char *s;

	for (int i = 1; i < argc; i++)
		size += strlen(argv[i]) + 1;
	s = calloc(1, size);
	for (int i = 1; s && i < argc; i++) {
		if (i > 1)
			strcat(s, " ");
		strcat(s, argv[i]);
	}
	return s;
}

static void scope_capture(struct capture **c)
{
	capture_free(*c);
}

static void scope_writer(struct trace_writer **w)
{
	trace_writer_free(*w);
}

static void say_target(const struct record_options *o, const struct tracee *te)
{
	const struct proc *p = &te->ruby.proc;

	if (o->quiet)
		return;
	fprintf(stderr, "Tracing process %d (%s, Ruby %s)%s\n", p->pid, p->comm, te->ruby.version,
		o->duration_ns || o->command ? "" : "; Ctrl-C ends it");
	if (te->extras.measures & MEASURE_LARGE && !te->extras.copying.has_places)
		fprintf(stderr, "  --copies exact cannot be had, they are sampled: %s\n",
			te->extras.copying.why_lib.msg);
	if ((p->state == 'T' || p->state == 't') && !o->command)
		fprintf(stderr, "  it is stopped (%s): nothing happens until it continues\n",
			p->tracer ? "a debugger holds it" : "SIGSTOP");
}

static int attach_all(const struct record_options *o, struct capture *c, struct err *e)
{
	for (int i = 0; i < o->nr_pids; i++) {
		int err = capture_add(c, o->pids[i], e);

		if (err)
			return err;
	}
	return 0;
}

/* The command, held before its first line. */
static int launch(struct record_options *o, struct recording *rec, const sigset_t *mask, struct err *e)
{
	int err = capture_launch(rec->capture, &rec->launch, o->command, mask, e);

	if (err)
		return err;
	if (rec->launch.has_ended)
		return err_set(e, REASON_NOT_RUBY, -ESRCH, "%s ended without having run Ruby",
			       o->command[0]);
	o->pids[o->nr_pids++] = rec->launch.pid;
	return 0;
}

/* Nothing is overwritten before it is known that there is something to record. */
static int start(struct record_options *o, struct recording *rec, const char *line, int *fd,
		 struct trace_writer **w, struct err *e)
{
	auto_free char *facts = NULL;
	int err = attach_all(o, rec->capture, e);

	if (err)
		return err;
	*fd = open_output(o->output, e);
	if (*fd < 0)
		return *fd;
	facts = record_facts(rec->capture, line);
	if (!facts)
		return err_nomem(e);
	err = trace_writer_open(w, *fd, facts, e);
	if (err)
		return err;
	rec->writer = *w;
	err = capture_start(rec->capture, e);
	for (uint32_t i = 0; !err && i < capture_nr_tracees(rec->capture); i++)
		say_target(o, capture_tracee(rec->capture, i));
	return err;
}

static int finish(const struct record_options *o, struct recording *rec, enum capture_end end, struct err *e)
{
	auto_free char *totals = NULL;

	capture_stop(rec->capture);
	totals = record_totals(rec->capture, end);
	if (!rec->err)
		rec->err = totals ? trace_finish(rec->writer, totals, &rec->e) : err_nomem(&rec->e);
	if (rec->err) {
		*e = rec->e;
		return rec->err;
	}
	if (!o->quiet)
		fprintf(stderr, "%s: %lu events, %lu bytes (%s). See: gvlscope report %s\n", o->output,
			rec->nr_events, trace_writer_bytes(rec->writer), capture_end_name(end),
			o->output);
	return 0;
}

static int record(struct record_options *o, struct recording *rec, const char *line, struct err *e)
{
	sigset_t before;
	auto_release(scope_capture) struct capture *c = NULL;
	auto_release(scope_writer) struct trace_writer *w = NULL;
	auto_close int fd = -1;
	int err;

	o->capture.sink = (struct sink){ write_event, flush_events, rec };
	err = capture_open(&c, &o->capture, e);
	if (err)
		return err;
	rec->capture = c;
	sigprocmask(SIG_SETMASK, NULL, &before);
	err = o->command ? launch(o, rec, &before, e) : 0;
	if (err)
		return err;
	rec->stop_fd = open_stop_fd();
	err = start(o, rec, line, &fd, &w, e);
	if (err) {
		launch_abort(&rec->launch);
		return err;
	}
	launch_release(&rec->launch);
	return finish(o, rec, run(o, rec), e);
}

/* What a shell would have seen of the command: its exit status, or its death by a signal. */
static int command_status(struct recording *rec)
{
	struct launch *l = &rec->launch;

	while (!launch_poll(l, rec->stop_fd))
		forward(l, take_stop(rec->stop_fd));
	if (!WIFSIGNALED(l->status))
		return WEXITSTATUS(l->status);
	signal(WTERMSIG(l->status), SIG_DFL);
	allow_second_stop();
	raise(WTERMSIG(l->status));
	return 128 + WTERMSIG(l->status);
}

int cmd_record(int argc, char **argv)
{
	struct record_options o;
	struct recording rec = { .stop_fd = -1 };
	struct err e = { 0 };
	auto_free char *line = join(argc, argv);
	int err = record_options_parse(&o, argc, argv, &e), status = EXIT_DONE;

	if (!err)
		err = record(&o, &rec, line ? line : "", &e);
	if (err)
		cmd_fail(&e);
	if (rec.launch.pid)
		status = command_status(&rec);
	return err && !status ? (int)reason_status(e.reason) : status;
}
