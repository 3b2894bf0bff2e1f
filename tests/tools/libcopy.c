// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libcopy PID [MIN]: the routines of the C library that copy and fill memory in process PID, and
 * where sizes from MIN bytes (16384) on can be seen in them, a "name value" line for each thing
 * known. Status 77 and the reason if that is lacking for one of them.
 *
 * libcopy -a PID [MIN]: the same for each routine that the loader might have chosen on other
 * processors, with "chosen" after those that it did.
 */
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/function.h"
#include "probe/libcopy.h"
#include "util/scope.h"

enum { MIN_BYTES = 16384 };

static void print(const struct libcopy_routine *r, const char *note)
{
	printf("routine %s %#" PRIx64 " %#" PRIx64 "%s\n",
	       r->op == LIBCOPY_MOVE ? "memmove" : "memset", r->start, r->end, note);
	if (r->nr_places)
		printf("from %" PRIu64 "\n", r->from);
	for (size_t i = 0; i < r->nr_places; i++) {
		const struct libcopy_place *p = &r->places[i];

		printf("place %#" PRIx64 " %#" PRIx64 " reg %u least %" PRIu64 "%s\n", p->vaddr,
		       p->offset, p->size_reg, p->least, p->emulated ? " emulated" : "");
	}
}

/* The address of the resolver of @name; 0 if there is none. */
static uint64_t resolver(const struct object *o, const char *name)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while ((scn = elf_nextscn(o->elf, scn)))
		for (int i = 0; gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM &&
				gelf_getsym(elf_getdata(scn, NULL), i, &sym); i++)
			if (GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC &&
			    strcmp(elf_strptr(o->elf, sh.sh_link, sym.st_name), name) == 0)
				return sym.st_value;
	return 0;
}

static bool is_chosen(const struct libcopy *c, uint64_t start)
{
	for (size_t i = 0; i < c->nr_routines; i++)
		if (start >= c->routines[i].start && start < c->routines[i].end)
			return true;
	return false;
}

/* All that the resolver may return: the functions whose addresses it takes. */
static void print_all(const struct libcopy *c, const struct proc *p, const char *name,
		      enum libcopy_op op, uint64_t min)
{
	auto_release(function_release) struct function f = { 0 };

	if (function_load(&f, &c->object, resolver(&c->object, name)))
		return;
	for (size_t i = 0; i < f.nr; i++) {
		struct libcopy_routine r = { .op = op };
		uint64_t start = f.insns[i].value;
		int err;

		if (f.insns[i].sets != INSN_SETS_VALUE || !function_starts(&c->object, start))
			continue;
		err = libcopy_place(&r, &c->object, p, &start, 1, min);
		printf("start %#" PRIx64 "\n", start);
		print(&r, is_chosen(c, start) ? " chosen" : "");
		if (err)
			printf("error %s\n", strerror(-err));
	}
}

static int find(pid_t pid, uint64_t min, bool all)
{
	auto_release(proc_release) struct proc p = { .pidfd = -1 };
	auto_release(libcopy_release) struct libcopy c = { .object.fd = -1 };
	struct err e;
	int err = proc_init(&p, pid, &e);

	if (!err)
		err = libcopy_find(&c, &p, min, &e);
	if (err)
		fprintf(stderr, "libcopy: %s (%s)\n", e.msg, reason_id(e.reason));
	if (c.nr_routines)
		printf("object %s\n", c.object.path);
	if (all) {
		print_all(&c, &p, "memmove", LIBCOPY_MOVE, min);
		print_all(&c, &p, "mempcpy", LIBCOPY_MOVE, min);
		print_all(&c, &p, "memset", LIBCOPY_SET, min);
	}
	for (size_t i = 0; i < c.nr_routines && !all; i++)
		print(&c.routines[i], "");
	if (fflush(stdout) || ferror(stdout))
		return EXIT_RUNTIME;
	return err ? (int)reason_status(e.reason) : EXIT_DONE;
}

int main(int argc, char **argv)
{
	bool all = argc > 1 && strcmp(argv[1], "-a") == 0;
	char **args = argv + 1 + all;
	int n = argc - 1 - all;

	if (n < 1 || n > 2 || atoi(args[0]) <= 0) {
		fprintf(stderr, "usage: libcopy [-a] PID [MIN]\n");
		return EXIT_USAGE;
	}
	return find(atoi(args[0]), n > 1 ? strtoull(args[1], NULL, 10) : MIN_BYTES, all);
}
