// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/selftest.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "probe/capture.h"
#include "ref/lock.h"
#include "util/clock.h"
#include "util/scope.h"

enum { THREADS = 4, ROUNDS = 100, CHECKS = 10000 };

#define QUANTUM_NS NS_PER_MS
#define LIMIT_NS (20 * NS_PER_SEC)

/* One lock, and who uses it: a thread that owns it from the start on, and others. */
struct party {
	struct ref_lock lock;
	struct ref_thread first;
	struct ref_thread others[THREADS];
};

/* What the tool reads of a VM; its Ractors are the locks. Shared with the scratch process. */
struct vm {
	struct ref_list ractors;
	struct ref_lock *main_ractor;
	struct ref_thread *main_thread;
	struct party parties[REF_LOCK_DESIGNS];
};

static struct layout vm_layout(void)
{
	struct layout l;

#define NONE(name, paths) l.name = LAYOUT_NONE;
	LAYOUT_MEMBERS(NONE)
#undef NONE
	l.vm_ractors = offsetof(struct vm, ractors);
	l.vm_main_ractor = offsetof(struct vm, main_ractor);
	l.vm_main_thread = offsetof(struct vm, main_thread);
	l.ractor_node = offsetof(struct ref_lock, node);
	l.ractor_id = offsetof(struct ref_lock, id);
	l.ractor_sched = offsetof(struct ref_lock, mutex);
	l.ractor_owner = offsetof(struct ref_lock, owner);
	l.ractor_queue = offsetof(struct ref_lock, queue);
	l.ractor_queue_count = offsetof(struct ref_lock, nr_queued);
	l.thread_vm = offsetof(struct ref_thread, vm);
	l.thread_ractor = offsetof(struct ref_thread, lock);
	l.thread_queue_node = offsetof(struct ref_thread, queue_node);
	l.thread_tid = offsetof(struct ref_thread, tid);
	return l;
}

static int vm_init(struct vm *vm)
{
	ref_list_init(&vm->ractors);
	vm->main_ractor = &vm->parties[0].lock;
	vm->main_thread = &vm->parties[0].first;
	for (uint32_t i = 0; i < REF_LOCK_DESIGNS; i++) {
		struct party *p = &vm->parties[i];
		int err = ref_lock_init(&p->lock, i, QUANTUM_NS);

		if (err)
			return err;
		p->lock.id = i + 1;
		ref_list_add_tail(&vm->ractors, &p->lock.node);
		ref_thread_init(&p->first, &p->lock);
		p->first.vm = vm;
		for (int k = 0; k < THREADS; k++)
			p->others[k] = (struct ref_thread){ .lock = &p->lock, .vm = vm };
		ref_lock_acquire(&p->lock, &p->first);
	}
	return 0;
}

static void *take_part(void *arg)
{
	struct ref_thread *me = arg;
	struct ref_lock *l = me->lock;
	void *vm = me->vm;

	ref_thread_init(me, l);
	me->vm = vm;
	for (int i = 0; i < ROUNDS; i++) {
		ref_lock_acquire(l, me);
		for (int k = 0; k < CHECKS; k++)
			ref_lock_check(l, me);
		ref_lock_drop(l, me);
	}
	ref_thread_destroy(me);
	return NULL;
}

