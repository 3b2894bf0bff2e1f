// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cmd/record.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "cmd/cmd.h"
#include "target/find.h"
#include "trace/trace.h"
#include "util/parse.h"
#include "util/scope.h"

static const char usage[] =
	"usage: gvlscope record (-p PID[,PID...] | --comm NAME | -- COMMAND...) [options]\n"
	"\n"
	"Traces the GVL of running Ruby processes and writes a trace file for `gvlscope report`.\n"
	"A COMMAND is held before its program's first line until tracing is on; what it executes\n"
	"(exec) is followed, what it starts besides only with --children.\n"
	"\n"
	"  -p, --pid PID[,PID...]   trace these processes\n"
	"      --comm NAME          trace every Ruby process called NAME\n"
	"  -d, --duration TIME      stop after TIME (5s, 200ms, 2m); default: Ctrl-C or its end\n"
	"  -o, --output FILE        trace file, - for stdout (default gvlscope.gvs)\n"
	"      --method METHOD      sites: learn by watching, then probe (default); watch: only watch\n"
	"      --only LIST          measure only these: gvl, close, block, copy (default: all; gvl always)\n"
	"      --region-names       name the C functions that run without the lock (one more probe)\n"
	"      --copies HOW          exact: tell each large copy, not only IO::Buffer's; sampled (default)\n"
	"      --copy-min BYTES      smaller copies are only tallied (default 16K)\n"
	"      --budget PCT         cost the process at most PCT percent of its time\n"
	"      --children           follow forked processes\n"
	"      --layout-from VER    try the layout of Ruby VER for an unknown version\n"
	"      --ring-size BYTES    buffer between kernel and tool (power of two; default 16M)\n"
	"  -v, --verbose            say more;  -q, --quiet  say only what failed\n"
	"  -h, --help\n";

enum { PIDS_MAX = 256, COPY_MIN = 16 << 10 };

struct options {
	pid_t pids[PIDS_MAX];
	int nr_pids;
	uint64_t duration_ns;
	const char *output;
	unsigned int functions;	/* MEASURE_FUNCTIONS or 0 */
	unsigned int copies;	/* MEASURE_LARGE or 0 */
	char **command;		/* NULL, or what follows -- */
	bool quiet;
	struct capture_options capture;
};

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

static int parse_pids(struct options *o, const char *arg, struct err *e)
{
	auto_free char *copy = strdup(arg);
	char *save = NULL;

	if (!copy)
		return err_nomem(e);
	for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		uint64_t pid;

		if (parse_u64(s, &pid) || pid == 0 || pid > INT32_MAX)
			return err_set(e, REASON_USAGE, -EINVAL, "-p %s: not a process id", s);
		if (o->nr_pids == PIDS_MAX)
			return err_set(e, REASON_USAGE, -E2BIG, "-p: more than %d processes",
				       PIDS_MAX);
		o->pids[o->nr_pids++] = pid;
	}
	return 0;
}

static int parse_method(const char *arg, enum method *out, struct err *e)
{
	for (enum method m = METHOD_SITES; m <= METHOD_WATCH; m++)
		if (strcmp(arg, method_name(m)) == 0) {
			*out = m;
			return 0;
		}
	return err_set(e, REASON_USAGE, -EINVAL, "--method %s: not one of sites, watch", arg);
}

enum { OPT_COMM = 256, OPT_METHOD, OPT_ONLY, OPT_REGIONS, OPT_COPIES, OPT_COPY_MIN, OPT_BUDGET, OPT_CHILDREN, OPT_LAYOUT, OPT_RING };

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "comm", required_argument, NULL, OPT_COMM },
	{ "duration", required_argument, NULL, 'd' },
	{ "output", required_argument, NULL, 'o' },
	{ "method", required_argument, NULL, OPT_METHOD },
	{ "only", required_argument, NULL, OPT_ONLY },
	{ "region-names", no_argument, NULL, OPT_REGIONS },
	{ "copies", required_argument, NULL, OPT_COPIES },
	{ "copy-min", required_argument, NULL, OPT_COPY_MIN },
	{ "budget", required_argument, NULL, OPT_BUDGET },
	{ "children", no_argument, NULL, OPT_CHILDREN },
	{ "layout-from", required_argument, NULL, OPT_LAYOUT },
	{ "ring-size", required_argument, NULL, OPT_RING },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int parse_comm(struct options *o, const char *name, struct err *e)
{
	int n = find_rubies(name, o->pids + o->nr_pids, PIDS_MAX - o->nr_pids);

	if (n <= 0)
		return err_set(e, REASON_NO_PROCESS, -ESRCH, "--comm %s: no Ruby process is called so",
			       name);
	o->nr_pids += n;
	return 0;
}

static int parse_ring(const char *arg, uint32_t *out, struct err *e)
{
	uint64_t n;

	if (parse_size(arg, &n) || n < 4096 || n > 1u << 30 || (n & (n - 1)))
		return err_set(e, REASON_USAGE, -EINVAL,
			       "--ring-size %s: not a power of two from 4K to 1G", arg);
	*out = n;
	return 0;
}

