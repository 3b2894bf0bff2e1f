// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/value.h"
#include "util/err.h"
#include "util/scope.h"

#define IMMEDIATE 54
#define MAX_POS 2000

/* Ruby's struct succ_index_table for up to MAX_POS positions, as bytes. */
struct index {
	uint64_t words[6 + (MAX_POS / 512 + 1) * 10];
};

/*
 * succ_index_table_create(), iseq.c, v3_3_8: entries begin at the @size positions @data, of code of
 * @max_pos words. The table that a small body gets is shorter; what it lacks is garbage here.
 */
static void index_fill(struct index *x, uint32_t max_pos, const uint32_t *data, uint32_t size)
{
	uint32_t imm_size = (max_pos < IMMEDIATE ? max_pos + 8 : IMMEDIATE) / 9;
	uint32_t blocks = max_pos < IMMEDIATE ? 0 : (max_pos - IMMEDIATE + 511) / 512;
	uint32_t r = 0;

	memset(x, 0xa5, sizeof(*x));
	memset(x, 0, imm_size * 8 + blocks * 80);
	for (uint32_t j = 0; j < imm_size; j++) {
		for (uint32_t i = 0; i < 9; i++) {
			if (r < size && data[r] == j * 9 + i)
				r++;
			x->words[j] |= (uint64_t)r << 7 * i;
		}
	}
	for (uint32_t k = 0; k < blocks; k++) {
		uint64_t *block = x->words + imm_size + k * 10, small = 0;

		memcpy(block, &r, sizeof(r));
		for (uint32_t j = 0; j < 8; j++) {
			if (j)
				block[1] |= small << 9 * (j - 1);
			for (uint32_t i = 0; i < 64; i++) {
				if (r < size && data[r] == k * 512 + j * 64 + i + IMMEDIATE) {
					block[2 + j] |= 1ULL << i;
					r++;
					small++;
				}
			}
		}
	}
}

static uint32_t rank_in(const struct index *x, uint32_t pos)
{
	uint64_t part[FRAME_PART_MAX / 8], at;
	size_t len;

	frame_part(pos, &at, &len);
	assert_true(len <= FRAME_PART_MAX && at % 8 == 0);
	assert_true(at + len <= sizeof(*x));
	memcpy(part, (const char *)x + at, len);
	return frame_rank(part, pos);
}

/* Each position must have the rank that counting gives. */
static void check_index(uint32_t max_pos, const uint32_t *data, uint32_t size)
{
	struct index x;
	uint32_t want = 0;

	index_fill(&x, max_pos, data, size);
	for (uint32_t pos = 0; pos < max_pos; pos++) {
		if (want < size && data[want] == pos)
			want++;
		if (rank_in(&x, pos) != want)
			fail_msg("of %u positions, %u: rank is %u, want %u", max_pos, pos,
				 rank_in(&x, pos), want);
	}
}

static const uint32_t sizes[] = {
	1, 2, 8, 9, 10, 17, 18, 45, 53, 54, 55, 63, 64, 65, 117, 118, 119, 181, 182, 501, 502, 503,
	565, 566, 567, 1077, 1078, 1079, MAX_POS,
};

static void the_rank_is_what_counting_gives(void **state)
{
	uint32_t data[MAX_POS];

	(void)state;
	srand(1);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		for (int step = 1; step < 40; step++) {
			uint32_t n = 0;

			for (uint32_t pos = 0; pos < sizes[i]; pos += 1 + (uint32_t)(rand() % step))
				data[n++] = pos;
			check_index(sizes[i], data, n);
		}
	}
}

static void one_entry_at_each_position_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		for (uint32_t pos = 1; pos < sizes[i]; pos++) {
			const uint32_t data[] = { 0, pos };

			check_index(sizes[i], data, 2);
		}
	}
}

/* An image of Ruby 3.3's structures in this process, which reads itself. */
static const struct layout layout = {
	.ec_cfp = 16, .ec_stack = 0, .ec_stack_words = 8, .cfp_pc = 0, .cfp_iseq = 16,
	.cfp_self = 24, .cfp_size = 56, .iseq_body = 16, .body_code = 8, .body_code_words = 4,
	.body_pathobj = 64, .body_lines = 112, .body_line_count = 128, .body_line_index = 136,
	.line_no = 0, .line_size = 12, .string_embedded = 24,
};

