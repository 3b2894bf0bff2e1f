// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/find.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/proc.h"
#include "target/ruby.h"
#include "util/scope.h"

static void scope_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool is_ruby(pid_t pid)
{
	auto_free struct ruby *r = malloc(sizeof(*r));
	int err = r ? ruby_open_early(r, pid, NULL, NULL) : -ENOMEM;

	if (r)
		ruby_release(r);
	return err == 0;
}

int find_rubies(const char *comm, pid_t *out, int max)
{
	auto_release(scope_closedir) DIR *dir = opendir("/proc");
	struct dirent *d;
	int n = 0;

	if (!dir)
		return -errno;
	while (n < max && (d = readdir(dir))) {
		struct proc p = { .pid = atoi(d->d_name), .pidfd = -1 };

		if (p.pid > 0 && proc_refresh(&p, NULL) == 0 &&
		    strncmp(p.comm, comm, sizeof(p.comm) - 1) == 0 && is_ruby(p.pid))
			out[n++] = p.pid;
	}
	return n;
}
