// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * replay FILE: runs what a trace recorded of each lock again, unchanged, and prints a line "name value ..."
 * for each lock: recorded and replayed waiting, time with the lock and span, in ns.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "ref/simulate.h"
#include "trace/trace.h"
#include "util/scope.h"

static void scope_reader(struct trace_reader **r)
{
	trace_reader_free(*r);
}

static int print(const struct schedule_lock *l, struct err *e)
{
	const struct lock_totals *t = &l->lock->totals;
	const struct simulate_options o = simulate_options(l);
	auto_release(simulated_release) struct simulated r = { 0 };
	int err = simulate(&r, l, &o, e);

	if (err)
		return err;
	printf("lock %u design %s wait_ns %" PRIu64 " %" PRIu64 " hold_ns %" PRIu64 " %" PRIu64
	       " span_ns %" PRIu64 " %" PRIu64 " switches %" PRIu64 " %" PRIu64
	       " left_out %" PRIu64 "\n", l->lock->id, o.design == REF_LOCK_31 ? "3.1" : "3.3",
	       t->wait.ns.sum, r.wait_ns, t->hold.ns.sum, r.hold_ns, t->seen_ns, r.span_ns,
	       t->switches, r.switches, l->copies_left_out);
	return 0;
}

static int replay(const char *path, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_release(scope_reader) struct trace_reader *reader = NULL;
	auto_release(schedule_release) struct schedule s;
	struct event ev;
	int err;

	schedule_init(&s);
	err = trace_reader_open(&reader, fd, path, e);
	while (!err && (err = trace_read(reader, &ev, e)) == 1)
		err = schedule_add(&s, &ev, e);
	if (!err)
		err = schedule_finish(&s, e);
	for (size_t i = 0; !err && i < s.nr_locks; i++)
		if (s.locks[i])
			err = print(s.locks[i], e);
	return err;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: replay FILE\n");
		return EXIT_USAGE;
	}
	if (replay(argv[1], &e)) {
		fprintf(stderr, "replay: %s (%s)\n", e.msg, reason_id(e.reason));
		return reason_status(e.reason);
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_DONE : EXIT_RUNTIME;
}
