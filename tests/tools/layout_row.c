// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * layout-row FILE: the layout that DWARF in FILE gives, for scripts/gen-layouts. First line "arch
 * NAME", then a line for each member of LAYOUT_MEMBERS: name, space, offset or LAYOUT_NONE.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "target/layout.h"
#include "util/scope.h"

/* As `uname -m` names it, or NULL. */
static const char *arch(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	GElf_Ehdr ehdr = { .e_machine = EM_NONE };
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && !gelf_getehdr(elf, &ehdr))
		ehdr.e_machine = EM_NONE;
	elf_end(elf);
	switch (ehdr.e_machine) {
	case EM_X86_64:
		return "x86_64";
	case EM_AARCH64:
		return "aarch64";
	default:
		return NULL;
	}
}

static void print(const char *name, int32_t offset)
{
	if (offset == LAYOUT_NONE)
		printf("%s LAYOUT_NONE\n", name);
	else
		printf("%s %d\n", name, offset);
}

int main(int argc, char **argv)
{
	struct layout l;
	struct err e;

	if (argc != 2) {
		fprintf(stderr, "usage: layout-row FILE\n");
		return EXIT_USAGE;
	}
	if (layout_from_dwarf(&l, argv[1], &e)) {
		fprintf(stderr, "layout-row: %s\n", e.msg);
		return EXIT_RUNTIME;
	}
	if (!arch(argv[1])) {
		fprintf(stderr, "layout-row: %s: neither x86_64 nor aarch64\n", argv[1]);
		return EXIT_RUNTIME;
	}
	printf("arch %s\n", arch(argv[1]));
#define PRINT(name, paths) print(#name, l.name);
	LAYOUT_MEMBERS(PRINT)
#undef PRINT
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_DONE : EXIT_RUNTIME;
}