/* The first one computes until it has to yield: a quantum ends and somebody queues, certainly. */
static int party_play(struct party *p)
{
	pthread_t threads[THREADS];
	int nr = 0;

	while (nr < THREADS && !pthread_create(&threads[nr], NULL, take_part, &p->others[nr]))
		nr++;
	while (nr && !ref_lock_check(&p->lock, &p->first))
		;
	ref_lock_drop(&p->lock, &p->first);
	for (int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
	return nr == THREADS ? 0 : -EAGAIN;
}

/* Says that it is ready, waits for a word, plays, says so, waits to be ended. */
static void play(struct vm *vm, int tool)
{
	char c = 'r';

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (vm_init(vm) || write(tool, &c, 1) != 1 || read(tool, &c, 1) != 1)
		_exit(1);
	for (int i = 0; i < REF_LOCK_DESIGNS; i++)
		if (party_play(&vm->parties[i]))
			_exit(1);
	if (write(tool, &c, 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static void count_event(void *arg, const struct event *ev)
{
	struct selftest *s = arg;

	if (ev->kind == EVENT_OWNER)
		s->changes_seen++;
	if (ev->kind == EVENT_QUEUE)
		s->entries_seen++;
}

/* Adds what the locks have counted @times: -1 takes it back. */
static void count_made(struct selftest *s, const struct vm *vm, int times)
{
	for (int i = 0; i < REF_LOCK_DESIGNS; i++) {
		s->changes_made += times * vm->parties[i].lock.counts.changes;
		s->entries_made += times * vm->parties[i].lock.counts.entries;
	}
}

static int find_self(void *arg, const struct proc_map *m)
{
	struct ruby *r = arg;
	uint64_t code = (uintptr_t)ref_set_owner;

	if (!m->executable || code < m->start || code >= m->end)
		return 0;
	return object_open(&r->object, &r->proc, m, NULL) == 0;
}

/* Makes @te what tracee_open() would have found, had the scratch process been a Ruby. */
static int present(struct tracee *te, const void *vm, struct err *e)
{
	struct ruby *r = &te->ruby;
	const uint64_t writers[] = { (uintptr_t)ref_set_owner, (uintptr_t)ref_set_tail };
	int err = proc_init(&r->proc, te->pid, e);

	if (err)
		return err;
	r->has_object = proc_maps(&r->proc, find_self, r, e) == 1;
	if (!r->has_object)
		return err_set(e, REASON_ELF, -ENOENT, "the tool's own code cannot be read");
	snprintf(r->version, sizeof(r->version), "selftest");
	r->layout = vm_layout();
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

static int trace(struct selftest *s, const struct vm *vm, pid_t pid, int scratch, struct err *e)
{
	struct capture_options opt = { .sink = { .event = count_event, .arg = s } };
	auto_release(scope_capture) struct capture *c = NULL;
	struct capture_totals t;
	int err = capture_open(&c, &opt, e);
	char word;

	if (!err && read(scratch, &word, 1) != 1)
		err = err_set(e, REASON_SYS, -EIO, "the scratch process has ended");
	if (!err)
		err = capture_add_as(c, pid, present, vm, e);
	if (!err)
		err = capture_start(c, e);
	if (err)
		return err;
	count_made(s, vm, -1);
	if (send(scratch, "g", 1, MSG_NOSIGNAL) != 1)
		return err_sys(e, errno, "the scratch process");
	capture_run(c, LIMIT_NS, scratch);
	capture_stop(c);
	count_made(s, vm, 1);
	capture_totals(c, &t);
	s->lost = t.stats[STAT_LOST_RING] + t.stats[STAT_LOST_READ] + t.unseen_writer;
	if (recv(scratch, &word, 1, MSG_DONTWAIT) != 1)
		return err_set(e, REASON_SYS, -EIO, "the scratch process does not come to its end");
	if (s->changes_seen != s->changes_made || s->entries_seen != s->entries_made || s->lost)
		return err_set(e, REASON_SYS, -EIO,
			       "the trace of the scratch process does not have what it did");
	return 0;
}

void selftest_run(struct selftest *out)
{
	struct vm *vm = mmap(NULL, sizeof(*vm), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2];
	pid_t pid;

	*out = (struct selftest){ 0 };
	if (vm == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
		err_sys(&out->why, errno, "the scratch process");
		if (vm != MAP_FAILED)
			munmap(vm, sizeof(*vm));
		return;
	}
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		play(vm, ends[1]);
	}
	close(ends[1]);
	if (pid > 0) {
		out->passed = trace(out, vm, pid, ends[0], &out->why) == 0;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	} else {
		err_sys(&out->why, errno, "the scratch process");
	}
	close(ends[0]);
	munmap(vm, sizeof(*vm));
}
