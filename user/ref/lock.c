// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/lock.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

#include "ref/cond.h"
#include "util/clock.h"

/*
 * Both writers are written in assembly, so that it is known which instruction it is; the jump
 * behind each is a place that the kernel emulates. Every access to what they write is made under
 * the mutex, whose calls the compiler moves nothing across.
 */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl ref_set_owner\n.type ref_set_owner,@function\n"
	"ref_set_owner: .cfi_startproc\n mov %rsi, 56(%rdi)\n jmp 1f\n1: ret\n .cfi_endproc\n"
	".size ref_set_owner, . - ref_set_owner\n"
	".globl ref_set_tail\n.type ref_set_tail,@function\n"
	"ref_set_tail: .cfi_startproc\n mov %rsi, 8(%rdi)\n jmp 1f\n1: ret\n .cfi_endproc\n"
	".size ref_set_tail, . - ref_set_tail\n");
_Static_assert(offsetof(struct ref_lock, owner) == 56, "known to the assembly");
_Static_assert(offsetof(struct ref_list, prev) == 8, "known to the assembly");
#else
__attribute__((noinline)) void ref_set_owner(struct ref_lock *l, struct ref_thread *th)
{
	l->owner = th;
}

__attribute__((noinline)) void ref_set_tail(struct ref_list *head, struct ref_list *node)
{
	head->prev = node;
}
#endif

/* What the designs do differently; but for start and end with the mutex held. */
struct lock_ops {
	const char *name;
	uint32_t nr_ticks;	/* of the timer, in a quantum */
	void (*acquire)(struct ref_lock *l, struct ref_thread *th);
	void (*release)(struct ref_lock *l, struct ref_thread *th);
	bool (*yield)(struct ref_lock *l, struct ref_thread *th);	/* true if it did */
	int (*start)(struct ref_lock *l);		/* NULL: nothing to do */
	void (*end)(struct ref_lock *l);
};

static void own(struct ref_lock *l, struct ref_thread *th)
{
	ref_set_owner(l, th);
	l->counts.changes++;
}

static void enter(struct ref_lock *l, struct ref_thread *th)
{
	struct ref_list *node = &th->queue_node, *head = &l->queue;

	*node = (struct ref_list){ head, head->prev };
	head->prev->next = node;
	ref_set_tail(head, node);
	l->nr_queued++;
	l->counts.entries++;
}

static void leave(struct ref_lock *l, struct ref_thread *th)
{
	ref_list_del(&th->queue_node);
	l->nr_queued--;
}

/* Who waits at @node; NULL where that is the queue's head. */
static struct ref_thread *queued_at(struct ref_lock *l, struct ref_list *node)
{
	return node == &l->queue ? NULL : ref_entry(node, struct ref_thread, queue_node);
}

/* RUBY_VM_SET_TIMER_INTERRUPT() */
static void tick(struct ref_thread *th)
{
	__atomic_store_n(&th->has_tick, true, __ATOMIC_RELAXED);
}

/* do_gvl_timer(): wakes when the quantum ends that began when the lock was last seen free. */
static void watch_31(struct ref_lock *l, struct ref_thread *th)
{
	l->timer = th;
	if (l->is_expired)
		l->deadline_ns = clock_now_ns() + l->quantum_ns;
	l->is_expired = ref_cond_wait_until(&th->cond, &l->mutex, l->deadline_ns);
	if (l->owner)		/* also where it was woken for the lock, and somebody came first */
		tick(l->owner);
	l->timer = NULL;
}

static void wait_31(struct ref_lock *l, struct ref_thread *th)
{
	enter(l, th);
	do {
		if (l->timer)
			pthread_cond_wait(&th->cond, &l->mutex);
		else
			watch_31(l, th);
	} while (l->owner);
	leave(l, th);
	if (l->need_yield) {
		l->need_yield = false;
		pthread_cond_signal(&l->switched);
	}
}

