/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A live CRuby: its version, its layout, its VM and its locks, found without trusting any of it. */
#ifndef GVL_TARGET_RUBY_H
#define GVL_TARGET_RUBY_H

#include <stdbool.h>
#include <stdint.h>

#include "target/layout.h"
#include "target/object.h"
#include "target/proc.h"
#include "util/err.h"

enum layout_source {
	LAYOUT_FROM_DWARF,
	LAYOUT_FROM_DEBUG_FILE,	/* separate debug file, debuginfod */
	LAYOUT_FROM_TABLE,
	LAYOUT_FROM_NEIGHBOUR,	/* --layout-from */
};

const char *layout_source_name(enum layout_source s);	/* "dwarf" or "table" for JSON */

struct ruby {
	struct proc proc;
	struct object object;		/* libruby, or the static program */
	bool has_object;
	char exe[4096];
	char version[16];		/* "3.3.8" */
	char description[160];
	int patchlevel;			/* -1: a development build */
	struct layout layout;
	enum layout_source layout_source;
	char layout_path[4160];		/* the file the layout was read from, "" for the table */
	uint64_t vm;			/* rb_vm_t; 0 while Ruby has not set it up */
};

struct ruby_options {
	const char *layout_from;	/* version whose layout to try, or NULL */
};

/*
 * Finds out what process @pid is, up to and including its VM. 0, or -errno with @e set, e->reason
 * telling how far it got. To be released with ruby_release() in both cases.
 */
int ruby_open(struct ruby *r, pid_t pid, const struct ruby_options *opt, struct err *e);

/* The same without the VM, for a process that has not started it yet; ruby_find_vm() follows. */
int ruby_open_early(struct ruby *r, pid_t pid, const struct ruby_options *opt, struct err *e);
int ruby_find_vm(struct ruby *r, struct err *e);
void ruby_release(struct ruby *r);

struct ruby_lock {
	uint64_t ractor;		/* rb_ractor_t */
	uint64_t owner_word;		/* address of the word that names the owner */
	uint32_t ractor_id;
};

/* Reads the locks, one a Ractor, into @out. The number found (<= @max), or -errno with @e set. */
int ruby_locks(const struct ruby *r, struct ruby_lock *out, int max, struct err *e);

#define LOCK_QUEUE_MAX 16384

struct lock_reading {
	uint64_t owner;			/* rb_thread_t or 0 */
	uint32_t nr_queued;
	bool truncated;			/* the queue was longer, or changed while it was read */
	uint64_t *queued;		/* rb_thread_t each, in queue order; LOCK_QUEUE_MAX entries */
};

/*
 * Reads owner and queue at this moment. The caller repeats it when an event came in between. 0 or
 * -errno; @r->queued belongs to the caller.
 */
int ruby_read_lock(const struct ruby *r, uint64_t owner_word, struct lock_reading *out);

/* The task that runs @thread now, as its own pid namespace counts; 0 when unknown. */
uint32_t ruby_thread_tid(const struct ruby *r, uint64_t thread);

/* True for a thread of a Ractor whose threads share native ones (M:N, since 3.3). */
bool ruby_is_mn_thread(const struct ruby *r, uint64_t thread);

bool ruby_is_main_thread(const struct ruby *r, uint64_t thread);

/* Copies Thread#name of @thread, cut to fit, raw bytes. False when it has none. */
bool ruby_thread_name(const struct ruby *r, uint64_t thread, char *out, size_t size);

#endif
