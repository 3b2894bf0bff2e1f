// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>

#include "cmd/cmd.h"
#include "util/scope.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "bench", cmd_bench, "measure what the designs of Ruby's lock, closes and copies cost here" },
	{ "compare", cmd_compare, "say what it would be with the other design of Ruby" },
	{ "doctor", cmd_doctor, "say what can be measured here, how, and why not otherwise" },
	{ "gate", cmd_gate, "say whether a change made a program worse, for CI" },
	{ "record", cmd_record, "trace the GVL of running Ruby processes into a file" },
	{ "report", cmd_report, "say what a trace file holds" },
};

static void print_help(FILE *out)
{
	fputs("usage: gvlscope COMMAND [options]\n"
	      "\n"
	      "Says what the GVL of live Ruby processes does: who holds it, who waits, who is to\n"
	      "blame. Attaches from outside: no gem, no restart, no change of code.\n"
	      "\n", out);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].what);
	fputs("\n"
	      "`gvlscope COMMAND --help` tells more. -V, --version  print the version\n"
	      "\n"
	      "Exit status: 0 done or passed, 1 failure at run time or interrupted, 2 usage,\n"
	      "3 regression, 4 inconclusive, 5 bad input file, 77 cannot measure here (doctor says\n"
	      "why).\n", out);
}

static int run(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		print_help(stdout);
		return EXIT_DONE;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts("gvlscope " GVLSCOPE_VERSION);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "gvlscope: %s: unknown command\n  see gvlscope --help\n", name);
	return EXIT_USAGE;
}

/* A result that could not be written is no result. */
static int close_stdout(int status)
{
	bool has_failed = ferror(stdout), is_pending = __fpending(stdout);

	errno = 0;
	if (!fclose(stdout) && !has_failed)
		return status;
	if (errno == EBADF && !has_failed && !is_pending)
		return status;		/* it was closed from the start, and nothing was printed */
	fprintf(stderr, "gvlscope: standard output: %s\n", errno ? strerror(errno) :
		"could not be written");
	return status == EXIT_USAGE || status >= EXIT_BAD_FILE ? status : EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
	return close_stdout(run(argc, argv));
}
