// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finding IO#close's scan of waiters, and where to probe it: on code written here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/closefn.h"
#include "probe/function.h"
#include "util/scope.h"

#if defined(__x86_64__)

#define CODE(name, code) \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" \
		#name ": .cfi_startproc\n" code "\n .cfi_endproc\n"); \
	extern char name[], name##_at[];
#define LABEL(name) ".globl " #name "\n" #name ": "
extern char call_scan[], call_scan_at[], back_joined_call[], back_plain_call[];

/* The list of waiters is at 400 of rb_vm_t, and two other lists at 600 and 700. */
CODE(fd_scan, " mov %edi, %ebp\n push %rbx\n lea 400(%rax), %r13\n ret")
CODE(fd_other, " push %rbx\n mov 600(%rax), %rax\n ret")
CODE(fd_alike_1, " push %rbx\n mov 700(%rax), %rax\n ret")
CODE(fd_alike_2, " push %rbx\n mov 708(%rax), %rax\n ret")
CODE(rb_thread_fd_close, " call fd_alike_1\n call fd_alike_2\n call fd_other\n sub $24, %rsp\n"
     LABEL(call_scan) " call fd_scan\n test %eax, %eax\n"
     LABEL(call_scan_at) " jne 1f\n1: ret")

/* In struct rb_io: the list at 208, closing_ec, wakeup_mutex, fork_generation at 240. */
CODE(io_list, " mov 240(%rdi), %rax\n lea 208(%rdi), %rax\n ret")
CODE(io_scan, " push %rbx\n xor %eax, %eax\n cmpq $0, 224(%rdi)\n jne 1f\n mov %rdi, %rbx\n"
     " call io_list\n mov %rax, 224(%rbx)\n mov %rax, 232(%rbx)\n1: ret")
CODE(io_wait, " push %rbx\n mov 232(%rdi), %rax\n test %rax, %rax\n jne 1f\n call io_list\n"
     " movq $4, 232(%rdi)\n movq $0, 224(%rdi)\n1: ret")
CODE(io_other, " push %rbx\n mov 224(%rdi), %rax\n mov %rax, 224(%rdi)\n ret")
CODE(io_close_fptr, " push %rbx\n call io_wait\n call fd_scan\n test %eax, %eax\n jne 1f\n"
     " call io_other\n1: call io_scan\n pop %rbx\n ret")
CODE(rb_io_close, " push %rbx\n call io_close_fptr\n pop %rbx\n ret")

/* Entries. Each has its best place at NAME_at. */
CODE(entry_push, LABEL(entry_push_at) " push %r15\n mov %edi, %ebp\n ret")
CODE(entry_endbr, " endbr64\n" LABEL(entry_endbr_at) " push %rbp\n mov %edi, %ebp\n ret")
CODE(entry_copied, " sub $88, %rsp\n mov %edi, %r12d\n mov %esi, %edi\n call *%rax\n"
     " cmpq $0, (%rax)\n" LABEL(entry_copied_at) " je 1f\n1: ret")
CODE(entry_lost, LABEL(entry_lost_at) " mov %esi, %edi\n push %rbx\n ret")
CODE(entry_spoilt, LABEL(entry_spoilt_at) " mov %edi, %eax\n call *%rax\n cmpq $0, (%rax)\n je 1f\n"
     "1: ret")
CODE(entry_looped, LABEL(entry_looped_at) " mov %edi, %eax\n1: cmpq $0, (%rax)\n je 1b\n ret")
CODE(entry_rejoined, LABEL(entry_rejoined_at) " mov %edi, %eax\n"
     ".Lrejoin: mov %eax, %edx\n push %rbx\n ret")
CODE(entry_rejoined_cold, " .byte 0xe9\n .long .Lrejoin - . - 4")

/* Callers of a function, and bytes that only look like one. */
CODE(callee, " ret")
CODE(caller, " push %rbx\n" LABEL(caller_at) " call callee\n ret")
CODE(caller_jumps, " push %rbx\n" LABEL(caller_jumps_at) " .byte 0xe9\n .long callee - . - 4")
CODE(no_caller, " .byte 0x48, 0xb8, 0xe8\n .long callee - . - 4\n .byte 0, 0, 0\n ret")

/* What is behind a call. */
CODE(back_joined, LABEL(back_joined_call) " call callee\n" LABEL(back_joined_at) " mov %rax, %rcx\n"
     "1: test %eax, %eax\n jne 1b\n ret")
CODE(back_plain, LABEL(back_plain_call) " call callee\n" LABEL(back_plain_at)
     " mov %rax, %rcx\n ret")
CODE(fn_last, " nop\n ret")

static struct object self;

