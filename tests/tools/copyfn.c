// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * copyfn PID [methods]: where the Ruby of process PID copies in IO::Buffer: "nr_methods N", a line
 * "method NAME VADDR" for each, and "site VADDR OFFSET OP ..." for each call that copies, with the
 * names of the methods that come by it; "unseen NAME" for a method that has no or not all sites.
 * With "methods" all methods that the file defines instead: "VADDR INIT NAME SYMBOL", the symbol
 * "-" without symbols. Status 1 and the reason if they are not found.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/copyfn.h"
#include "probe/methods.h"
#include "target/ruby.h"
#include "util/scope.h"

static void print_site(const struct copy_site *s)
{
	static const char *const ops[] = {
		[COPY_MOVE] = "move", [COPY_SET] = "set", [COPY_COMPARE] = "compare",
		[COPY_STRING] = "string",
	};

	printf("site %#" PRIx64 " %#" PRIx64 " %s%s len_reg %u %s", s->call_vaddr, s->call_offset,
	       ops[s->op], s->call_emulated ? " emulated" : "", s->len_reg,
	       s->is_released ? "released" : "held");
	if (s->is_tail)
		printf(" tail");
	else
		printf(" after %#" PRIx64 " %#" PRIx64 "%s", s->after_vaddr, s->after_offset,
		       s->after_emulated ? " emulated" : "");
	printf(" by");
	for (unsigned int i = 0; i < COPY_METHODS; i++)
		if (s->methods & 1u << i)
			printf(" %s", copy_method_name(i));
	printf("\n");
}

static void print(const struct copyfn *c)
{
	for (unsigned int i = 0; i < COPY_METHODS; i++)
		if (c->method_vaddr[i])
			printf("method %s %#" PRIx64 "\n", copy_method_name(i), c->method_vaddr[i]);
	for (size_t i = 0; i < c->nr; i++)
		print_site(&c->sites[i]);
	for (unsigned int i = 0; i < COPY_METHODS; i++)
		if (c->unseen & 1u << i)
			printf("unseen %s\n", copy_method_name(i));
}

static void print_methods(const struct methods *m, const struct object *o)
{
	for (size_t i = 0; i < m->nr; i++) {
		const char *symbol = object_function_name(o, m->all[i].vaddr);

		printf("%#" PRIx64 " %#" PRIx64 " %s %s\n", m->all[i].vaddr, m->all[i].init,
		       m->all[i].name, symbol ? symbol : "-");
	}
}

static int find(pid_t pid, bool want_methods)
{
	auto_release(ruby_release) struct ruby r;
	auto_release(methods_release) struct methods m = { 0 };
	struct copyfn c;
	struct err e;

	if (ruby_open(&r, pid, &(struct ruby_options){ 0 }, &e) ||
	    methods_find(&m, &r.object, &e) ||
	    (!want_methods && copyfn_find(&c, &r.object, &m, &e))) {
		fprintf(stderr, "copyfn: %s (%s)\n", e.msg, reason_id(e.reason));
		return EXIT_RUNTIME;
	}
	if (want_methods) {
		print_methods(&m, &r.object);
	} else {
		printf("object %s\nnr_methods %zu\n", r.object.path, m.nr);
		print(&c);
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_DONE : EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
	const pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	const bool want_methods = argc == 3 && strcmp(argv[2], "methods") == 0;

	if (pid <= 0 || argc > 3 || (argc == 3 && !want_methods)) {
		fprintf(stderr, "usage: copyfn PID [methods]\n");
		return EXIT_USAGE;
	}
	return find(pid, want_methods);
}
