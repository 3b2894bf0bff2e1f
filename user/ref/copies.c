// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ref/copies.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int ref_buffer_init(struct ref_buffer *b, size_t size, bool is_touched)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		return -errno;
	if (is_touched)
		memset(base, 0, size);
	*b = (struct ref_buffer){ .base = base, .size = size };
	return 0;
}

int ref_buffer_resize(struct ref_buffer *b, size_t size)
{
	void *base;

	if (b->nr_locks)
		return -EBUSY;
	base = mremap(b->base, b->size, size, MREMAP_MAYMOVE);
	if (base == MAP_FAILED)
		return -errno;
	b->base = base;
	b->size = size;
	return 0;
}

int ref_buffer_free(struct ref_buffer *b)
{
	if (b->nr_locks)
		return -EBUSY;
	if (b->base)
		munmap(b->base, b->size);
	*b = (struct ref_buffer){ 0 };
	return 0;
}

/* Where the memory is was read with the lock held. */
static void copy_unlocked(struct ref_lock *l, struct ref_thread *th, char *to, const char *from,
			  size_t size)
{
	ref_lock_drop(l, th);
	memmove(to, from, size);
	ref_lock_acquire(l, th);
}

size_t ref_copy(struct ref_lock *l, struct ref_thread *th, struct ref_buffer *to,
		struct ref_buffer *from, size_t size, size_t threshold)
{
	if (size > to->size)
		size = to->size;
	if (size > from->size)
		size = from->size;
	if (!size)
		return 0;
	if (size < threshold) {
		memmove(to->base, from->base, size);
		return size;
	}
	to->nr_locks++;
	from->nr_locks++;
	copy_unlocked(l, th, to->base, from->base, size);
	from->nr_locks--;
	to->nr_locks--;
	return size;
}
