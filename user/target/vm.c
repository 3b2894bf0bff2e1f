// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finding rb_vm_t by what must hold of it, and reading the locks from there. */
#include "target/ruby.h"

#include <errno.h>
#include <string.h>

#include "util/scope.h"

/* Every list of the target is walked at most this far: it may change, or be no list at all. */
enum { RACTORS_MAX = 4096 };

/*
 * With t = vm->ractor.main_thread and r = vm->ractor.main_ractor: t->vm == vm and t->ractor == r.
 * Of all words in libruby's data only ruby_current_vm_ptr (vm.c) points to something so linked.
 */
static bool is_vm(const struct ruby *r, uint64_t vm)
{
	const struct layout *l = &r->layout;
	uint64_t thread, ractor, back;

	return !proc_read_u64(&r->proc, vm + l->vm_main_thread, &thread) &&
	       !proc_read_u64(&r->proc, vm + l->vm_main_ractor, &ractor) &&
	       !proc_read_u64(&r->proc, thread + l->thread_vm, &back) && back == vm &&
	       !proc_read_u64(&r->proc, thread + l->thread_ractor, &back) && back == ractor;
}

/* The main Ractor must be in the list of all, at the place that the list's nodes say. */
static bool has_main_ractor(const struct ruby *r)
{
	struct ruby_lock locks[16];
	uint64_t main_ractor;
	int n = ruby_locks(r, locks, ARRAY_LEN(locks), NULL);

	if (proc_read_u64(&r->proc, r->vm + r->layout.vm_main_ractor, &main_ractor))
		return false;
	for (int i = 0; i < n; i++)
		if (locks[i].ractor == main_ractor)
			return true;
	return n == ARRAY_LEN(locks);	/* too many to say */
}

/* The locks must make sense too: else the layout is not this build's, however well it is linked. */
static bool locks_are_sane(const struct ruby *r)
{
	const struct layout *l = &r->layout;
	uint64_t owner, back, head, next, ractor;

	if (!has_main_ractor(r) || proc_read_u64(&r->proc, r->vm + l->vm_main_ractor, &ractor))
		return false;
	head = ractor + l->ractor_queue;
	/* list_node.prev of the first is the head; a queue in motion may fail this for once */
	if (proc_read_u64(&r->proc, ractor + l->ractor_owner, &owner) ||
	    proc_read_u64(&r->proc, head, &next) || proc_read_u64(&r->proc, next + 8, &back) ||
	    back != head)
		return false;
	return owner == 0 || (!proc_read_u64(&r->proc, owner + l->thread_vm, &back) && back == r->vm);
}

struct scan {
	struct ruby *r;
	int hits;
};

static int scan_span(struct scan *s, const struct span *span)
{
	const struct object *o = &s->r->object;
	uint64_t words[512];

	for (uint64_t at = (span->start + 7) & ~7ULL; at + 8 <= span->end; at += sizeof(words)) {
		size_t n = (span->end - at) / 8;

		if (n > ARRAY_LEN(words))
			n = ARRAY_LEN(words);
		if (proc_read(&s->r->proc, o->bias + at, words, n * 8))
			continue;
		for (size_t i = 0; i < n; i++) {
			if (words[i] < 4096 || (words[i] & 7) || !is_vm(s->r, words[i]))
				continue;
			s->hits += words[i] != s->r->vm;
			s->r->vm = words[i];
		}
	}
	return 0;
}

int ruby_find_vm(struct ruby *r, struct err *e)
{
	struct scan s = { .r = r };
	struct span span;

	r->vm = 0;
	for (size_t i = 0; object_segment(&r->object, true, i, &span); i++)
		scan_span(&s, &span);
	if (!proc_is_alive(&r->proc))
		return err_set(e, REASON_PROCESS_GONE, -ESRCH, "process %d ended while it was read",
			       r->proc.pid);
	if (s.hits != 1) {
		r->vm = 0;
		return err_set(e, s.hits ? REASON_LAYOUT_MISMATCH : REASON_VM_NOT_FOUND, -ENOENT,
			       "process %d: %d places in %s look like Ruby %s's VM, one is needed",
			       r->proc.pid, s.hits, r->object.path, r->version);
	}
	for (int i = 0; i < 100; i++)
		if (locks_are_sane(r))
			return 0;
	r->vm = 0;
	return err_set(e, REASON_LAYOUT_MISMATCH, -EINVAL,
		       "process %d: the lock of Ruby %s is not where its layout says", r->proc.pid,
		       r->version);
}

int ruby_locks(const struct ruby *r, struct ruby_lock *out, int max, struct err *e)
{
	const struct layout *l = &r->layout;
	uint64_t head = r->vm + l->vm_ractors, node = head, back;
	int n = 0;

	for (int i = 0; i < RACTORS_MAX; i++) {
		uint64_t ractor;

		if (proc_read_u64(&r->proc, node, &node))
			return err_set(e, REASON_LAYOUT_MISMATCH, -EFAULT,
				       "process %d: its list of Ractors cannot be read",
				       r->proc.pid);
		if (node == head || n == max)
			return n;
		ractor = node - l->ractor_node;
		if (proc_read_u64(&r->proc, node + 8, &back))
			continue;
		out[n] = (struct ruby_lock){
			.ractor = ractor, .owner_word = ractor + l->ractor_owner,
		};
		if (proc_read(&r->proc, ractor + l->ractor_id, &out[n].ractor_id, 4))
			continue;
		n++;
	}
	return n;
}

int ruby_read_lock(const struct ruby *r, uint64_t owner_word, struct lock_reading *out)
{
	const struct layout *l = &r->layout;
	uint64_t head = owner_word - l->ractor_owner + l->ractor_queue, node, prev = head, back;
	int err = proc_read_u64(&r->proc, owner_word, &out->owner);

	out->nr_queued = 0;
	out->truncated = false;
	if (err)
		return err;
	for (node = head;;) {
		err = proc_read_u64(&r->proc, node, &node);
		if (err)
			return err;
		if (node == head)
			return 0;
		err = proc_read_u64(&r->proc, node + 8, &back);
		if (err)
			return err;
		if (back != prev || out->nr_queued == LOCK_QUEUE_MAX) {
			out->truncated = true;
			return 0;
		}
		prev = node;
		out->queued[out->nr_queued++] = node - l->thread_queue_node;
	}
}

uint32_t ruby_thread_tid(const struct ruby *r, uint64_t thread)
{
	const struct layout *l = &r->layout;
	uint64_t native = thread;
	int32_t member = l->thread_tid;
	uint32_t tid = 0;

	if (l->native_tid >= 0) {
		if (proc_read_u64(&r->proc, thread + l->thread_native, &native) || !native)
			return 0;
		member = l->native_tid;
	}
	if (member < 0 || proc_read(&r->proc, native + member, &tid, sizeof(tid)))
		return 0;
	return tid;
}

bool ruby_is_mn_thread(const struct ruby *r, uint64_t thread)
{
	const struct layout *l = &r->layout;
	uint64_t ractor;
	bool mn = false;

	if (l->ractor_mn < 0 || proc_read_u64(&r->proc, thread + l->thread_ractor, &ractor) ||
	    proc_read(&r->proc, ractor + l->ractor_mn, &mn, sizeof(mn)))
		return false;
	return mn;
}

bool ruby_is_main_thread(const struct ruby *r, uint64_t thread)
{
	uint64_t main_thread;

	return !proc_read_u64(&r->proc, r->vm + r->layout.vm_main_thread, &main_thread) &&
	       main_thread == thread;
}
