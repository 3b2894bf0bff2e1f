/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An ELF file that a process has mapped: its code, symbols, segments and build-id. Not trusted. */
#ifndef GVL_TARGET_OBJECT_H
#define GVL_TARGET_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/proc.h"
#include "util/err.h"

#define BUILD_ID_MAX 64

struct object {
	char path[4096];	/* as the process's mount namespace names it */
	char open_path[4128];	/* reaches the same inode from here, while @fd is open */
	int fd;
	uint64_t bias;		/* address in the process = ELF virtual address + bias */
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	char build_id[2 * BUILD_ID_MAX + 1];	/* hex, "" where there is none */
	bool has_symtab;	/* .symtab is there: not stripped */
	void *elf;		/* Elf * of libelf */
};

/*
 * Opens the file behind the mapping @m of @p, in the process's own mount namespace, deleted or
 * replaced on disk or not. 0, or -errno with @e set.
 */
int object_open(struct object *o, const struct proc *p, const struct proc_map *m, struct err *e);
void object_release(struct object *o);

/* The build-id of @elf (an Elf *) as hex in @hex, which has room for 2 * BUILD_ID_MAX + 1. */
void object_build_id(void *elf, char *hex);

/*
 * The ELF virtual address and size of symbol @name, from .symtab or .dynsym. 0, or -ENOENT. @size
 * may be NULL.
 */
int object_symbol(const struct object *o, const char *name, uint64_t *vaddr, uint64_t *size);

/* Name of the function around @vaddr, from symbols; NULL where there is none. Lives as @o. */
const char *object_function_name(const struct object *o, uint64_t vaddr);

/* File offset of @vaddr in an executable segment. 0, or -ENOENT. */
int object_file_offset(const struct object *o, uint64_t vaddr, uint64_t *offset);

/* Copies @len bytes of the file's contents at @vaddr. 0, or -ENOENT where no segment has them. */
int object_read(const struct object *o, uint64_t vaddr, void *buf, size_t len);

struct span {
	uint64_t start, end;	/* ELF virtual addresses, end exclusive */
};

/*
 * Bounds of the function around @vaddr, from .eh_frame (there in stripped files too). 0, or
 * -ENOENT.
 */
int object_function_span(const struct object *o, uint64_t vaddr, struct span *out);

/* The @i-th loadable segment, writable ones only if asked. False when there is none. */
bool object_segment(const struct object *o, bool writable_only, size_t i, struct span *out);

#endif