static int find_self(void *arg, const struct proc_map *m)
{
	uint64_t code = (uintptr_t)callee;

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

static uint64_t vaddr(const char *label)
{
	return (uintptr_t)label - self.bias;
}

static struct layout per_vm(int32_t waiting_fds)
{
	return (struct layout){ .vm_waiting_fds = waiting_fds, .io_waiters = LAYOUT_NONE,
				.io_closing_ec = LAYOUT_NONE };
}

static struct layout per_io(int32_t closing_ec)
{
	return (struct layout){ .vm_waiting_fds = LAYOUT_NONE, .io_waiters = 208,
				.io_closing_ec = closing_ec };
}

static void up_to_3_4_it_is_what_both_closes_call_and_reads_the_list(void **state)
{
	struct layout l = per_vm(400);
	struct closefn c;

	(void)state;
	assert_int_equal(closefn_find(&c, &self, &l, NULL), 0);
	assert_int_equal(c.how, CLOSEFN_RECOVERED);
	assert_false(c.is_per_io);
	assert_int_equal(c.start, vaddr(fd_scan));
	assert_int_equal(c.fdclose_start, vaddr(rb_thread_fd_close));
	assert_true(c.entry_emulated);
	assert_false(c.entry_is_start);
	assert_int_equal(c.nr_after, 2);
	assert_int_equal(c.nr_tail_calls, 0);
	assert_int_equal(c.after_vaddr[0], vaddr(call_scan_at));
	assert_true(c.after_emulated[0] && c.after_emulated[1]);
}

static void from_4_0_it_is_told_from_the_one_that_waits(void **state)
{
	struct layout l = per_io(224);
	struct closefn c;

	(void)state;
	assert_int_equal(closefn_find(&c, &self, &l, NULL), 0);
	assert_int_equal(c.how, CLOSEFN_RECOVERED);
	assert_true(c.is_per_io);
	assert_int_equal(c.start, vaddr(io_scan));
	assert_true(c.entry_is_start);
	assert_int_equal(c.nr_after, 1);
}

static void check_refused(struct layout l)
{
	struct closefn c;
	struct err e;

	assert_int_not_equal(closefn_find(&c, &self, &l, &e), 0);
	assert_int_equal(e.reason, REASON_NO_CLOSE);
}

static void what_is_not_certain_is_refused(void **state)
{
	(void)state;
	check_refused(per_vm(LAYOUT_NONE));
	check_refused(per_vm(404));	/* nobody reads that */
	check_refused(per_vm(600));	/* rb_io_close does not call who reads it */
	check_refused(per_vm(700));	/* two read it */
	check_refused(per_io(LAYOUT_NONE));
	check_refused(per_io(232));
}

static void check_entry(const char *start, const char *want, bool emulated, const char *reg,
			int32_t sp_shift)
{
	auto_release(function_release) struct function f = { 0 };
	const struct held fd = held_begin(0, 4);
	struct place p;

	assert_int_equal(function_load(&f, &self, vaddr(start)), 0);
	assert_int_equal(f.span.start, vaddr(start));
	assert_int_equal(function_entry(&p, &f, &fd), 0);
	assert_int_equal(p.vaddr, vaddr(want));
	assert_int_equal(p.emulated, emulated);
	assert_int_equal(insn_reg_slot(p.reg), strcmp(reg, "rdi") ? 3 : 14);	/* else r12 */
	assert_int_equal(p.sp_shift, sp_shift);
}

static void an_entry_is_probed_where_it_costs_one_trap(void **state)
{
	(void)state;
	check_entry(entry_push, entry_push_at, true, "rdi", 0);
	check_entry(entry_endbr, entry_endbr_at, true, "rdi", 0);
	check_entry(entry_copied, entry_copied_at, true, "r12", 88);
}

static void else_at_the_start(void **state)
{
	(void)state;
	check_entry(entry_lost, entry_lost_at, false, "rdi", 0);
	check_entry(entry_spoilt, entry_spoilt_at, false, "rdi", 0);
	check_entry(entry_looped, entry_looped_at, false, "rdi", 0);
	check_entry(entry_rejoined, entry_rejoined_at, false, "rdi", 0);
}

static void pointers_are_followed_whole(void **state)
{
	auto_release(function_release) struct function f = { 0 };
	const struct held pointer = held_begin(0, 8);
	struct place p;

	(void)state;
	assert_int_equal(function_load(&f, &self, vaddr(entry_copied)), 0);
	assert_int_equal(function_entry(&p, &f, &pointer), 0);
	assert_int_equal(p.vaddr, vaddr(entry_copied));		/* r12d has half of it */
}

static void check_return(const char *call, const char *want, bool emulated)
{
	auto_release(function_release) struct function f = { 0 };
	struct place p;

	assert_int_equal(function_load(&f, &self, vaddr(call)), 0);
	assert_int_equal(function_return(&p, &f, vaddr(call)), 0);
	assert_int_equal(p.vaddr, vaddr(want));
	assert_int_equal(p.emulated, emulated);
}

static void a_return_is_probed_where_only_the_call_leads(void **state)
{
	(void)state;
	check_return(call_scan, call_scan_at, true);
	check_return(back_joined_call, back_joined_at, false);
	check_return(back_plain_call, back_plain_at, false);
}

static void callers_are_those_that_decoding_comes_by(void **state)
{
	auto_release(function_release) struct function f = { 0 };
	uint64_t at[8];
	struct place p;

	(void)state;
	assert_int_equal(function_callers(at, 8, &self, vaddr(callee)), 4);
	assert_int_equal(at[0], vaddr(caller_at));
	assert_int_equal(at[1], vaddr(caller_jumps_at));
	assert_int_equal(at[2], vaddr(back_joined_call));
	assert_int_equal(function_callers(at, 1, &self, vaddr(callee)), 4);
	/* it does not come back */
	assert_int_equal(function_load(&f, &self, at[0]), 0);
	assert_int_equal(function_return(&p, &f, vaddr(caller_jumps_at)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_to_3_4_it_is_what_both_closes_call_and_reads_the_list),
		cmocka_unit_test(from_4_0_it_is_told_from_the_one_that_waits),
		cmocka_unit_test(what_is_not_certain_is_refused),
		cmocka_unit_test(an_entry_is_probed_where_it_costs_one_trap),
		cmocka_unit_test(else_at_the_start),
		cmocka_unit_test(pointers_are_followed_whole),
		cmocka_unit_test(a_return_is_probed_where_only_the_call_leads),
		cmocka_unit_test(callers_are_those_that_decoding_comes_by),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}

#else

int main(void)
{
	return 0;
}

#endif
