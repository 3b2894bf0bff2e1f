// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/frame.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "target/value.h"
#include "util/scope.h"

enum {
	FRAMES_MAX = 256,		/* C functions that call one another, at most */
	FRAME_SIZE_MAX = 128,		/* 56 or 64 */
	STACK_WORDS_MAX = 1 << 27,	/* the default is 1 << 17: RUBY_VM_THREAD_VM_STACK_SIZE */
	LINE_SIZE_MAX = 64,		/* 8 or 12 */

	/* iseq.c, struct succ_index_table, the same from 3.0 to 4.0 */
	IMMEDIATE_TABLE_SIZE = 54,	/* positions whose ranks are stored, nine a word */
	RANKS_PER_WORD = 9,
	RANK_BITS = 7,
	BLOCK_POSITIONS = 512,		/* of a struct succ_dict_block, after the first 54 */
	SMALL_RANK_BITS = 9,
};

/* struct succ_dict_block, iseq.c */
struct block {
	uint32_t rank;			/* of the position before its first */
	uint32_t pad;
	uint64_t small_ranks;		/* 9 bits each, relative to rank: of bits[1] to bits[7] */
	uint64_t bits[BLOCK_POSITIONS / 64];
};
_Static_assert(sizeof(struct block) == FRAME_PART_MAX, "iseq.c");

void frame_part(uint32_t pos, uint64_t *at, size_t *len)
{
	if (pos < IMMEDIATE_TABLE_SIZE) {
		*at = pos / RANKS_PER_WORD * sizeof(uint64_t);
		*len = sizeof(uint64_t);
		return;
	}
	*at = IMMEDIATE_TABLE_SIZE / RANKS_PER_WORD * sizeof(uint64_t) +
	      (uint64_t)((pos - IMMEDIATE_TABLE_SIZE) / BLOCK_POSITIONS) * sizeof(struct block);
	*len = sizeof(struct block);
}

/* succ_index_lookup() and its macros, iseq.c */
uint32_t frame_rank(const void *part, uint32_t pos)
{
	const struct block *b = part;
	uint32_t bit, word, rank;

	if (pos < IMMEDIATE_TABLE_SIZE)
		return *(const uint64_t *)part >> pos % RANKS_PER_WORD * RANK_BITS &
		       ((1 << RANK_BITS) - 1);
	bit = (pos - IMMEDIATE_TABLE_SIZE) % BLOCK_POSITIONS;
	word = bit / 64;
	rank = b->rank;
	if (word > 0)
		rank += b->small_ranks >> (word - 1) * SMALL_RANK_BITS &
			((1 << SMALL_RANK_BITS) - 1);
	return rank + (uint32_t)__builtin_popcountll(b->bits[word] << (63 - bit % 64));
}

/* What rb_iseq_constant_body says of the lines of an iseq. */
struct code {
	uint64_t start, lines, line_index, pathobj;
	uint32_t words, nr_lines;
};

static int code_read(const struct proc *p, const struct layout *l, uint64_t iseq, struct code *c)
{
	const struct {
		int32_t at;
		size_t size;
		void *to;
	} members[] = {
		{ l->body_code, sizeof(c->start), &c->start },
		{ l->body_code_words, sizeof(c->words), &c->words },
		{ l->body_pathobj, sizeof(c->pathobj), &c->pathobj },
		{ l->body_lines, sizeof(c->lines), &c->lines },
		{ l->body_line_count, sizeof(c->nr_lines), &c->nr_lines },
		{ l->body_line_index, sizeof(c->line_index), &c->line_index },
	};
	uint64_t body;
	int r;

	if (l->iseq_body == LAYOUT_NONE)
		return -ENOTSUP;
	r = value_is_iseq(p, iseq);
	if (r)
		return r;
	r = proc_read_u64(p, iseq + (uint64_t)l->iseq_body, &body);
	for (size_t i = 0; !r && i < ARRAY_LEN(members); i++) {
		if (members[i].at == LAYOUT_NONE)
			return -ENOTSUP;
		r = proc_read(p, body + (uint64_t)members[i].at, members[i].to, members[i].size);
	}
	return r;
}

/*
 * Which of the lines @pos belongs to: get_insn_info(), iseq.c. Its index exists in every build with
 * default options (VM_INSN_INFO_TABLE_IMPL 2, vm_core.h).
 */
static int line_find(const struct proc *p, const struct code *c, uint32_t pos, uint32_t *out)
{
	uint64_t part[FRAME_PART_MAX / sizeof(uint64_t)], at;
	uint32_t rank;
	size_t len;
	int r;

	*out = 0;
	if (c->nr_lines <= 1)
		return c->nr_lines ? 0 : -ENOENT;
	frame_part(pos, &at, &len);
	r = proc_read(p, c->line_index + at, part, len);
	if (r)
		return r;
	rank = frame_rank(part, pos);
	if (rank == 0 || rank > c->nr_lines)
		return -EINVAL;
	*out = rank - 1;
	return 0;
}

