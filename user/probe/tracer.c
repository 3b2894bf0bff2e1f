// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/tracer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/gvlscope.skel.h"
#include "probe/calls.h"
#include "probe/ticks.h"
#include "util/caps.h"
#include "util/scope.h"

struct tracer {
	struct gvlscope_bpf *skel;
	struct ring_buffer *ring;
	struct lock_state *locks;
	size_t locks_bytes;
	bool is_multi, has_watch;
	struct ticks ticks;
	int measure_fd;
	uint64_t nr_records;
	uint32_t nr_sites;
	bool is_stepped[MAX_SITES];
	void (*on_record)(void *arg, const struct rec *r, size_t size);
	void *arg;
};

static int take_record(void *ctx, void *data, size_t size)
{
	struct tracer *t = ctx;

	t->nr_records++;
	if (size >= sizeof(struct rec))
		t->on_record(t->arg, data, size);
	return 0;
}

static int say(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	return vfprintf(stderr, fmt, ap);
}

static int say_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static int explain(int err, struct err *e)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return err_set(e, REASON_NO_BTF, err, "the kernel has no BTF in /sys/kernel/btf");
	if (!caps_has(CAP_BPF) && !caps_has(CAP_SYS_ADMIN))
		return err_set(e, REASON_CAP_BPF, err, "BPF programs may not be loaded (CAP_BPF is missing)");
	if (!caps_has(CAP_PERFMON) && !caps_has(CAP_SYS_ADMIN))
		return err_set(e, REASON_CAP_PERFMON, err,
			       "BPF programs may not trace (CAP_PERFMON is missing)");
	return err_set(e, REASON_BPF_LOAD, err, "the kernel refused the BPF programs: %s",
		       strerror(-err));
}

struct by_hand {
	struct bpf_program *progs[11];
};

/* Programs that are attached where and when they are wanted; first those of tracer_probe(). */
static struct by_hand by_hand(const struct tracer *t)
{
	return (struct by_hand){ {
		[PROGRAM_SCAN_ENTER] = t->skel->progs.scan_enter,
		[PROGRAM_SCAN_LEAVE] = t->skel->progs.scan_leave,
		[PROGRAM_NOGVL] = t->skel->progs.nogvl,
		[PROGRAM_COPY_ENTER] = t->skel->progs.copy_enter,
		[PROGRAM_COPY_LEAVE] = t->skel->progs.copy_leave,
		[PROGRAM_LARGE_ENTER] = t->skel->progs.large_enter,
		[PROGRAM_LARGE_LEAVE] = t->skel->progs.large_leave,
		t->skel->progs.site_hit, t->skel->progs.hold, t->skel->progs.watch_hit,
		t->skel->progs.tick,
	} };
}

static bool is_uprobe(const struct tracer *t, const struct bpf_program *prog)
{
	return prog != t->skel->progs.watch_hit && prog != t->skel->progs.tick;
}

static int load(struct tracer *t, const struct tracer_options *opt, struct err *e)
{
	int err;

	libbpf_set_print(opt->verbose ? say : say_nothing);
	t->skel = gvlscope_bpf__open();
	if (!t->skel)
		return explain(-errno, e);
	for (size_t i = 0; i < ARRAY_LEN(by_hand(t).progs); i++) {
		struct bpf_program *prog = by_hand(t).progs[i];

		bpf_program__set_autoattach(prog, false);
		if (opt->has_uprobe_multi && is_uprobe(t, prog))
			bpf_program__set_expected_attach_type(prog, UPROBE_MULTI_ATTACH_TYPE);
	}
	bpf_program__set_autoload(t->skel->progs.sys_enter, opt->follow_calls);
	bpf_program__set_autoload(t->skel->progs.sys_exit, opt->follow_calls);
	calls_fill(&t->skel->rodata->calls);
	bpf_map__set_max_entries(t->skel->maps.ring, opt->ring_bytes);
	err = gvlscope_bpf__load(t->skel);
	if (err)
		return explain(err, e);
	err = gvlscope_bpf__attach(t->skel);
	return err ? explain(err, e) : 0;
}

int tracer_open(struct tracer **out, const struct tracer_options *opt, struct err *e)
{
	struct tracer *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return err_nomem(e);
	t->measure_fd = -1;
	t->is_multi = opt->has_uprobe_multi;
	t->has_watch = opt->has_watch;
	t->on_record = opt->on_record;
	t->arg = opt->arg;
	err = load(t, opt, e);
	if (err) {
		tracer_free(t);
		return err;
	}
	t->locks_bytes = (MAX_LOCKS * sizeof(struct lock_state) + 4095) & ~4095UL;
	t->locks = mmap(NULL, t->locks_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(t->skel->maps.locks), 0);
	if (t->locks == MAP_FAILED) {
		t->locks = NULL;
		err = err_sys(e, errno, "mmap of the lock table");
		tracer_free(t);
		return err;
	}
	t->ring = ring_buffer__new(bpf_map__fd(t->skel->maps.ring), take_record, t, NULL);
	if (!t->ring) {
		err = err_sys(e, errno, "ring buffer");
		tracer_free(t);
		return err;
	}
	*out = t;
	return 0;
}

