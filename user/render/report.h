/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a report says, and the formats that say it. One model, many renderers. */
#ifndef GVL_RENDER_REPORT_H
#define GVL_RENDER_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "event/profile.h"
#include "render/clean.h"
#include "render/doc.h"
#include "stat/share.h"
#include "util/err.h"

/* What the text's tables go into. */
enum report_by {
	REPORT_BY_THREAD,
	REPORT_BY_CALL,		/* all blocking regions instead of threads */
};

/* A trace once it is read. The texts come from the file: anything may be in them, or NULL. */
struct report_source {
	const char *facts;
	const char *totals;		/* NULL: the file was cut */
	bool is_complete;
	const struct profile *profile;	/* finished */
	enum report_by by;
};

struct report_lock {
	const struct lock *lock;
	const struct thread **threads;	/* by blame */
	size_t nr_threads;
	json_int_t pid;			/* 0: not known */
};

struct report {
	json_t *tool, *host, *target, *methods;	/* as the file has them, of the right type, or NULL */
	json_t *lost, *cost;
	const char *start;			/* RFC 3339, or NULL */
	const char *stop;			/* why the capture ended, or NULL */
	uint64_t first_ns, last_ns;		/* the capture, or what the window has of it */
	uint64_t duration_ns;
	double seen_share;
	bool is_complete;
	bool is_loss_known;
	bool has_window;
	bool has_close, has_block, has_copy;	/* measured */
	enum report_by by;
	const struct profile *profile;
	struct report_lock *locks;		/* those with the most waiting first */
	size_t nr_locks;

	json_t *facts, *totals;			/* own the above */
};

/* 0, or -errno with @e set: the facts are no JSON object (REASON_TRACE_DAMAGED). Release it always. */
int report_init(struct report *r, const struct report_source *src, struct err *e);
void report_release(struct report *r);

/* 0, or -errno with @e set. Whether @out took it is for its owner to check. */
int report_json(const struct report *r, FILE *out, struct err *e);
int report_text(const struct report *r, FILE *out, bool is_bold, struct err *e);
int report_markdown(const struct report *r, FILE *out, struct err *e);

json_t *report_document(const struct report *r);	/* what report_json() prints; NULL when out of memory */
json_t *report_close_json(const struct report *r);	/* the parts of it */
json_t *report_block_json(const struct report *r);
json_t *report_copy_json(const struct report *r);

struct copy_name {
	char text[CLEAN_MAX + 16];
};

/* What copies: the method, or its C function; cleaned. @flags as in struct copy_site. */
struct copy_name report_copy_name(const struct report *r, uint64_t function, uint8_t flags);

/* What share of an owner's time on a CPU @ticks are; at most all of it. */
struct share report_copy_share(const struct report *r, uint64_t ticks);

/* True if how many waiters each close visited is certain. */
bool report_visited_exact(const struct report *r);

enum close_part { CLOSE_SCAN, CLOSE_WAIT, CLOSE_SYSCALL, CLOSE_OTHER, CLOSE_PARTS };

/* What the time of closes went for, in ns, without what the probes took of it; their sum. */
uint64_t report_close_parts(const struct report *r, uint64_t ns[CLOSE_PARTS]);
enum close_part report_close_largest(const uint64_t ns[CLOSE_PARTS]);

/* What text and markdown both print, and the sections of it on what was measured of these. */
void report_doc(const struct report *r, struct doc *d);
void report_close_doc(const struct report *r, struct doc *d);
void report_block_doc(const struct report *r, struct doc *d);
void report_copy_doc(const struct report *r, struct doc *d);

struct clean report_thread_name(const struct thread *t);	/* its address where it has none */

/* Cleaned, in at most @width columns: the end of a path or of "FILE+ADDRESS" tells more. */
struct clean report_end_of(const char *s, size_t width);

#endif