struct image {
	uint64_t ec[8];
	uint64_t stack[100];
	uint64_t iseq[8];
	uint64_t body[20];
	uint64_t code[100];
	uint32_t lines[3][3];
	struct index index;
	uint64_t path[8];
};

enum { T_STRING = 5, T_ARRAY = 7, T_IMEMO = 0x1a, ISEQ = 7 << 12, NOEMBED = 1 << 13 };

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Three frames: a C function's, a block's in C, and Ruby code's at line 30. */
static void image_init(struct image *m)
{
	static const uint32_t starts[] = { 0, 20, 60 };
	uint64_t *top = m->stack + 100 - 4 * 7;

	memset(m, 0, sizeof(*m));
	m->ec[0] = address(m->stack);
	m->ec[1] = 100;
	m->ec[2] = address(top);
	top[3] = 0x1238;
	top[7 + 2] = address(m->path);
	top[14 + 0] = address(m->code + 71);
	top[14 + 2] = address(m->iseq);
	m->iseq[0] = T_IMEMO | ISEQ;
	m->iseq[2] = address(m->body);
	memcpy((char *)m->body + 4, &(uint32_t){ 100 }, 4);
	m->body[1] = address(m->code);
	m->body[8] = address(m->path);
	m->body[14] = address(m->lines);
	m->body[16] = 3;
	m->body[17] = address(&m->index);
	for (uint32_t i = 0; i < 3; i++)
		m->lines[i][0] = 10 * (i + 1);
	index_fill(&m->index, 100, starts, 3);
	m->path[0] = T_STRING;
	m->path[2] = 6;
	memcpy(m->path + 3, "/a/b.c", 6);
}

/* The line of @f, or "-errno". */
static const char *line_of(const struct frame *f, const struct layout *l, size_t len)
{
	struct proc self = { .pid = getpid(), .pidfd = -1 };
	static char buf[64];
	int r;

	assert_true(len <= sizeof(buf));
	memset(buf, 'x', sizeof(buf));
	r = frame_line(&self, l, f, buf, len);
	assert_true(strlen(buf) < len);
	if (r) {
		assert_string_equal(buf, "");
		snprintf(buf, sizeof(buf), "%d", r);
	}
	return buf;
}

static int top_of(const struct image *m, struct frame *f, uint64_t *self)
{
	struct proc p = { .pid = getpid(), .pidfd = -1 };

	return frame_top(&p, &layout, address(m->ec), f, self);
}

static void frames_of_c_functions_are_passed_over(void **state)
{
	struct frame f;
	struct image m;
	uint64_t self;

	(void)state;
	image_init(&m);
	assert_int_equal(top_of(&m, &f, &self), 0);
	assert_int_equal(f.iseq, address(m.iseq));
	assert_int_equal(f.pc, address(m.code + 71));
	assert_int_equal(self, 0x1238);
	assert_string_equal(line_of(&f, &layout, 64), "/a/b.c:30");
}

static void the_pc_is_behind_its_instruction(void **state)
{
	static const struct {
		int word, line;
	} cases[] = {
		{ 0, 10 }, { 1, 10 }, { 20, 10 }, { 21, 20 }, { 60, 20 }, { 61, 30 }, { 100, 30 },
	};
	struct frame f;
	struct image m;
	char want[16];

	(void)state;
	image_init(&m);
	f.iseq = address(m.iseq);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		f.pc = address(m.code) + 8 * (uint64_t)cases[i].word;
		snprintf(want, sizeof(want), "/a/b.c:%d", cases[i].line);
		assert_string_equal(line_of(&f, &layout, 64), want);
	}
	m.body[16] = 1;		/* one line has no index */
	m.body[17] = 0;
	assert_string_equal(line_of(&f, &layout, 64), "/a/b.c:10");
}

static void paths_are_strings_in_each_form(void **state)
{
	struct layout old = layout;
	struct frame f;
	struct image m;
	uint64_t array[5] = { T_ARRAY };

	(void)state;
	image_init(&m);
	f = (struct frame){ address(m.iseq), address(m.code) };
	m.path[0] = T_STRING | NOEMBED;
	m.path[3] = address("heap");
	m.path[2] = 4;
	assert_string_equal(line_of(&f, &layout, 64), "heap:10");

	m.body[8] = address(array);	/* [path, realpath], embedded */
	array[0] |= 1 << 13 | 2 << 15;
	array[2] = address(m.path);
	assert_string_equal(line_of(&f, &layout, 64), "heap:10");
	array[0] = T_ARRAY;		/* the same on the heap */
	array[2] = 2;
	array[4] = address((uint64_t[]){ address(m.path) });
	assert_string_equal(line_of(&f, &layout, 64), "heap:10");
	array[2] = 0;
	assert_string_equal(line_of(&f, &layout, 64), "-2");

	m.body[8] = address(m.path);	/* up to 3.1 */
	old.string_embedded = 16;
	m.path[0] = T_STRING | 3 << 14;
	memcpy(m.path + 2, "old?", 4);
	assert_string_equal(line_of(&f, &old, 64), "old:10");
}

