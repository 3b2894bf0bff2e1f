// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* layout_from_dwarf() on any bytes: an error or a layout that layout_check() accepts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/layout.h"
#include "util/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_close int fd = memfd_create("elf_dwarf", MFD_CLOEXEC);
	char path[64];
	struct layout l;
	struct err e;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (layout_from_dwarf(&l, path, &e) == 0 && layout_check(&l, &e) != 0)
		abort();
	return 0;
}