void tracer_free(struct tracer *t)
{
	if (!t)
		return;
	ticks_stop(&t->ticks);
	tracer_measure(t, false);
	ring_buffer__free(t->ring);
	if (t->locks)
		munmap(t->locks, t->locks_bytes);
	gvlscope_bpf__destroy(t->skel);
	free(t);
}

int tracer_hold_program(const struct tracer *t, bool *is_multi)
{
	*is_multi = t->is_multi;
	return bpf_program__fd(t->skel->progs.hold);
}

int tracer_target(struct tracer *t, pid_t tgid, const struct target_cfg *cfg, struct err *e)
{
	uint32_t key = tgid;

	if (bpf_map__update_elem(t->skel->maps.targets, &key, sizeof(key), cfg, sizeof(*cfg),
				 BPF_ANY))
		return err_sys(e, errno, "adding a process to the traced ones");
	return 0;
}

void tracer_remove_target(struct tracer *t, pid_t tgid)
{
	uint32_t key = tgid;

	bpf_map__delete_elem(t->skel->maps.targets, &key, sizeof(key), 0);
}

int tracer_add_lock(struct tracer *t, pid_t tgid, uint16_t target, uint64_t addr, struct err *e)
{
	struct lock_key key = { .addr = addr, .tgid = tgid };
	uint32_t id;

	if (!bpf_map__lookup_elem(t->skel->maps.lock_ids, &key, sizeof(key), &id, sizeof(id), 0))
		return id;
	id = __atomic_fetch_add(&t->skel->bss->nr_locks, 1, __ATOMIC_SEQ_CST);
	if (id >= MAX_LOCKS)
		return err_set(e, REASON_SYS, -ENOSPC, "more than %d locks", MAX_LOCKS);
	t->locks[id] = (struct lock_state){
		.addr = addr, .owner = OWNER_UNKNOWN, .tgid = tgid, .target = target,
	};
	if (bpf_map__update_elem(t->skel->maps.lock_ids, &key, sizeof(key), &id, sizeof(id),
				 BPF_ANY))
		return err_sys(e, errno, "adding a lock to the followed ones");
	return id;
}

void tracer_remove_lock(struct tracer *t, pid_t tgid, uint64_t addr)
{
	struct lock_key key = { .addr = addr, .tgid = tgid };

	bpf_map__delete_elem(t->skel->maps.lock_ids, &key, sizeof(key), 0);
}

void tracer_owner_task(struct tracer *t, pid_t tgid, uint32_t tid, uint32_t lock, bool on_cpu)
{
	struct task_key key = { .tgid = tgid, .tid = tid };
	struct task_state s = { .lock = lock + 1, .on_cpu = on_cpu };

	bpf_map__update_elem(t->skel->maps.tasks, &key, sizeof(key), &s, sizeof(s), BPF_ANY);
	t->locks[lock].owner_tid = tid;
}

uint64_t tracer_nr_records(const struct tracer *t)
{
	return t->nr_records;
}

volatile struct lock_state *tracer_lock(const struct tracer *t, uint32_t lock)
{
	return &t->locks[lock];
}

uint32_t tracer_nr_locks(const struct tracer *t)
{
	uint32_t n = __atomic_load_n(&t->skel->bss->nr_locks, __ATOMIC_ACQUIRE);

	return n < MAX_LOCKS ? n : MAX_LOCKS;
}

int tracer_watch(struct tracer *t, struct watch *w, uint64_t addr, enum word word, struct err *e)
{
	if (!t->has_watch)
		return err_set(e, REASON_NO_WATCHPOINT, -ENODEV,
			       "watchpoint: this machine accepts it, but it never fires");
	return watch_open(w, addr, word, bpf_program__fd(t->skel->progs.watch_hit), e);
}

int tracer_probe_sites(struct tracer *t, struct uprobes *u, pid_t tgid, const char *path,
		       struct site *sites, size_t n, enum site_state state, uint32_t generation,
		       struct err *e)
{
	uint64_t offsets[UPROBES_MAX], cookies[UPROBES_MAX];
	size_t k = 0;

