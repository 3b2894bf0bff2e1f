// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which function implements which method, and where IO::Buffer copies: on code written here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/copyfn.h"
#include "probe/insn.h"
#include "probe/methods.h"
#include "util/scope.h"

#if defined(__x86_64__)

#define CODE(name, code) \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" \
		#name ": .cfi_startproc\n" code "\n .cfi_endproc\n"); \
	extern char name[];
#define LABEL(name) ".globl " #name "\n" #name ": "
#define TEXT(text) \
	" .pushsection .rodata.str1.1,\"aMS\",@progbits,1\n99: .string \"" text "\"\n .popsection\n"
#define NAME(text) TEXT(text) " lea 99b(%rip), %rsi\n"
#define FUNCTION(fn) " lea " #fn "(%rip), %rdx\n"
#define DEFINE(text, fn) NAME(text) FUNCTION(fn) " call rb_define_method\n"

CODE(rb_define_method, " ret")
CODE(rb_define_singleton_method, " ret")
CODE(rb_nogvl, " ret")
CODE(rb_enc_str_new, " ret")

CODE(fn_plain, " nop\n ret")
CODE(fn_copied, " nop\n ret")
CODE(fn_word, " nop\n ret")
CODE(fn_single, " nop\n ret")
CODE(fn_unknown, " nop\n" LABEL(fn_inside) " nop\n ret")
__asm__(".data\n.balign 8\nword_fn: .quad fn_word\nword_define: .quad rb_define_method\n.text\n");

CODE(init_plain, DEFINE("plain=", fn_plain) " ret")
CODE(init_many, " push %rbx\n push %rbp\n lea fn_copied(%rip), %rbx\n"
     NAME("copied") " mov %rbx, %rdx\n call rb_define_method\n"
     NAME("again?") " mov %rsi, %rbp\n mov %rbx, %rdx\n mov %rbp, %rsi\n call *word_define(%rip)\n"
     NAME("<=>") " mov word_fn(%rip), %rdx\n test %eax, %eax\n jne 1f\n call rb_define_method\n"
     NAME("single") FUNCTION(fn_single) " jmp rb_define_singleton_method\n"
     "1: ret")
CODE(init_unknown, " test %eax, %eax\n"
     NAME("joined") FUNCTION(fn_unknown) " je 1f\n lea fn_plain(%rip), %rdx\n"
     "1: call rb_define_method\n"
     NAME("lost") FUNCTION(fn_unknown) " call *%rax\n call rb_define_method\n"
     NAME("inside") FUNCTION(fn_inside) " call rb_define_method\n"
     DEFINE("no name", fn_unknown) DEFINE("1st", fn_unknown) DEFINE("<=>>", fn_unknown)
     NAME("other") FUNCTION(fn_unknown) " call rb_enc_str_new\n ret")

extern char io_released[], io_held[], io_held_after[], io_string[], io_set[], io_compared[];

/* What is not in the same file, io_buffer.c, is not followed. */
CODE(far_copy, " push %rbx\n call memcpy@PLT\n pop %rbx\n ret")

CODE(io_blocking, LABEL(io_released) " jmp memmove@PLT")
CODE(io_first, " nop\n ret")
CODE(io_copy_from, " push %rbx\n test %eax, %eax\n jne 1f\n"
     LABEL(io_held) " call memmove@PLT\n test %eax, %eax\n"
     LABEL(io_held_after) " jne 2f\n pop %rbx\n"
     "1: lea io_blocking(%rip), %rdi\n call rb_nogvl\n"
     "2: ret")
CODE(io_copy, " push %rbx\n call far_copy\n call io_copy_from\n call rb_enc_str_new\n ret")
CODE(io_set_string, " jmp io_copy_from")
CODE(io_get_string, LABEL(io_string) " jmp rb_enc_str_new")
CODE(io_clear, " push %rbx\n" LABEL(io_set) " call *memset@GOTPCREL(%rip)\n pop %rbx\n ret")
CODE(io_resize, " test %eax, %eax\n jne memset@PLT\n ret")
CODE(io_compare, " push %rbx\n" LABEL(io_compared) " call memcmp@PLT\n pop %rbx\n ret")
CODE(io_init, DEFINE("first", io_first) DEFINE("copy", io_copy) DEFINE("clear", io_clear)
     DEFINE("set_string", io_set_string) DEFINE("get_string", io_get_string)
     DEFINE("resize", io_resize) DEFINE("<=>", io_compare) " ret")
CODE(fn_last, " nop\n ret")

static struct object self, other;

static int find(void *arg, const struct proc_map *m)
{
	const struct proc p = { .pid = getpid(), .pidfd = -1 };
	const uint64_t code = (uintptr_t)fn_plain;

	(void)arg;
	if (m->executable && code >= m->start && code < m->end)
		return object_open(&self, &p, m, NULL);
	if (m->executable && strstr(m->path, "libcmocka"))
		return object_open(&other, &p, m, NULL);
	return 0;
}

static int open_both(void **state)
{
	(void)state;
	return proc_maps(&(struct proc){ .pid = getpid() }, find, NULL, NULL) || !self.elf ||
	       !other.elf;
}

