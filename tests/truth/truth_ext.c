// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The lock's history as Ruby (3.3, 3.4) itself tells it: every thread event with its time, kept in
 * memory until Truth.dump(FILE) writes a line for each:
 *
 *	time, event, rb_thread_t, tid of the task that told it
 *
 * Events come from threads with and without the lock, so a slot is taken with one atomic addition
 * and belongs to its task from then on.
 */
#include <ruby.h>	/* first: it says which extensions of libc there are */
#include <ruby/thread.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct entry {
	uint64_t ts_ns;
	uint64_t thread;
	uint32_t tid;
	uint32_t event;
};

enum { ENTRIES_MAX = 2 << 20 };

static struct entry *entries;
static atomic_uint nr_entries;

static void log_event(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *arg)
{
	struct timespec now;
	struct entry *en;
	unsigned int i;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &now);
	i = atomic_fetch_add_explicit(&nr_entries, 1, memory_order_relaxed);
	if (i >= ENTRIES_MAX)
		return;
	en = &entries[i];
	en->ts_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	en->thread = (uint64_t)RTYPEDDATA_GET_DATA(data->thread);
	en->tid = gettid();
	en->event = event;
}

static const char *event_name(uint32_t event)
{
	switch (event) {
	case RUBY_INTERNAL_THREAD_EVENT_STARTED:
		return "STARTED";
	case RUBY_INTERNAL_THREAD_EVENT_READY:
		return "READY";
	case RUBY_INTERNAL_THREAD_EVENT_RESUMED:
		return "RESUMED";
	case RUBY_INTERNAL_THREAD_EVENT_SUSPENDED:
		return "SUSPENDED";
	case RUBY_INTERNAL_THREAD_EVENT_EXITED:
		return "EXITED";
	default:
		return "?";
	}
}

/* Truth.dump(FILE): the number of events, or an exception where some had no room. */
static VALUE truth_dump(VALUE self, VALUE name)
{
	unsigned int n = atomic_load(&nr_entries);
	FILE *f;

	(void)self;
	if (n > ENTRIES_MAX)
		rb_raise(rb_eRuntimeError, "%u events, room for %d", n, ENTRIES_MAX);
	f = fopen(StringValueCStr(name), "w");
	if (!f)
		rb_sys_fail_str(name);
	for (unsigned int i = 0; i < n; i++) {
		const struct entry *en = &entries[i];

		if (en->ts_ns)		/* 0: taken, not written yet */
			fprintf(f, "%" PRIu64 "\t%s\t%" PRIu64 "\t%u\n", en->ts_ns,
				event_name(en->event), en->thread, en->tid);
	}
	if (fclose(f))
		rb_sys_fail_str(name);
	return UINT2NUM(n);
}

__attribute__((visibility("default"))) void Init_truth(void);

void Init_truth(void)
{
	const size_t size = sizeof(*entries) * ENTRIES_MAX;

	entries = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		       -1, 0);
	if (entries == MAP_FAILED)
		rb_sys_fail("mmap");
	rb_define_singleton_method(rb_define_module("Truth"), "dump", truth_dump, 1);
	rb_internal_thread_add_event_hook(log_event, RUBY_INTERNAL_THREAD_EVENT_MASK, NULL);
}
