// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/selftest.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "probe/capture.h"
#include "probe/fake.h"
#include "util/scope.h"

enum { THREADS = 5, ROUNDS = 200 };

static void count_event(void *arg, const struct event *ev)
{
	struct selftest *s = arg;

	if (ev->kind == EVENT_OWNER)
		s->changes_seen++;
	if (ev->kind == EVENT_QUEUE)
		s->entries_seen++;
}

/* Waits for one byte, does all rounds, says so, waits to be ended. */
static void play(struct fake_vm *vm, int go, int done)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go, &c, 1) != 1)
		_exit(1);
	for (int i = 0; i < ROUNDS; i++)
		fake_round(vm);
	if (write(done, "d", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static int find_self(void *arg, const struct proc_map *m)
{
	struct ruby *r = arg;
	uint64_t code = fake_owner_writer();

	if (!m->executable || code < m->start || code >= m->end)
		return 0;
	return object_open(&r->object, &r->proc, m, NULL) == 0;
}

/* Makes @te what tracee_open() would have found, had the scratch process been a Ruby. */
static int present(struct tracee *te, const void *vm, struct err *e)
{
	struct ruby *r = &te->ruby;
	const uint64_t writers[] = { fake_owner_writer(), fake_queue_writer() };
	int err = proc_init(&r->proc, te->pid, e);

	if (err)
		return err;
	r->has_object = proc_maps(&r->proc, find_self, r, e) == 1;
	if (!r->has_object)
		return err_set(e, REASON_ELF, -ENOENT, "the tool's own code cannot be read");
	snprintf(r->version, sizeof(r->version), "selftest");
	r->layout = fake_layout();
	r->vm = (uintptr_t)vm;
	te->resume = SOURCE_SITES;
	for (size_t i = 0; i < ARRAY_LEN(writers) && !err; i++)
		err = site_choose(&te->sites[te->nr_sites++], &r->object,
				  writers[i] - r->object.bias, false,
				  i ? WORD_QUEUE : WORD_OWNER, e);
	return err;
}

static void scope_capture(struct capture **c)
{
	capture_free(*c);
}

static int trace(struct selftest *s, const struct fake_vm *vm, pid_t pid, int go, int done,
		 struct err *e)
{
	struct capture_options opt = { .sink = { .event = count_event, .arg = s } };
	auto_release(scope_capture) struct capture *c = NULL;
	struct capture_totals t;
	int err = capture_open(&c, &opt, e);

	if (!err)
		err = capture_add_as(c, pid, present, vm, e);
	if (!err)
		err = capture_start(c, e);
	if (err)
		return err;
	if (write(go, "g", 1) != 1)
		return err_sys(e, errno, "the scratch process");
	capture_run(c, 5000000000ULL, done);
	capture_stop(c);
	capture_totals(c, &t);
	s->lost = t.stats[STAT_LOST_RING] + t.stats[STAT_LOST_READ] + t.unseen_writer;
	return 0;
}

void selftest_run(struct selftest *out)
{
	auto_free struct fake_vm *vm = fake_new(THREADS);
	int go[2], done[2];
	pid_t pid;

	memset(out, 0, sizeof(*out));
	if (!vm || pipe(go) || pipe(done)) {
		err_nomem(&out->why);
		return;
	}
	out->changes_made = ROUNDS * fake_changes_per_round(vm);
	out->entries_made = ROUNDS * fake_entries_per_round(vm);
	pid = fork();
	if (pid == 0)
		play(vm, go[0], done[1]);
	if (pid > 0 && trace(out, vm, pid, go[1], done[0], &out->why) == 0) {
		out->passed = out->changes_seen == out->changes_made &&
			      out->entries_seen == out->entries_made && !out->lost;
		if (!out->passed)
			err_set(&out->why, REASON_SYS, -EIO,
				"the trace of the scratch process does not have what it did");
	}
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	close(go[0]);
	close(go[1]);
	close(done[0]);
	close(done[1]);
}
