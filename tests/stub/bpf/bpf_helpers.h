/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stands in for libbpf's header when a BPF program is compiled natively for unit tests: maps are kept
 * in memory by tests/unit/bpf_test.c, which also plays the kernel's helpers.
 */
#ifndef GVL_STUB_BPF_HELPERS_H
#define GVL_STUB_BPF_HELPERS_H

#define SEC(name)
#define __uint(name, val) int (*name)[val]
#define __type(name, val) __typeof__(val) *name
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

#define NULL ((void *)0)

struct stub_map_shape {
	unsigned long key_size, value_size, max_entries;
	int is_array;
};

#define STUB_SHAPE(map) \
	((struct stub_map_shape){ sizeof(*(map)->key), sizeof(*(map)->value), \
				  sizeof(*(map)->max_entries) / sizeof(int), \
				  sizeof(*(map)->type) / sizeof(int) != BPF_MAP_TYPE_HASH })

#define bpf_map_lookup_elem(map, k) \
	((__typeof__((map)->value))stub_lookup((map), STUB_SHAPE(map), (k)))
#define bpf_map_update_elem(map, k, v, flags) stub_update((map), STUB_SHAPE(map), (k), (v), (flags))
#define bpf_map_delete_elem(map, k) stub_delete((map), STUB_SHAPE(map), (k))
#define bpf_ringbuf_reserve(map, size, flags) stub_reserve(size)
#define bpf_ringbuf_submit(rec, flags) stub_submit(rec)

void *stub_lookup(void *map, struct stub_map_shape shape, const void *key);
long stub_update(void *map, struct stub_map_shape shape, const void *key, const void *value,
		 unsigned long flags);
long stub_delete(void *map, struct stub_map_shape shape, const void *key);
void *stub_reserve(unsigned long size);
void stub_submit(void *rec);

unsigned long bpf_ktime_get_ns(void);
unsigned long bpf_get_current_pid_tgid(void);
unsigned long bpf_get_attach_cookie(void *ctx);
struct task_struct *bpf_get_current_task_btf(void);
unsigned int bpf_get_smp_processor_id(void);
long bpf_probe_read_user(void *dst, unsigned int size, const void *src);
long bpf_probe_read_kernel(void *dst, unsigned int size, const void *src);
long bpf_send_signal(unsigned int sig);

#define bpf_loop(n, step, ctx, flags) \
	do { \
		for (unsigned int stub_i = 0; stub_i < (n) && !step(stub_i, ctx); stub_i++) \
			; \
	} while (0)

#endif
