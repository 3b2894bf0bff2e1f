// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Choosing where to probe a store: on code written here, in this very program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "probe/insn.h"
#include "probe/site.h"
#include "util/scope.h"

#if defined(__x86_64__)

/*
 * Each store is at NAME, the place wanted for its probe at NAME_at. The rdi is the base, rsi the
 * value; labels that are jumped to end what can be relied on.
 */
#define CODE(name, before, store, after) \
	__asm__(".text\n.p2align 4\n.globl fn_" #name "\n.type fn_" #name ",@function\n" \
		"fn_" #name ": .cfi_startproc\n" before "\n.globl " #name "\n" #name ": " store "\n" \
		after "\n .cfi_endproc\n"); \
	extern char name[], name##_at[];

CODE(jump_behind, "", "mov %rsi, 40(%rdi)", " mov %rax, %rcx\njump_behind_at: jne 1f\n1: ret")
CODE(joined_behind, " jne 1f\n mov %rax, %rcx", "joined_behind_at: mov %rsi, 40(%rdi)", "1: ret")
CODE(base_lost, " mov %rax, %rcx", "base_lost_at: mov %rsi, 40(%rdi)",
     " mov %rax, %rdi\n jne 1f\n1: ret")
CODE(push_before, "push_before_at: push %rbx\n mov %rax, %rcx", "mov %rsi, 40(%rdi)",
     " pop %rbx\n ret")
CODE(value_comes_late, " push %rbx\n mov %rax, %rsi", "value_comes_late_at: mov %rsi, 40(%rdi)",
     " pop %rbx\n ret")
CODE(constant, "constant_at: push %rbx\n mov %rax, %rsi", "movq $0, 40(%rdi)", " pop %rbx\n ret")
CODE(call_behind, "", "mov %rsi, 40(%rdi)", "call_behind_at: call getpid@plt\n ret")
CODE(indexed, "", "mov %rsi, 40(%rdi,%rax,8)", "indexed_at: jmp 1f\n1: ret")
CODE(half, "", "mov %esi, 40(%rdi)", "half_at: jmp 1f\n1: ret")
__asm__(".text\nfn_last: .cfi_startproc\n nop\n ret\n .cfi_endproc\n");

static struct object self;

static int find_self(void *arg, const struct proc_map *m)
{
	uint64_t code = (uintptr_t)jump_behind;

	(void)arg;
	if (!m->executable || code < m->start || code >= m->end)
		return 0;
	return object_open(&self, &(struct proc){ .pid = getpid(), .pidfd = -1 }, m, NULL) ? -1 : 1;
}

static int open_self(void **state)
{
	(void)state;
	return proc_maps(&(struct proc){ .pid = getpid() }, find_self, NULL, NULL) == 1 ? 0 : -1;
}

static int close_self(void **state)
{
	(void)state;
	object_release(&self);
	return 0;
}

enum { BASE_RDI = 14, VALUE_RSI = 13 };	/* words of struct pt_regs */

static void check_place(const char *store, const char *want, bool emulated, unsigned int value)
{
	struct site s;

	assert_int_equal(site_choose(&s, &self, (uintptr_t)store - self.bias, false, WORD_OWNER,
				     NULL), 0);
	assert_int_equal(s.probe_vaddr + self.bias, (uintptr_t)want);
	assert_int_equal(s.emulated, emulated);
	assert_int_equal(SITE_BASE(s.cookie), BASE_RDI);
	assert_int_equal(SITE_VALUE(s.cookie), value);
	assert_int_equal(SITE_DISP(s.cookie), 40);
}

static void an_emulated_instruction_behind_the_store_is_best(void **state)
{
	(void)state;
	check_place(jump_behind, jump_behind_at, true, SITE_VALUE_MEMORY);
	check_place(call_behind, call_behind_at, true, SITE_VALUE_MEMORY);
}

static void one_before_it_is_next_best_when_base_and_value_are_in_place(void **state)
{
	(void)state;
	check_place(push_before, push_before_at, true, VALUE_RSI);
	check_place(constant, constant_at, true, SITE_VALUE_ZERO);
	check_place(value_comes_late, value_comes_late_at, false, VALUE_RSI);
}

static void the_store_itself_is_the_last_resort(void **state)
{
	(void)state;
	check_place(joined_behind, joined_behind_at, false, VALUE_RSI);
	check_place(base_lost, base_lost_at, false, VALUE_RSI);
}

static void a_watchpoints_address_behind_the_store_names_the_same_site(void **state)
{
	uint64_t behind = (uintptr_t)jump_behind - self.bias + 4;	/* 4 bytes of mov */
	struct site s;

	(void)state;
	assert_int_equal(site_choose(&s, &self, behind, insn_watch_reports_next(), WORD_QUEUE, NULL),
			 0);
	assert_int_equal(s.write_vaddr + self.bias, (uintptr_t)jump_behind);
	assert_int_equal(SITE_WORD(s.cookie), WORD_QUEUE);
}

static void what_is_no_plain_store_of_a_word_is_refused(void **state)
{
	const char *const bad[] = { indexed, half, jump_behind_at };
	struct site s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_not_equal(site_choose(&s, &self, (uintptr_t)bad[i] - self.bias, false,
						 WORD_OWNER, NULL), 0);
	assert_int_not_equal(site_choose(&s, &self, 1, false, WORD_OWNER, NULL), 0);
}

static void a_placed_cookie_gives_back_what_was_put_in(void **state)
{
	uint64_t c = SITE_COOKIE_PLACED(SITE_COOKIE(19, SITE_VALUE_ZERO, WORD_QUEUE, -8), 4095, 31);

	(void)state;
	assert_int_equal(SITE_BASE(c), 19);
	assert_int_equal(SITE_VALUE(c), SITE_VALUE_ZERO);
	assert_int_equal(SITE_WORD(c), WORD_QUEUE);
	assert_int_equal(SITE_DISP(c), -8);
	assert_int_equal(SITE_NUMBER(c), 4095);
	assert_int_equal(SITE_GENERATION(c), 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_emulated_instruction_behind_the_store_is_best),
		cmocka_unit_test(one_before_it_is_next_best_when_base_and_value_are_in_place),
		cmocka_unit_test(the_store_itself_is_the_last_resort),
		cmocka_unit_test(a_watchpoints_address_behind_the_store_names_the_same_site),
		cmocka_unit_test(what_is_no_plain_store_of_a_word_is_refused),
		cmocka_unit_test(a_placed_cookie_gives_back_what_was_put_in),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}

#else

int main(void)
{
	return 0;
}

#endif