static int close_both(void **state)
{
	(void)state;
	object_release(&self);
	object_release(&other);
	return 0;
}

static uint64_t vaddr(const char *label)
{
	return (uintptr_t)label - self.bias;
}

static void check_method(const struct methods *m, const char *name, const char *fn,
			 const char *init)
{
	const struct method_def *found = methods_named(m, vaddr(init), name);

	assert_non_null(found);
	assert_int_equal(found->vaddr, vaddr(fn));
	assert_int_equal(methods_at(m, vaddr(fn))->vaddr, vaddr(fn));
}

static void methods_are_found_where_name_and_function_are_constants(void **state)
{
	auto_release(methods_release) struct methods m = { 0 };

	(void)state;
	assert_int_equal(methods_find(&m, &self, NULL), 0);
	check_method(&m, "plain=", fn_plain, init_plain);
	check_method(&m, "copied", fn_copied, init_many);
	check_method(&m, "again?", fn_copied, init_many);
	check_method(&m, "<=>", fn_word, init_many);
	check_method(&m, "single", fn_single, init_many);
	assert_string_equal(methods_at(&m, vaddr(fn_copied))->name, "again?");
}

static void what_is_not_certain_is_no_method(void **state)
{
	auto_release(methods_release) struct methods m = { 0 };

	(void)state;
	assert_int_equal(methods_find(&m, &self, NULL), 0);
	for (size_t i = 0; i < m.nr; i++)
		assert_int_not_equal(m.all[i].init, vaddr(init_unknown));
	assert_null(methods_at(&m, vaddr(fn_unknown)));
	assert_null(methods_at(&m, 0));
	assert_null(methods_at(&m, UINT64_MAX));
}

static void a_file_without_methods_has_none(void **state)
{
	auto_release(methods_release) struct methods m = { 0 };
	struct copyfn c;

	(void)state;
	assert_int_equal(methods_find(&m, &other, NULL), 0);
	assert_int_equal(m.nr, 0);
	assert_int_equal(copyfn_find(&c, &other, &m, NULL), -ENOENT);
}

static const struct copy_site *check_site(const struct copyfn *c, const char *call,
					  enum copy_op op, unsigned int len_arg, uint32_t methods)
{
	for (size_t i = 0; i < c->nr; i++) {
		const struct copy_site *s = &c->sites[i];

		if (s->call_vaddr != vaddr(call))
			continue;
		assert_int_equal(s->op, op);
		assert_int_equal(s->len_reg, insn_arg_reg(len_arg));
		assert_int_equal(s->methods, methods);
		return s;
	}
	fail_msg("no site at %#lx", vaddr(call));
	return NULL;
}

static void copies_are_found_from_the_methods_on(void **state)
{
	const uint32_t both = 1u << COPY_METHOD_COPY | 1u << COPY_METHOD_SET_STRING;
	const struct copy_site *s;
	auto_release(methods_release) struct methods m = { 0 };
	struct copyfn c;

	(void)state;
	assert_int_equal(methods_find(&m, &self, NULL), 0);
	assert_int_equal(copyfn_find(&c, &self, &m, NULL), 0);
	assert_int_equal(c.method_vaddr[COPY_METHOD_COPY], vaddr(io_copy));
	assert_int_equal(c.method_vaddr[COPY_METHOD_INITIALIZE_COPY], 0);
	assert_int_equal(c.nr, 5);

	s = check_site(&c, io_held, COPY_MOVE, 2, both);
	assert_true(s->call_emulated && s->after_emulated && !s->is_tail && !s->is_released);
	assert_int_equal(s->after_vaddr, vaddr(io_held_after));
	s = check_site(&c, io_released, COPY_MOVE, 2, both);
	assert_true(s->call_emulated && s->is_tail && s->is_released);
	s = check_site(&c, io_string, COPY_STRING, 1, 1u << COPY_METHOD_GET_STRING);
	assert_true(s->call_emulated && s->is_tail && !s->is_released);
	s = check_site(&c, io_set, COPY_SET, 2, 1u << COPY_METHOD_CLEAR);
	assert_true(!s->call_emulated && !s->is_tail);
	s = check_site(&c, io_compared, COPY_COMPARE, 2, 1u << COPY_METHOD_COMPARE);
	assert_true(s->call_emulated);
}

static void a_method_whose_copies_cannot_all_be_probed_is_named(void **state)
{
	auto_release(methods_release) struct methods m = { 0 };
	struct copyfn c;

	(void)state;
	assert_int_equal(methods_find(&m, &self, NULL), 0);
	assert_int_equal(copyfn_find(&c, &self, &m, NULL), 0);
	assert_int_equal(c.unseen, 1u << COPY_METHOD_RESIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_are_found_where_name_and_function_are_constants),
		cmocka_unit_test(what_is_not_certain_is_no_method),
		cmocka_unit_test(a_file_without_methods_has_none),
		cmocka_unit_test(copies_are_found_from_the_methods_on),
		cmocka_unit_test(a_method_whose_copies_cannot_all_be_probed_is_named),
	};

	return cmocka_run_group_tests(tests, open_both, close_both);
}

#else

int main(void)
{
	return 0;
}

#endif
