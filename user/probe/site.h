/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A learned site: an instruction that writes a lock's word, and where best to probe it. */
#ifndef GVL_PROBE_SITE_H
#define GVL_PROBE_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "target/object.h"
#include "util/err.h"

#define SITES_MAX 256

enum site_state {
	SITE_CANDIDATE,		/* may write the word: not run yet, or not often enough */
	SITE_PROVEN,		/* was seen to write the word of a lock */
	SITE_DISPROVEN,		/* was run, and wrote something else */
};

struct site {
	enum word word;
	uint64_t write_vaddr;	/* of the writing instruction, in the ELF file */
	uint64_t probe_vaddr;	/* where the probe goes, in the same basic block */
	uint64_t probe_offset;	/* the same as a file offset, for uprobes */
	uint64_t cookie;	/* SITE_COOKIE() */
	bool emulated;		/* the probe costs one trap; else it is single-stepped as well */
	enum site_state state;
	uint32_t number;	/* in the tracer's table of counts */
};

/*
 * Chooses the probe for the instruction at or (@is_next) just before @vaddr, which writes @word.
 * The chosen place is reached just when the word is written and has the base register, so that the
 * address written can be told there. 0, or -errno with @e set: not a store that can be followed.
 */
int site_choose(struct site *out, const struct object *o, uint64_t vaddr, bool is_next,
		enum word word, struct err *e);

#endif