static void acquire_31(struct ref_lock *l, struct ref_thread *th)
{
	struct ref_thread *last;

	if (l->owner)
		wait_31(l, th);
	else
		l->is_expired = true;
	own(l, th);
	last = queued_at(l, l->queue.prev);
	if (!l->timer && last)		/* designate_timer_thread(): it has the longest to wait */
		pthread_cond_signal(&last->cond);
}

static void release_31(struct ref_lock *l, struct ref_thread *th)
{
	struct ref_thread *next = queued_at(l, l->queue.next);

	(void)th;
	own(l, NULL);
	if (next)
		pthread_cond_signal(&next->cond);
}

static bool yield_31(struct ref_lock *l, struct ref_thread *th)
{
	bool has_next = !ref_list_is_empty(&l->queue);

	release_31(l, th);
	if (l->wait_yield) {
		while (l->wait_yield)
			pthread_cond_wait(&l->switch_wait, &l->mutex);
	} else if (has_next) {
		l->need_yield = l->wait_yield = true;
		while (l->need_yield)
			pthread_cond_wait(&l->switched, &l->mutex);
		l->wait_yield = false;
		pthread_cond_broadcast(&l->switch_wait);
	} else {
		pthread_mutex_unlock(&l->mutex);
		sched_yield();
		pthread_mutex_lock(&l->mutex);
	}
	acquire_31(l, th);
	return true;
}

/* thread_sched_setup_running_threads(): @th, or nobody, is to be told by the timer of each tick. */
static void slice_33(struct ref_lock *l, struct ref_thread *th)
{
	pthread_mutex_lock(&l->timer_mutex);
	l->sliced = th;
	if (th && l->is_timer_idle)
		pthread_cond_signal(&l->timer_cond);
	pthread_mutex_unlock(&l->timer_mutex);
}

/* thread_sched_add_running_thread() */
static void run_33(struct ref_lock *l, struct ref_thread *th)
{
	l->is_running = true;
	slice_33(l, ref_list_is_empty(&l->queue) ? NULL : th);
}

static void wait_33(struct ref_lock *l, struct ref_thread *th)
{
	if (l->is_running && ref_list_is_empty(&l->queue))
		slice_33(l, l->owner);
	enter(l, th);
	while (l->owner != th)
		pthread_cond_wait(&th->cond, &l->mutex);
	run_33(l, th);
}

static void acquire_33(struct ref_lock *l, struct ref_thread *th)
{
	if (l->owner) {
		wait_33(l, th);
		return;
	}
	own(l, th);
	run_33(l, th);
}

static void release_33(struct ref_lock *l, struct ref_thread *th)
{
	struct ref_thread *next = queued_at(l, l->queue.next);

	(void)th;
	if (next)
		leave(l, next);
	own(l, next);
	if (next)
		pthread_cond_signal(&next->cond);
	l->is_running = false;
	slice_33(l, NULL);
}

static bool yield_33(struct ref_lock *l, struct ref_thread *th)
{
	if (ref_list_is_empty(&l->queue))
		return false;
	release_33(l, th);
	wait_33(l, th);
	return true;
}

/* timer_thread_func(): ticks while the owner has the lock and somebody waits for it. */
static void *timer_33(void *arg)
{
	struct ref_lock *l = arg;

	pthread_mutex_lock(&l->timer_mutex);
	while (!l->is_ending) {
		uint64_t next_ns = clock_now_ns() + l->quantum_ns / l->ops->nr_ticks;

		l->is_timer_idle = !l->sliced;
		if (l->is_timer_idle)
			pthread_cond_wait(&l->timer_cond, &l->timer_mutex);
		else if (ref_cond_wait_until(&l->timer_cond, &l->timer_mutex, next_ns) && l->sliced)
			tick(l->sliced);
	}
	pthread_mutex_unlock(&l->timer_mutex);
	return NULL;
}

static int start_33(struct ref_lock *l)
{
	return -pthread_create(&l->timer_thread, NULL, timer_33, l);
}