	for (size_t i = 0; i < n && k < UPROBES_MAX; i++) {
		struct site *s = &sites[i];

		if (s->state != state)
			continue;
		if (!s->number && t->nr_sites + 1 < MAX_SITES) {
			s->number = ++t->nr_sites;
			t->is_stepped[s->number] = !s->emulated;
		}
		offsets[k] = s->probe_offset;
		cookies[k++] = SITE_COOKIE_PLACED(s->cookie, s->number, generation);
	}
	*u = UPROBES_NONE;
	if (!k)
		return 0;
	return uprobes_attach(u, bpf_program__fd(t->skel->progs.site_hit), t->is_multi, UPROBE_AT, tgid,
			      path, offsets, cookies, k, e);
}

int tracer_probe(struct tracer *t, struct uprobes *u, enum program program, enum uprobe_where where,
		 pid_t tgid, const char *path, const uint64_t *offsets, const uint64_t *cookies, size_t n,
		 struct err *e)
{
	return uprobes_attach(u, bpf_program__fd(by_hand(t).progs[program]), t->is_multi, where, tgid, path,
			      offsets, cookies, n, e);
}

void tracer_want_waiters(struct tracer *t, uint16_t id)
{
	struct walk_due due = { .base = 1 };
	uint32_t key = id;

	bpf_map__update_elem(t->skel->maps.walks, &key, sizeof(key), &due, sizeof(due), BPF_ANY);
}

static struct site_count site_count(const struct tracer *t, uint32_t number)
{
	struct site_count c = { 0 };

	bpf_map__lookup_elem(t->skel->maps.site_counts, &number, sizeof(number), &c, sizeof(c), 0);
	return c;
}

struct site_count tracer_site_count(const struct tracer *t, const struct site *s)
{
	return site_count(t, s->number);
}

uint64_t tracer_site_hits(const struct tracer *t, bool stepped)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= t->nr_sites; i++)
		if (t->is_stepped[i] == stepped)
			sum += site_count(t, i).hits;
	return sum;
}

void tracer_writers(struct tracer *t, void (*fn)(void *arg, const struct writer_key *k, uint64_t n),
		    void *arg)
{
	struct writer_key key, *prev = NULL;
	uint64_t n;

	while (!bpf_map__get_next_key(t->skel->maps.writers, prev, &key, sizeof(key))) {
		if (!bpf_map__lookup_elem(t->skel->maps.writers, &key, sizeof(key), &n, sizeof(n), 0))
			fn(arg, &key, n);
		prev = &key;
	}
}

int tracer_tick(struct tracer *t, struct err *e)
{
	return t->ticks.nr ? 0 : ticks_start(&t->ticks, bpf_program__fd(t->skel->progs.tick), e);
}

void tracer_tallies(struct tracer *t, uint16_t id,
		    void (*fn)(void *arg, const struct tally_key *key, const struct tally *tally),
		    void *arg)
{
	struct bpf_map *map = t->skel->maps.tallies;
	struct tally_key key, next;
	struct tally tally;
	int more = bpf_map__get_next_key(map, NULL, &next, sizeof(next));

	while (!more) {
		key = next;
		more = bpf_map__get_next_key(map, &key, &next, sizeof(next));
		if (key.target != id ||
		    bpf_map__lookup_and_delete_elem(map, &key, sizeof(key), &tally, sizeof(tally), 0))
			continue;
		fn(arg, &key, &tally);
	}
}

int tracer_drain(struct tracer *t)
{
	return ring_buffer__consume(t->ring);
}

int tracer_ring_fd(const struct tracer *t)
{
	return ring_buffer__epoll_fd(t->ring);
}

void tracer_stats(const struct tracer *t, uint64_t out[STAT_COUNT])
{
	int nr_cpus = libbpf_num_possible_cpus();
	auto_free uint64_t *per_cpu = calloc(nr_cpus > 0 ? nr_cpus : 1, sizeof(*per_cpu));

	memset(out, 0, STAT_COUNT * sizeof(*out));
	for (uint32_t i = 0; per_cpu && i < STAT_COUNT; i++) {
		if (bpf_map__lookup_elem(t->skel->maps.stats, &i, sizeof(i), per_cpu,
					 nr_cpus * sizeof(*per_cpu), 0))
			continue;
		for (int cpu = 0; cpu < nr_cpus; cpu++)
			out[i] += per_cpu[cpu];
	}
}

void tracer_measure(struct tracer *t, bool on)
{
	scope_close(&t->measure_fd);
	t->measure_fd = on ? bpf_enable_stats(BPF_STATS_RUN_TIME) : -1;
}

void tracer_run_time(const struct tracer *t, uint64_t *ns, uint64_t *runs)
{
	struct bpf_program *prog;

	*ns = *runs = 0;
	bpf_object__for_each_program(prog, t->skel->obj) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		/* these run for every task of the machine: not this target's cost */
		if (prog == t->skel->progs.sched_switch || prog == t->skel->progs.sys_enter ||
		    prog == t->skel->progs.sys_exit || bpf_program__fd(prog) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			continue;
		*ns += info.run_time_ns;
		*runs += info.run_cnt;
	}
}
