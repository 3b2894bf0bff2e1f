// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * closefn PID: where the Ruby of process PID scans for waiters when an IO is closed, a "name value"
 * line for each thing known; for "after" one a call. "recovered" is what is found without symbols.
 * Status 1 and the reason if it is not found.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/closefn.h"
#include "target/ruby.h"
#include "util/scope.h"

static void print(const struct closefn *c, const struct object *o)
{
	printf("object %s\n", o->path);
	printf("how %s\n", c->how == CLOSEFN_SYMBOL ? "symbol" : "recovered");
	printf("argument %s\n", c->is_per_io ? "io" : "fd");
	printf("start %#" PRIx64 "\n", c->start);
	printf("end %#" PRIx64 "\n", c->end);
	printf("entry %#" PRIx64 " %#" PRIx64 "%s%s\n", c->entry_vaddr, c->entry_offset,
	       c->entry_emulated ? " emulated" : "", c->entry_is_start ? " start" : "");
	printf("arg_reg %u\n", c->arg_reg);
	printf("sp_shift %d\n", c->sp_shift);
	for (size_t i = 0; i < c->nr_after; i++)
		printf("after %#" PRIx64 " %#" PRIx64 "%s\n", c->after_vaddr[i], c->after_offset[i],
		       c->after_emulated[i] ? " emulated" : "");
	printf("tail_calls %zu\n", c->nr_tail_calls);
	printf("fdclose %#" PRIx64 " %#" PRIx64 "\n", c->fdclose_start, c->fdclose_end);
}

static int find(pid_t pid)
{
	uint64_t recovered = 0;
	auto_release(ruby_release) struct ruby r;
	struct closefn c;
	struct err e;

	if (ruby_open(&r, pid, &(struct ruby_options){ 0 }, &e) ||
	    closefn_find(&c, &r.object, &r.layout, &e)) {
		fprintf(stderr, "closefn: %s (%s)\n", e.msg, reason_id(e.reason));
		return EXIT_RUNTIME;
	}
	print(&c, &r.object);
	if (!closefn_recover(&recovered, &r.object, &r.layout, &e))
		printf("recovered %#" PRIx64 "\n", recovered);
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_DONE : EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
	const pid_t pid = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;

	if (pid <= 0) {
		fprintf(stderr, "usage: closefn PID\n");
		return EXIT_USAGE;
	}
	return find(pid);
}