static int parse_only(const char *arg, unsigned int *out, struct err *e)
{
	static const struct {
		const char *name;
		unsigned int measures;
	} parts[] = { { "gvl", 0 }, { "close", MEASURE_CLOSE }, { "block", MEASURE_BLOCK },
		      { "copy", MEASURE_COPY } };
	auto_free char *copy = strdup(arg);
	char *save = NULL;

	if (!copy)
		return err_nomem(e);
	*out = 0;
	for (char *s = strtok_r(copy, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		size_t i = 0;

		while (i < ARRAY_LEN(parts) && strcmp(s, parts[i].name) != 0)
			i++;
		if (i == ARRAY_LEN(parts))
			return err_set(e, REASON_USAGE, -EINVAL,
				       "--only %s: not one of gvl, close, block, copy", s);
		*out |= parts[i].measures;
	}
	return 0;
}

static int parse_copies(const char *arg, unsigned int *out, struct err *e)
{
	*out = strcmp(arg, "exact") == 0 ? MEASURE_LARGE : 0;
	if (*out || strcmp(arg, "sampled") == 0)
		return 0;
	return err_set(e, REASON_USAGE, -EINVAL, "--copies %s: not one of exact, sampled", arg);
}

static int parse_copy_min(const char *arg, uint32_t *out, struct err *e)
{
	uint64_t n;

	if (parse_size(arg, &n) || n > 1u << 30)
		return err_set(e, REASON_USAGE, -EINVAL, "--copy-min %s: not a size up to 1G", arg);
	*out = n;
	return 0;
}

static int parse_budget(const char *arg, double *out, struct err *e)
{
	double pct;

	if (parse_double(arg, &pct) || !(pct > 0 && pct <= 100))
		return err_set(e, REASON_USAGE, -EINVAL, "--budget %s: not a percentage above 0 and up to 100", arg);
	*out = pct / 100;
	return 0;
}

static int parse_one(struct options *o, int opt, const char *arg, struct err *e)
{
	switch (opt) {
	case 'p':
		return parse_pids(o, arg, e);
	case OPT_COMM:
		return parse_comm(o, arg, e);
	case 'd':
		if (parse_time(arg, &o->duration_ns) || !o->duration_ns)
			return err_set(e, REASON_USAGE, -EINVAL, "-d %s: not a time like 5s or 200ms",
				       arg);
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case OPT_METHOD:
		return parse_method(arg, &o->capture.method, e);
	case OPT_ONLY:
		return parse_only(arg, &o->capture.measures, e);
	case OPT_REGIONS:
		o->functions = MEASURE_FUNCTIONS;
		return 0;
	case OPT_COPIES:
		return parse_copies(arg, &o->copies, e);
	case OPT_COPY_MIN:
		return parse_copy_min(arg, &o->capture.copy_min, e);
	case OPT_BUDGET:
		return parse_budget(arg, &o->capture.budget, e);
	case OPT_CHILDREN:
		o->capture.children = true;
		return 0;
	case OPT_LAYOUT:
		o->capture.ruby.layout_from = arg;
		return 0;
	case OPT_RING:
		return parse_ring(arg, &o->capture.ring_bytes, e);
	case 'v':
		o->capture.verbose = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	default:
		return err_set(e, REASON_USAGE, -EINVAL, "record: unknown option or missing value");
	}
}

static int parse(struct options *o, int argc, char **argv, struct err *e)
{
	int opt, err;

	*o = (struct options){ .output = "gvlscope.gvs", .capture.measures = MEASURE_ALL,
			       .capture.copy_min = COPY_MIN };
	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "+p:d:o:vqh", long_options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(usage, stdout);
			exit(EXIT_DONE);
		}
		err = parse_one(o, opt, optarg, e);
		if (err)
			return err;
	}
	if (o->capture.measures & MEASURE_BLOCK)
		o->capture.measures |= o->functions;
	if (o->capture.measures & MEASURE_COPY)
		o->capture.measures |= o->copies;
	if (optind < argc)
		o->command = argv + optind;
	if (o->command && strcmp(o->output, "-") == 0)
		return err_set(e, REASON_USAGE, -EINVAL,
			       "record: -o - with a command: its output would be in the trace; give a file");
	if (!o->nr_pids == !o->command)
		return err_set(e, REASON_USAGE, -EINVAL,
			       "record: give either -p PID, --comm NAME or -- COMMAND");
	return 0;
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

static enum capture_end run(struct options *o, struct recording *rec)
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

static void say_target(const struct options *o, const struct tracee *te)
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

static int attach_all(const struct options *o, struct capture *c, struct err *e)
{
	for (int i = 0; i < o->nr_pids; i++) {
		int err = capture_add(c, o->pids[i], e);

		if (err)
			return err;
	}
	return 0;
}

/* The command, held before its first line. */
static int launch(struct options *o, struct recording *rec, const sigset_t *mask, struct err *e)
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
static int start(struct options *o, struct recording *rec, const char *line, int *fd,
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

static int finish(const struct options *o, struct recording *rec, enum capture_end end, struct err *e)
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

static int record(struct options *o, struct recording *rec, const char *line, struct err *e)
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
	struct options o;
	struct recording rec = { .stop_fd = -1 };
	struct err e = { 0 };
	auto_free char *line = join(argc, argv);
	int err = parse(&o, argc, argv, &e), status = EXIT_DONE;

	if (!err)
		err = record(&o, &rec, line ? line : "", &e);
	if (err)
		cmd_fail(&e);
	if (rec.launch.pid)
		status = command_status(&rec);
	return err && !status ? (int)reason_status(e.reason) : status;
}