/* The number of the line of @pc: calc_lineno(), later calc_pos(), vm_backtrace.c */
static int line_number(const struct proc *p, const struct layout *l, const struct code *c,
		       uint64_t pc, int32_t *out)
{
	uint64_t off = pc - c->start;	/* too large when it is before */
	uint32_t pos, line;
	int r;

	if (l->line_no == LAYOUT_NONE || l->line_size <= 0 || l->line_size > LINE_SIZE_MAX)
		return -ENOTSUP;
	if (off % 8 != 0 || off / 8 > c->words)
		return -EINVAL;
	pos = (uint32_t)(off / 8);
	if (pos > 0)
		pos--;
	r = line_find(p, c, pos, &line);
	if (r)
		return r;
	return proc_read(p, c->lines + (uint64_t)line * (uint64_t)l->line_size +
			    (uint64_t)l->line_no, out, sizeof(*out));
}

/* How much of a path of @path_len bytes must go for a number of @number_len to fit in @room too. */
static size_t cut_of(size_t path_len, size_t number_len, size_t room)
{
	size_t excess = path_len + number_len > room ? path_len + number_len - room : 0;

	return excess < path_len ? excess : path_len;
}

int frame_line(const struct proc *p, const struct layout *l, const struct frame *f, char *buf,
	       size_t len)
{
	char path[PATH_MAX], number[16];
	size_t path_len, number_len;
	uint64_t string;
	struct code c;
	int32_t line;
	int r = code_read(p, l, f->iseq, &c);

	buf[0] = '\0';
	if (!r)
		r = line_number(p, l, &c, f->pc, &line);
	if (r)
		return r;
	/* a String, or an Array of path and real path: rb_iseq_pathobj_new(), iseq.c */
	r = value_first(p, c.pathobj, &string);
	if (r == -EINVAL)
		string = c.pathobj;
	else if (r)
		return r;
	r = value_string(p, l, string, path, sizeof(path));
	if (r)
		return r;
	path_len = strlen(path);
	number_len = (size_t)snprintf(number, sizeof(number), ":%d", line);
	snprintf(buf, len, "%s%s", path + cut_of(path_len, number_len, len - 1), number);
	return 0;
}

static bool knows_frames(const struct layout *l)
{
	const int32_t words[] = { l->cfp_pc, l->cfp_iseq, l->cfp_self };
	const int32_t last = l->cfp_size - (int32_t)sizeof(uint64_t);

	if (l->ec_cfp == LAYOUT_NONE || l->ec_stack == LAYOUT_NONE ||
	    l->ec_stack_words == LAYOUT_NONE || l->cfp_size <= 0 || l->cfp_size > FRAME_SIZE_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (words[i] < 0 || words[i] > last)
			return false;
	return true;
}

/* The first frame ends where the stack does: rb_ec_initialize_vm_stack(), vm.c */
static int frames_read(const struct proc *p, const struct layout *l, uint64_t ec, uint64_t *top,
		       uint64_t *end)
{
	uint64_t stack, words;
	int r = proc_read_u64(p, ec + (uint64_t)l->ec_cfp, top);

	r = r ? r : proc_read_u64(p, ec + (uint64_t)l->ec_stack, &stack);
	r = r ? r : proc_read_u64(p, ec + (uint64_t)l->ec_stack_words, &words);
	if (r)
		return r;
	if (words > STACK_WORDS_MAX || stack > UINT64_MAX - 8 * words)
		return -EINVAL;
	*end = stack + 8 * words;
	if (*top < stack || *top > *end || (*end - *top) % (uint64_t)l->cfp_size != 0)
		return -EINVAL;
	return 0;
}

/*
 * A C function's frame has neither iseq nor pc; one of a block in C has no pc, and in place of the
 * iseq what describes the block (vm_push_frame() in vm_yield_with_cfunc(), vm_insnhelper.c).
 */
int frame_top(const struct proc *p, const struct layout *l, uint64_t ec, struct frame *out,
	      uint64_t *self)
{
	char frame[FRAME_SIZE_MAX];
	uint64_t at, end;
	int r;

	*self = 0;
	if (!knows_frames(l))
		return -ENOTSUP;
	r = frames_read(p, l, ec, &at, &end);
	for (int i = 0; !r && at < end && i < FRAMES_MAX; i++) {
		r = proc_read(p, at, frame, (size_t)l->cfp_size);
		if (r)
			break;
		memcpy(&out->iseq, frame + l->cfp_iseq, sizeof(out->iseq));
		memcpy(&out->pc, frame + l->cfp_pc, sizeof(out->pc));
		if (i == 0)
			memcpy(self, frame + l->cfp_self, sizeof(*self));
		if (out->iseq && out->pc)
			return value_is_iseq(p, out->iseq);
		at += (uint64_t)l->cfp_size;
	}
	return r ? r : -ENOENT;
}