static void a_path_that_is_too_long_loses_its_beginning(void **state)
{
	struct frame f;
	struct image m;

	(void)state;
	image_init(&m);
	f = (struct frame){ address(m.iseq), address(m.code) };
	assert_string_equal(line_of(&f, &layout, 10), "/a/b.c:10");
	assert_string_equal(line_of(&f, &layout, 9), "a/b.c:10");
	assert_string_equal(line_of(&f, &layout, 5), "c:10");
	assert_string_equal(line_of(&f, &layout, 4), ":10");
	assert_string_equal(line_of(&f, &layout, 2), ":");
	assert_string_equal(line_of(&f, &layout, 1), "");
}

static void what_is_no_frame_is_refused(void **state)
{
	struct layout l = layout;
	struct frame f;
	struct image m;

	(void)state;
	image_init(&m);
	f = (struct frame){ address(m.iseq), address(m.code) - 8 };
	assert_string_equal(line_of(&f, &layout, 64), "-22");
	f.pc = address(m.code) + 101 * 8;
	assert_string_equal(line_of(&f, &layout, 64), "-22");
	f.pc = address(m.code) + 4;
	assert_string_equal(line_of(&f, &layout, 64), "-22");
	f.pc = address(m.code);
	m.index.words[0] = 4;		/* of three lines the fourth */
	assert_string_equal(line_of(&f, &layout, 64), "-22");
	m.index.words[0] = 0;
	assert_string_equal(line_of(&f, &layout, 64), "-22");
	m.body[16] = 0;
	assert_string_equal(line_of(&f, &layout, 64), "-2");
	m.body[16] = 1;
	m.path[0] = T_IMEMO;
	assert_string_equal(line_of(&f, &layout, 64), "-22");
	m.iseq[2] = 8;
	assert_string_equal(line_of(&f, &layout, 64), "-14");
	m.iseq[0] = T_IMEMO | 4 << 12;
	assert_string_equal(line_of(&f, &layout, 64), "-22");
	f.iseq = 0;
	assert_string_equal(line_of(&f, &layout, 64), "-22");
	l.body_pathobj = LAYOUT_NONE;
	image_init(&m);
	f.iseq = address(m.iseq);
	assert_string_equal(line_of(&f, &l, 64), "-95");
}

static void what_is_no_stack_is_refused(void **state)
{
	struct frame f;
	struct image m;
	uint64_t self;

	(void)state;
	image_init(&m);
	m.ec[2] += 8;
	assert_int_equal(top_of(&m, &f, &self), -22);
	m.ec[2] = m.ec[0] - 7 * 8;
	assert_int_equal(top_of(&m, &f, &self), -22);
	m.ec[2] = m.ec[0] + 107 * 8;
	assert_int_equal(top_of(&m, &f, &self), -22);
	m.ec[1] = UINT64_MAX;
	assert_int_equal(top_of(&m, &f, &self), -22);

	image_init(&m);
	m.ec[2] = m.ec[0] + 100 * 8;
	assert_int_equal(top_of(&m, &f, &self), -2);
	m.ec[2] -= 7 * 8;
	m.stack[100 - 4] = 0x99;
	assert_int_equal(top_of(&m, &f, &self), -2);
	assert_int_equal(self, 0x99);
	m.ec[0] = 4096;
	m.ec[2] = 4096 + 100 * 8 - 7 * 8;
	assert_int_equal(top_of(&m, &f, &self), -14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rank_is_what_counting_gives),
		cmocka_unit_test(one_entry_at_each_position_is_found),
		cmocka_unit_test(frames_of_c_functions_are_passed_over),
		cmocka_unit_test(the_pc_is_behind_its_instruction),
		cmocka_unit_test(paths_are_strings_in_each_form),
		cmocka_unit_test(a_path_that_is_too_long_loses_its_beginning),
		cmocka_unit_test(what_is_no_frame_is_refused),
		cmocka_unit_test(what_is_no_stack_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
