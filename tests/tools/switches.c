// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * switches PID
 *
 * Prints when each task of process PID was taken off a CPU, a line each: time (CLOCK_MONOTONIC, ns)
 * and tid. Says READY on stderr once it listens; ends on SIGTERM. Status 1 if the kernel lost some.
 *
 * It asks perf, not gvlscope's own programs: a second witness.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGES 2048u		/* of a CPU's buffer, a power of two */
#define CPUS_MAX 256

struct ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t size;
};

struct record {
	struct perf_event_header header;
	uint32_t other_pid;
	uint32_t other_tid;
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
};

static volatile sig_atomic_t is_ended;

static void end(int sig)
{
	(void)sig;
	is_ended = 1;
}

static bool ring_open(struct ring *r, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.context_switch = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	const size_t page = sysconf(_SC_PAGESIZE);
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return false;
	r->page = mmap(NULL, (PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->page == MAP_FAILED)
		return false;
	r->data = (const uint8_t *)r->page + page;
	r->size = PAGES * page;
	return true;
}

static void copy_out(const struct ring *r, uint64_t at, void *to, size_t n)
{
	const size_t begin = at % r->size;
	const size_t first = r->size - begin < n ? r->size - begin : n;

	memcpy(to, r->data + begin, first);
	memcpy((uint8_t *)to + first, r->data, n - first);
}

/* False when records were lost. */
static bool ring_drain(struct ring *r, uint32_t pid)
{
	const uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = r->page->data_tail;
	bool is_whole = true;

	while (at < head) {
		struct record rec;

		copy_out(r, at, &rec.header, sizeof(rec.header));
		if (rec.header.type == PERF_RECORD_LOST)
			is_whole = false;
		if (rec.header.type == PERF_RECORD_SWITCH_CPU_WIDE &&
		    rec.header.misc & PERF_RECORD_MISC_SWITCH_OUT) {
			copy_out(r, at, &rec, sizeof(rec));
			if (rec.pid == pid)
				printf("%" PRIu64 "\t%u\n", rec.time, rec.tid);
		}
		at += rec.header.size;
	}
	__atomic_store_n(&r->page->data_tail, at, __ATOMIC_RELEASE);
	return is_whole;
}

int main(int argc, char **argv)
{
	const uint32_t pid = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	static struct ring rings[CPUS_MAX];
	bool is_whole = true;
	int nr = 0;

	signal(SIGTERM, end);
	if (!pid) {
		fprintf(stderr, "usage: switches PID\n");
		return 2;
	}
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && nr < CPUS_MAX; cpu++)
		if (ring_open(&rings[nr], cpu))
			nr++;
	if (!nr) {
		fprintf(stderr, "switches: perf_event_open: %s\n", strerror(errno));
		return 1;
	}
	fprintf(stderr, "READY\n");
	while (!is_ended) {
		poll(NULL, 0, 20);
		for (int i = 0; i < nr; i++)
			is_whole &= ring_drain(&rings[i], pid);
	}
	for (int i = 0; i < nr; i++)
		is_whole &= ring_drain(&rings[i], pid);
	return fflush(stdout) || !is_whole;
}
