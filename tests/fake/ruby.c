// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A stand-in for a Ruby: exports what CRuby exports, has its structures where 3.3.8 has them (or, with
 * -DSHIFT=N, N bytes further), and moves one lock as its scheduler does, a known number of times.
 *
 * It prints "READY PID", reads a line, plays as many rounds as the line says, prints
 * "CHANGES ENTRIES" that they made, and ends with its input.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "3.3.8"
#endif
#ifndef SHIFT
#define SHIFT 0
#endif
#ifndef PATCHLEVEL
#define PATCHLEVEL 144
#endif

#define EXPORT __attribute__((visibility("default"), noinline))

const char ruby_version[] = VERSION;
const char ruby_description[] = "ruby " VERSION " (a stand-in)";
const int ruby_patchlevel = PATCHLEVEL;

struct ccan_list_node {
	struct ccan_list_node *next, *prev;
};

struct ccan_list_head {
	struct ccan_list_node n;
};

struct rb_native_thread {
	uint32_t serial;
	void *vm;
	uint64_t thread_id;
	int tid;
	void *running_thread;
};

typedef struct rb_vm_struct rb_vm_t;
typedef struct rb_ractor_struct rb_ractor_t;

typedef struct rb_thread_struct {
	struct ccan_list_node lt_node;
	uint64_t self;
	rb_ractor_t *ractor;
	rb_vm_t *vm;
	struct rb_native_thread *nt;
	void *ec;
	struct {
		struct {
			struct ccan_list_node ubf, readyq;
		} node;
	} sched;
	char other[432 - 88];
	uint64_t name;
} rb_thread_t;
_Static_assert(offsetof(rb_thread_t, sched.node.readyq) == 72, "as 3.3.8");
_Static_assert(offsetof(rb_thread_t, name) == 432, "as 3.3.8");

struct rb_thread_sched {
	uint64_t lock_[5];
	rb_thread_t *running;
	_Bool is_running;
	struct ccan_list_head readyq;
	int readyq_cnt;
};

struct rb_ractor_struct {
	struct {
		uint64_t self;
		uint32_t id;
	} pub;
	char sync[256 - 16 + SHIFT];
	struct {
		struct ccan_list_head set;
		unsigned int cnt, blocking_cnt, sleeper;
		struct rb_thread_sched sched;
	} threads;
	char more[432 - 368];
	struct ccan_list_node vmlr_node;
};
_Static_assert(offsetof(rb_ractor_t, threads.sched.running) == 328 + SHIFT, "as 3.3.8");
_Static_assert(offsetof(rb_ractor_t, vmlr_node) == 432 + SHIFT, "as 3.3.8");

struct rb_vm_struct {
	uint64_t self;
	struct {
		struct ccan_list_head set;
		unsigned int cnt, blocking_cnt;
		rb_ractor_t *main_ractor;
		rb_thread_t *main_thread;
	} ractor;
	uint64_t fork_gen;
};

enum { THREADS = 5 };

static rb_vm_t *vm;		/* the word that a search must find */

static void list_init(struct ccan_list_node *n)
{
	n->next = n->prev = n;
}

/* The scheduler: three functions as thread_pthread.c has them. */
static __attribute__((noinline)) void enqueue(struct rb_thread_sched *sched, rb_thread_t *th)
{
	struct ccan_list_node *n = &th->sched.node.readyq, *head = &sched->readyq.n;

	if (sched->running == NULL)
		abort();
	n->next = head;
	n->prev = head->prev;
	head->prev->next = n;
	head->prev = n;
	sched->readyq_cnt++;
}

static rb_thread_t *dequeue(struct rb_thread_sched *sched)
{
	struct ccan_list_node *n = sched->readyq.n.next;

	if (n == &sched->readyq.n)
		return NULL;
	n->prev->next = n->next;
	n->next->prev = n->prev;
	sched->readyq_cnt--;
	list_init(n);
	return (rb_thread_t *)((char *)n - offsetof(rb_thread_t, sched.node.readyq));
}

static __attribute__((noinline)) rb_thread_t *hand_on(struct rb_thread_sched *sched)
{
	rb_thread_t *next = dequeue(sched);

	sched->running = next;
	return next;
}

static __attribute__((noinline)) void take(struct rb_thread_sched *sched, rb_thread_t *th)
{
	if (sched->readyq.n.next != &sched->readyq.n)
		abort();
	sched->running = th;
}

/* Functions of the same file that Ruby exports. */
EXPORT void rb_thread_schedule(void)
{
	hand_on(&vm->ractor.main_ractor->threads.sched);
}

EXPORT void rb_nogvl(void)
{
	take(&vm->ractor.main_ractor->threads.sched, vm->ractor.main_thread);
}

static rb_thread_t *start(void)
{
	rb_thread_t *threads = calloc(THREADS, sizeof(*threads));
	struct rb_native_thread *nt = calloc(1, sizeof(*nt));
	rb_ractor_t *r = calloc(1, sizeof(*r));

	vm = calloc(1, sizeof(*vm));
	nt->tid = syscall(SYS_gettid);
	r->pub.id = 1;
	list_init(&r->threads.set.n);
	list_init(&r->threads.sched.readyq.n);
	r->threads.sched.running = &threads[0];
	vm->ractor.set.n = (struct ccan_list_node){ &r->vmlr_node, &r->vmlr_node };
	r->vmlr_node = (struct ccan_list_node){ &vm->ractor.set.n, &vm->ractor.set.n };
	vm->ractor.main_ractor = r;
	vm->ractor.main_thread = &threads[0];
	for (int i = 0; i < THREADS; i++) {
		threads[i].vm = vm;
		threads[i].ractor = r;
		threads[i].nt = nt;
	}
	return threads;
}

EXPORT int ruby_run_node(void *threads_)
{
	rb_thread_t *threads = threads_;
	struct rb_thread_sched *sched = &vm->ractor.main_ractor->threads.sched;
	unsigned long rounds, changes = 0, entries = 0;

	fprintf(stderr, "READY %d\n", getpid());
	while (scanf("%lu", &rounds) == 1) {
		while (rounds--) {
			for (int i = 1; i < THREADS; i++, entries++)
				enqueue(sched, &threads[i]);
			do
				changes++;
			while (hand_on(sched));
			take(sched, &threads[0]);
			changes++;
		}
		printf("%lu %lu\n", changes, entries);
		fflush(stdout);
	}
	return 0;
}

#ifdef WITH_MAIN
int main(void)
{
	return ruby_run_node(start());
}
#else
EXPORT int fake_main(void)
{
	return ruby_run_node(start());
}
#endif
