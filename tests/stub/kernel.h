/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A kernel for BPF programs that are compiled natively: maps, the ring, the running task. For a unit
 * test to include once, behind the programs and <cmocka.h>.
 */
#ifndef GVL_STUB_KERNEL_H
#define GVL_STUB_KERNEL_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TGID = 100, THREAD_A = 101, THREAD_B = 102, RECORDS_MAX = 64 };

/* What the programs see of the world. */
static struct world {
	struct entry {
		void *map;
		char key[32];
		void *value;
		struct entry *next;
	} *entries;
	union {
		struct rec rec;
		struct rec_exit exit;
		struct rec_foreign foreign;
	} records[RECORDS_MAX];
	unsigned int nr_records;
	bool ring_is_full;
	unsigned long now, cookie;
	unsigned int tid;
	struct task_struct current;
} world;

static struct entry *find(void *map, const void *key, size_t size)
{
	for (struct entry *e = world.entries; e; e = e->next)
		if (e->map == map && memcmp(e->key, key, size) == 0)
			return e;
	return NULL;
}

static struct entry *add(void *map, struct stub_map_shape shape, const void *key)
{
	struct entry *e = calloc(1, sizeof(*e));

	assert_true(shape.key_size <= sizeof(e->key));
	e->map = map;
	memcpy(e->key, key, shape.key_size);
	e->value = calloc(1, shape.value_size);
	e->next = world.entries;
	world.entries = e;
	return e;
}

void *stub_lookup(void *map, struct stub_map_shape shape, const void *key)
{
	struct entry *e = find(map, key, shape.key_size);

	if (!e && shape.is_array && *(const uint32_t *)key < shape.max_entries)
		e = add(map, shape, key);
	return e ? e->value : NULL;
}

long stub_update(void *map, struct stub_map_shape shape, const void *key, const void *value,
		 unsigned long flags)
{
	struct entry *e = find(map, key, shape.key_size);

	if (e && flags == BPF_NOEXIST)
		return -17;
	if (!e)
		e = add(map, shape, key);
	memcpy(e->value, value, shape.value_size);
	return 0;
}

long stub_delete(void *map, struct stub_map_shape shape, const void *key)
{
	struct entry *e = find(map, key, shape.key_size);

	if (e)
		e->map = NULL;
	return e ? 0 : -2;
}

void *stub_reserve(unsigned long size)
{
	assert_true(size <= sizeof(world.records[0]));
	if (world.ring_is_full || world.nr_records == RECORDS_MAX)
		return NULL;
	return &world.records[world.nr_records++];
}

void stub_submit(void *rec)
{
	(void)rec;
}

unsigned long bpf_ktime_get_ns(void)
{
	return world.now;
}

unsigned long bpf_get_current_pid_tgid(void)
{
	return (unsigned long)TGID << 32 | world.tid;
}

unsigned long bpf_get_attach_cookie(void *ctx)
{
	(void)ctx;
	return world.cookie;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return &world.current;
}

unsigned int bpf_get_smp_processor_id(void)
{
	return 0;
}

long bpf_probe_read_user(void *dst, unsigned int size, const void *src)
{
	if ((uintptr_t)src < 4096)
		return -14;
	memcpy(dst, src, size);
	return 0;
}

long bpf_probe_read_kernel(void *dst, unsigned int size, const void *src)
{
	memcpy(dst, src, size);
	return 0;
}

long bpf_send_signal(unsigned int sig)
{
	(void)sig;
	return 0;
}

static void world_clear(void)
{
	while (world.entries) {
		struct entry *e = world.entries;

		world.entries = e->next;
		free(e->value);
		free(e);
	}
	memset(&world, 0, sizeof(world));
}

static inline const struct rec *last(void)
{
	assert_true(world.nr_records > 0);
	return &world.records[world.nr_records - 1].rec;
}

#endif
