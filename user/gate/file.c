// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "gate/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "util/scope.h"

enum { CHUNK = 1 << 16 };

int file_read(const char *path, size_t max, enum reason reason, char **text, size_t *size, struct err *e)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_free char *all = NULL;
	size_t nr = 0;
	ssize_t got;

	if (fd < 0)
		return err_set(e, reason, -errno, "%s: %s", path, strerror(errno));
	do {
		char *more = realloc(all, nr + CHUNK + 1);

		if (!more)
			return err_nomem(e);
		all = more;
		got = TEMP_FAILURE_RETRY(read(fd, all + nr, CHUNK));
		if (got < 0)
			return err_set(e, reason, -errno, "%s: %s", path, strerror(errno));
		nr += got;
		if (nr > max)
			return err_set(e, reason, -EFBIG, "%s: more than %zu bytes", path, max);
	} while (got);
	all[nr] = 0;
	*text = take_ptr(all);
	*size = nr;
	return 0;
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t put = TEMP_FAILURE_RETRY(write(fd, text, size));

		if (put < 0)
			return -errno;
		text += put;
		size -= put;
	}
	return fsync(fd) ? -errno : 0;
}

/* As open(2) would have made it. */
static mode_t mode_of_new(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* The file that is to be replaced: what a link leads to. A device or a pipe is not for that. */
static int target_of(const char *path, char **out, struct err *e)
{
	auto_free char *target = realpath(path, NULL);
	struct stat st;

	if (!target && errno == ENOENT)
		target = strdup(path);
	if (!target)
		return err_sys(e, errno, path);
	if (stat(target, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, REASON_SYS, -EINVAL, "%s: not a regular file", path);
	*out = take_ptr(target);
	return 0;
}

int file_replace(const char *path, const char *text, size_t size, struct err *e)
{
	auto_close int fd = -1;
	auto_free char *name = NULL, *target = NULL;
	int err = target_of(path, &target, e);

	if (err)
		return err;
	if (asprintf(&name, "%s.XXXXXX", target) < 0) {
		name = NULL;
		return err_nomem(e);
	}
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, path);
	err = write_all(fd, text, size);
	if (!err && (fchmod(fd, mode_of_new()) || rename(name, target)))
		err = -errno;
	if (!err)
		return 0;
	unlink(name);
	return err_sys(e, -err, path);
}