static void end_33(struct ref_lock *l)
{
	pthread_mutex_lock(&l->timer_mutex);
	l->is_ending = true;
	pthread_cond_signal(&l->timer_cond);
	pthread_mutex_unlock(&l->timer_mutex);
	pthread_join(l->timer_thread, NULL);
}

static const struct lock_ops designs[REF_LOCK_DESIGNS] = {
	[REF_LOCK_31] = {
		.name = "3.1", .nr_ticks = 1,
		.acquire = acquire_31, .release = release_31, .yield = yield_31,
	},
	[REF_LOCK_33] = {
		.name = "3.3", .nr_ticks = 10,	/* timer_thread_set_timeout(): 10 ms */
		.acquire = acquire_33, .release = release_33, .yield = yield_33,
		.start = start_33, .end = end_33,
	},
};

const char *ref_lock_name(enum ref_lock_design design)
{
	return designs[design].name;
}

static void release_parts(struct ref_lock *l)
{
	pthread_mutex_destroy(&l->mutex);
	pthread_mutex_destroy(&l->timer_mutex);
	pthread_cond_destroy(&l->switched);
	pthread_cond_destroy(&l->switch_wait);
	pthread_cond_destroy(&l->timer_cond);
}

int ref_lock_init(struct ref_lock *l, enum ref_lock_design design, uint64_t quantum_ns)
{
	int err = 0;

	*l = (struct ref_lock){
		.id = 1, .design = design, .ops = &designs[design],
		.quantum_ns = quantum_ns, .is_expired = true,
	};
	ref_list_init(&l->node);
	ref_list_init(&l->queue);
	pthread_mutex_init(&l->mutex, NULL);
	pthread_mutex_init(&l->timer_mutex, NULL);
	ref_cond_init(&l->switched);
	ref_cond_init(&l->switch_wait);
	ref_cond_init(&l->timer_cond);
	if (l->ops->start)
		err = l->ops->start(l);
	if (err)
		release_parts(l);
	return err;
}

void ref_lock_destroy(struct ref_lock *l)
{
	if (l->ops->end)
		l->ops->end(l);
	release_parts(l);
}

void ref_thread_init(struct ref_thread *th, struct ref_lock *l)
{
	*th = (struct ref_thread){ .lock = l, .tid = gettid() };
	ref_list_init(&th->queue_node);
	ref_cond_init(&th->cond);
}

void ref_thread_destroy(struct ref_thread *th)
{
	pthread_cond_destroy(&th->cond);
}

/* rb_ractor_thread_switch(): who had the lock last goes on with its quantum. */
static void resume(struct ref_lock *l, struct ref_thread *th)
{
	if (l->last != th)
		th->nr_ticks = 0;
	l->last = th;
}

void ref_lock_acquire(struct ref_lock *l, struct ref_thread *th)
{
	pthread_mutex_lock(&l->mutex);
	l->ops->acquire(l, th);
	resume(l, th);
	pthread_mutex_unlock(&l->mutex);
}

void ref_lock_drop(struct ref_lock *l, struct ref_thread *th)
{
	pthread_mutex_lock(&l->mutex);
	l->ops->release(l, th);
	pthread_mutex_unlock(&l->mutex);
}

static bool take_tick(struct ref_thread *th)
{
	if (!__atomic_load_n(&th->has_tick, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&th->has_tick, false, __ATOMIC_RELAXED);
	return true;
}

bool ref_lock_check(struct ref_lock *l, struct ref_thread *th)
{
	bool has_yielded;

	if (!take_tick(th) || ++th->nr_ticks < l->ops->nr_ticks)
		return false;
	pthread_mutex_lock(&l->mutex);
	has_yielded = l->ops->yield(l, th);
	l->counts.yields += has_yielded;
	resume(l, th);
	pthread_mutex_unlock(&l->mutex);
	return has_yielded;
}
