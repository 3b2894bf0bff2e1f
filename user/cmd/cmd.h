/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands: each has its options and its exit status (enum exit_status). */
#ifndef GVL_CMD_CMD_H
#define GVL_CMD_CMD_H

#include "util/err.h"

/* argv[0] is the command's name. */
int cmd_bench(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_gate(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);

/* Prints what went wrong and what to do about it to stderr. Returns the exit status it deserves. */
int cmd_fail(const struct err *e);

/* The exit status of a command that ended with @err: 1 prints its @usage, which was asked for. */
int cmd_end(int err, const char *usage, const struct err *e);

#endif
