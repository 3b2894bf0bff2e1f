// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/fake.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct list {
	struct list *next, *prev;
};

struct fake_ractor {
	struct list node;
	uint64_t mutex[5];
	struct fake_thread *running;
	struct list queue;
	uint32_t queue_count, id;
};

struct fake_thread {
	struct list queue_node;
	struct fake_ractor *ractor;
	struct fake_vm *vm;
	uint32_t tid, pad;
};

struct fake_vm {
	struct list ractors;
	struct fake_ractor *main_ractor;
	struct fake_thread *main_thread;
	struct fake_ractor ractor;
	unsigned int nr_threads;
	struct fake_thread threads[];
};

/*
 * The writers are written in assembly, so that it is known which instruction it is; the jump behind
 * each is a place that the kernel emulates.
 */
void fake_set_owner(struct fake_ractor *r, struct fake_thread *th);
void fake_set_tail(struct list *head, struct list *node);

#if defined(__x86_64__)
__asm__(".text\n"
	".globl fake_set_owner\n.type fake_set_owner,@function\n"
	"fake_set_owner: .cfi_startproc\n mov %rsi, 56(%rdi)\n jmp 1f\n1: ret\n .cfi_endproc\n"
	".globl fake_set_tail\n.type fake_set_tail,@function\n"
	"fake_set_tail: .cfi_startproc\n mov %rsi, 8(%rdi)\n jmp 1f\n1: ret\n .cfi_endproc\n");
_Static_assert(offsetof(struct fake_ractor, running) == 56, "known to the assembly");
#else
void fake_set_owner(struct fake_ractor *r, struct fake_thread *th)
{
	r->running = th;
}

void fake_set_tail(struct list *head, struct list *node)
{
	head->prev = node;
}
#endif

uint64_t fake_owner_writer(void)
{
	return (uintptr_t)fake_set_owner;
}

uint64_t fake_queue_writer(void)
{
	return (uintptr_t)fake_set_tail;
}

struct layout fake_layout(void)
{
	struct layout l;

#define NONE(name, paths) l.name = LAYOUT_NONE;
	LAYOUT_MEMBERS(NONE)
#undef NONE
	l.vm_ractors = offsetof(struct fake_vm, ractors);
	l.vm_main_ractor = offsetof(struct fake_vm, main_ractor);
	l.vm_main_thread = offsetof(struct fake_vm, main_thread);
	l.ractor_node = offsetof(struct fake_ractor, node);
	l.ractor_id = offsetof(struct fake_ractor, id);
	l.ractor_sched = offsetof(struct fake_ractor, mutex);
	l.ractor_owner = offsetof(struct fake_ractor, running);
	l.ractor_queue = offsetof(struct fake_ractor, queue);
	l.ractor_queue_count = offsetof(struct fake_ractor, queue_count);
	l.thread_vm = offsetof(struct fake_thread, vm);
	l.thread_ractor = offsetof(struct fake_thread, ractor);
	l.thread_queue_node = offsetof(struct fake_thread, queue_node);
	l.thread_tid = offsetof(struct fake_thread, tid);
	return l;
}

struct fake_vm *fake_new(unsigned int nr_threads)
{
	struct fake_vm *vm = calloc(1, sizeof(*vm) + nr_threads * sizeof(vm->threads[0]));
	struct fake_ractor *r;

	if (!vm)
		return NULL;
	r = &vm->ractor;
	r->id = 1;
	r->queue = (struct list){ &r->queue, &r->queue };
	r->node = (struct list){ &vm->ractors, &vm->ractors };
	r->running = &vm->threads[0];
	vm->ractors = (struct list){ &r->node, &r->node };
	vm->main_ractor = r;
	vm->main_thread = &vm->threads[0];
	vm->nr_threads = nr_threads;
	for (unsigned int i = 0; i < nr_threads; i++)
		vm->threads[i] = (struct fake_thread){
			.ractor = r, .vm = vm, .tid = syscall(SYS_gettid),
		};
	return vm;
}

static void enqueue(struct fake_ractor *r, struct fake_thread *th)
{
	struct list *node = &th->queue_node, *head = &r->queue;

	node->next = head;
	node->prev = head->prev;
	head->prev->next = node;
	fake_set_tail(head, node);
	r->queue_count++;
}

static struct fake_thread *dequeue(struct fake_ractor *r)
{
	struct list *node = r->queue.next;

	r->queue.next = node->next;
	if (node->next == &r->queue)
		fake_set_tail(&r->queue, &r->queue);
	else
		node->next->prev = &r->queue;
	r->queue_count--;
	return (struct fake_thread *)((char *)node - offsetof(struct fake_thread, queue_node));
}

void fake_round(struct fake_vm *vm)
{
	for (unsigned int i = 1; i < vm->nr_threads; i++)
		enqueue(&vm->ractor, &vm->threads[i]);
	for (unsigned int i = 1; i < vm->nr_threads; i++)
		fake_set_owner(&vm->ractor, dequeue(&vm->ractor));
	fake_set_owner(&vm->ractor, NULL);
	fake_set_owner(&vm->ractor, &vm->threads[0]);
}

uint64_t fake_changes_per_round(const struct fake_vm *vm)
{
	return vm->nr_threads + 1;
}

uint64_t fake_entries_per_round(const struct fake_vm *vm)
{
	return vm->nr_threads - 1;
}
