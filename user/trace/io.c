// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "trace/io.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* True if the call that failed with @errnum deserves another try; waits until it may succeed. */
static bool io_retry(int fd, short events, int errnum)
{
	struct pollfd p = { .fd = fd, .events = events };

	if (errnum == EINTR)
		return true;
	if (errnum != EAGAIN && errnum != EWOULDBLOCK)
		return false;
	return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

ssize_t io_read(int fd, void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (uint8_t *)data + done, size - done);

		if (n == 0)
			break;
		if (n > 0)
			done += n;
		else if (!io_retry(fd, POLLIN, errno))
			return -errno;
	}
	return done;
}

/* Takes back the last @size bytes, but only while they are the end of a regular file. */
static void io_take_back(int fd, size_t size)
{
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (size == 0 || end < (off_t)size || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	if (st.st_size != end || ftruncate(fd, end - (off_t)size))
		return;
	lseek(fd, end - (off_t)size, SEEK_SET);
}

int io_write(int fd, const void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(fd, (const uint8_t *)data + done, size - done);
		int errnum = n < 0 ? errno : ENOSPC;	/* 0 bytes: there is no room */

		if (n > 0) {
			done += n;
			continue;
		}
		if (n < 0 && io_retry(fd, POLLOUT, errnum))
			continue;
		io_take_back(fd, done);
		return -errnum;
	}
	return 0;
}
