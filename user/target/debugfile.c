// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/debugfile.h"

#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>

#include "util/scope.h"

static void scope_elf_end(Elf **elf)
{
	if (*elf)
		elf_end(*elf);
}

static bool has_build_id(const char *path, const char *want)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_release(scope_elf_end) Elf *elf = NULL;
	char hex[2 * BUILD_ID_MAX + 1] = "";

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		object_build_id(elf, hex);
	return want[0] && strcmp(hex, want) == 0;
}

/* Tries @path in the process's file system, then in this one. */
static bool try_roots(const struct object *o, const struct proc *p, const char *path, char *out,
		      size_t size)
{
	snprintf(out, size, "/proc/%d/root%s", p->pid, path);
	if (has_build_id(out, o->build_id))
		return true;
	snprintf(out, size, "%s", path);
	return has_build_id(out, o->build_id);
}

static bool try_debuglink(const struct object *o, const struct proc *p, char *out, size_t size)
{
	char dir[4096], path[4400];
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(o->elf, &crc);

	if (!name || strchr(name, '/'))
		return false;
	snprintf(dir, sizeof(dir), "%s", o->path);
	snprintf(path, sizeof(path), "%s/%.255s", dirname(dir), name);
	if (try_roots(o, p, path, out, size))
		return true;
	snprintf(path, sizeof(path), "%s/.debug/%.250s", dir, name);
	if (try_roots(o, p, path, out, size))
		return true;
	snprintf(path, sizeof(path), "/usr/lib/debug%s/%.255s", dir, name);
	return try_roots(o, p, path, out, size);
}

static bool try_debuginfod(const struct object *o, char *out, size_t size)
{
	void *lib = getenv("DEBUGINFOD_URLS") ? dlopen("libdebuginfod.so.1", RTLD_NOW) : NULL;
	void *(*begin)(void) = lib ? dlsym(lib, "debuginfod_begin") : NULL;
	void (*end)(void *) = lib ? dlsym(lib, "debuginfod_end") : NULL;
	int (*find)(void *, const unsigned char *, int, char **) =
		lib ? dlsym(lib, "debuginfod_find_debuginfo") : NULL;
	auto_free char *path = NULL;
	void *client;
	int fd;

	if (!begin || !end || !find)
		return false;
	client = begin();
	if (!client)
		return false;
	fd = find(client, (const unsigned char *)o->build_id, 0, &path);
	end(client);
	if (fd < 0)
		return false;
	close(fd);
	snprintf(out, size, "%s", path);
	return has_build_id(out, o->build_id);
}

int debugfile_find(const struct object *o, const struct proc *p, char *out, size_t size)
{
	char path[256];

	if (!o->build_id[0])
		return -ENOENT;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", o->build_id,
		 o->build_id + 2);
	if (try_roots(o, p, path, out, size) || try_debuglink(o, p, out, size) ||
	    try_debuginfod(o, out, size))
		return 0;
	return -ENOENT;
}
