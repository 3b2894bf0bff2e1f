/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Natively the structures are where the compiler put them. */
#ifndef GVL_STUB_BPF_CORE_READ_H
#define GVL_STUB_BPF_CORE_READ_H

#define CORE_READ_2(p, a) ((p)->a)
#define CORE_READ_3(p, a, b) ((p)->a->b)
#define CORE_READ_PICK(p, a, b, name, ...) name
#define BPF_CORE_READ(...) CORE_READ_PICK(__VA_ARGS__, CORE_READ_3, CORE_READ_2)(__VA_ARGS__)
#define bpf_core_read(dst, size, src) (void)__builtin_memcpy(dst, src, size)
#define bpf_core_read_str(dst, size, src) (void)__builtin_memcpy(dst, src, size)
#define bpf_core_field_offset(type, member) __builtin_offsetof(type, member)
#define bpf_core_type_size(type) sizeof(type)

#endif
