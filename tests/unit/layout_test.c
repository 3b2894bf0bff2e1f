// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/layout.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "util/scope.h"

#define FIXTURE_MAX 65536

/* tests/fixtures/@name.c, compiled next to this program. */
static const char *fixture(const char *name)
{
	static char path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	assert_true(n > 0);
	path[n] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash, 64, "/fixtures/%s.so", name);
	return path;
}

static void read_fixture(struct layout *l, const char *name)
{
	struct err e = { .code = 0 };

	if (layout_from_dwarf(l, fixture(name), &e))
		fail_msg("%s", e.msg);
}

/* A file of @len bytes in memory; its path is valid while *fd is open. */
static const char *memory_file(int *fd, const void *bytes, size_t len)
{
	static char path[64];

	*fd = memfd_create("layout_test", MFD_CLOEXEC);
	assert_true(*fd >= 0);
	assert_int_equal(write(*fd, bytes, len), len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	return path;
}

static size_t fixture_bytes(const char *name, char *bytes)
{
	auto_close int fd = open(fixture(name), O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, bytes, FIXTURE_MAX);

	assert_true(n > 0 && n < FIXTURE_MAX);
	return (size_t)n;
}

/* Offsets below are counted by hand from tests/fixtures. */
static void members_of_an_old_ruby_are_found(void **state)
{
	struct layout l;

	(void)state;
	read_fixture(&l, "layout_old");
	assert_int_equal(l.vm_ractors, 8);
	assert_int_equal(l.vm_ractor_count, 24);
	assert_int_equal(l.vm_main_ractor, 32);
	assert_int_equal(l.vm_main_thread, 40);
	assert_int_equal(l.vm_fork_gen, 48);
	assert_int_equal(l.vm_waiting_fds, 56);
	assert_int_equal(l.ractor_id, 8);
	assert_int_equal(l.ractor_threads, 16);
	assert_int_equal(l.ractor_thread_count, 32);
	assert_int_equal(l.ractor_owner, 40);
	assert_int_equal(l.ractor_queue, 88);
	assert_int_equal(l.ractor_node, 104);
	assert_int_equal(l.thread_node, 0);
	assert_int_equal(l.thread_ractor, 24);
	assert_int_equal(l.thread_vm, 32);
	assert_int_equal(l.thread_ec, 40);
	assert_int_equal(l.thread_tid, 48);
	assert_int_equal(l.thread_queue_node, 56);
	assert_int_equal(l.thread_name, 72);
	assert_int_equal(l.waiter_node, 0);
	assert_int_equal(l.waiter_thread, 16);
	assert_int_equal(l.waiter_fd, 24);
}

static void members_that_a_ruby_lacks_are_none(void **state)
{
	struct layout l;

	(void)state;
	read_fixture(&l, "layout_old");
	assert_int_equal(l.ractor_queue_count, LAYOUT_NONE);
	assert_int_equal(l.thread_native, LAYOUT_NONE);
	assert_int_equal(l.native_tid, LAYOUT_NONE);
	assert_int_equal(l.io_fd, LAYOUT_NONE);
	assert_int_equal(l.waiter_ec, LAYOUT_NONE);

	read_fixture(&l, "layout_new");
	assert_int_equal(l.vm_waiting_fds, LAYOUT_NONE);
	assert_int_equal(l.thread_tid, LAYOUT_NONE);
	assert_int_equal(l.waiter_fd, LAYOUT_NONE);
}

static void anonymous_members_and_chains_of_types_are_followed(void **state)
{
	struct layout l;

	(void)state;
	read_fixture(&l, "layout_new");
	assert_int_equal(l.vm_ractors, 8);
	assert_int_equal(l.vm_main_thread, 40);
	assert_int_equal(l.ractor_owner, 16 + 24 + 40);	/* behind typedefs and qualifiers */
	assert_int_equal(l.ractor_mn, 16 + 24 + 49);
	assert_int_equal(l.ractor_queue, 16 + 24 + 56);
	assert_int_equal(l.ractor_queue_count, 16 + 24 + 72);
	assert_int_equal(l.ractor_node, 16 + 24 + 80);
	assert_int_equal(l.thread_native, 40);
	assert_int_equal(l.thread_ec, 48);
	assert_int_equal(l.thread_queue_node, 72);
	assert_int_equal(l.thread_name, 88 + 8 + 24);		/* three anonymous levels down */
	assert_int_equal(l.native_tid, 4);			/* in an anonymous union */
	assert_int_equal(l.native_running, 16);
	assert_int_equal(l.native_dedicated, 24);
	assert_int_equal(l.ec_cfp, 16);
	assert_int_equal(l.ec_thread, 24);
	assert_int_equal(l.file_io, 16);
	assert_int_equal(l.io_fd, 8);
	assert_int_equal(l.io_mode, 12);
	assert_int_equal(l.io_waiters, 16);
	assert_int_equal(l.io_fork_gen, 32);
	assert_int_equal(l.waiter_node, 0);
	assert_int_equal(l.waiter_ec, 16);
}

static void bit_fields_are_found_at_the_first_bit_of_a_byte(void **state)
{
	struct layout l;

	(void)state;
	read_fixture(&l, "layout_new");
	assert_int_equal(l.thread_status, 88 + 8 + 64 + 1);
	assert_int_equal(l.cfp_self, LAYOUT_NONE);		/* not asked for as a bit-field */
	read_fixture(&l, "layout_old");
	assert_int_equal(l.thread_status, LAYOUT_NONE);		/* begins with bit 1 */
}

static void sizes_of_types_are_found(void **state)
{
	struct layout l;

	(void)state;
	read_fixture(&l, "layout_new");
	assert_int_equal(l.cfp_iseq, 16);
	assert_int_equal(l.cfp_size, 56);
	assert_int_equal(l.line_size, LAYOUT_NONE);
}

static void another_programs_dwarf_is_not_rubys(void **state)
{
	struct layout l;
	struct err e;

	(void)state;
	assert_int_equal(layout_from_dwarf(&l, "/proc/self/exe", &e), -ENOENT);
	assert_int_equal(e.reason, REASON_RUBY_VERSION);
}

static void a_missing_member_is_named(void **state)
{
	struct layout l = { .vm_ractors = 77 };
	struct err e;

	(void)state;
	assert_int_equal(layout_from_dwarf(&l, fixture("layout_partial"), &e), -EINVAL);
	assert_int_equal(e.reason, REASON_RUBY_VERSION);
	assert_non_null(strstr(e.msg, "layout_partial.so: layout: vm_ractors is missing"));
	assert_int_equal(l.vm_ractors, 77);
}

static void what_is_not_elf_is_refused(void **state)
{
	static const char text[] = "#!/bin/sh\nexit 0\n";
	struct layout l;
	struct err e;
	auto_close int fd = -1;

	(void)state;
	assert_int_equal(layout_from_dwarf(&l, memory_file(&fd, text, sizeof(text)), &e), -EINVAL);
	assert_int_equal(e.reason, REASON_ELF);
	assert_non_null(strstr(e.msg, "not an ELF file"));
	assert_int_equal(layout_from_dwarf(&l, "/nowhere/at/all", &e), -ENOENT);
	assert_int_equal(e.reason, REASON_SYS);
	assert_int_equal(layout_from_dwarf(&l, "/", &e), -EINVAL);
	assert_int_equal(layout_from_dwarf(&l, "/dev/null", NULL), -EINVAL);
}

/* A copy of a fixture in which the section @from is called @to, of the same length. */
static int read_renamed(const char *from, const char *to, struct err *e)
{
	auto_close int fd = -1;
	char bytes[FIXTURE_MAX];
	size_t n = fixture_bytes("layout_new", bytes);
	struct layout l;
	char *p = bytes;

	while ((p = memmem(p, (size_t)(bytes + n - p), from, strlen(from))))
		memcpy(p, to, strlen(to));
	return layout_from_dwarf(&l, memory_file(&fd, bytes, n), e);
}

static void no_dwarf_is_said_so(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(read_renamed(".debug_info", ".other_info", &e), -ENOENT);
	assert_int_equal(e.reason, REASON_RUBY_VERSION);
	assert_non_null(strstr(e.msg, ": no DWARF"));
}

static void dwarf_compressed_the_old_way_is_refused(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(read_renamed(".debug_aranges", ".zdebug_arange", &e), -ENOTSUP);
	assert_int_equal(e.reason, REASON_RUBY_VERSION);
}

static void an_object_that_is_not_linked_is_refused(void **state)
{
	auto_close int fd = -1;
	char bytes[FIXTURE_MAX];
	size_t n = fixture_bytes("layout_new", bytes);
	struct layout l;
	struct err e;

	(void)state;
	memcpy(bytes + offsetof(Elf64_Ehdr, e_type), &(Elf64_Half){ ET_REL }, sizeof(Elf64_Half));
	assert_int_equal(layout_from_dwarf(&l, memory_file(&fd, bytes, n), &e), -ENOTSUP);
	assert_int_equal(e.reason, REASON_ELF);
}

static void another_machines_byte_order_is_refused(void **state)
{
	auto_close int fd = -1;
	char bytes[FIXTURE_MAX];
	size_t n = fixture_bytes("layout_new", bytes);
	struct layout l;
	struct err e;

	(void)state;
	bytes[EI_DATA] = ELFDATA2MSB;
	assert_int_not_equal(layout_from_dwarf(&l, memory_file(&fd, bytes, n), &e), 0);
	assert_int_equal(e.reason, REASON_ELF);
}

/* libdw takes .debug_str.dwo for .debug_str: its last name must end, too. */
static void names_of_split_dwarf_must_end(void **state)
{
	auto_close int fd = -1;
	char bytes[FIXTURE_MAX];
	size_t n = fixture_bytes("layout_new", bytes);
	const Elf64_Ehdr *ehdr = (const void *)bytes;
	const Elf64_Shdr *sh = (const void *)(bytes + ehdr->e_shoff);
	char *names = bytes + sh[ehdr->e_shstrndx].sh_offset;
	struct layout l;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ehdr->e_shnum; i++) {
		if (strcmp(names + sh[i].sh_name, ".debug_aranges") != 0)
			continue;
		memcpy(names + sh[i].sh_name, ".debug_str.dwo", strlen(".debug_str.dwo"));
		bytes[sh[i].sh_offset + sh[i].sh_size - 1] = 'x';
	}
	assert_int_equal(layout_from_dwarf(&l, memory_file(&fd, bytes, n), &e), -EINVAL);
	assert_non_null(strstr(e.msg, "damaged section .debug_str.dwo"));
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	char bytes[FIXTURE_MAX];
	size_t n = fixture_bytes("layout_old", bytes);
	struct layout l;
	struct err e;

	(void)state;
	for (size_t len = 0; len < n; len++) {
		auto_close int fd = -1;

		if (layout_from_dwarf(&l, memory_file(&fd, bytes, len), &e) == 0)
			fail_msg("%zu of %zu bytes were accepted", len, n);
	}
}

static void only_exact_versions_are_in_the_table(void **state)
{
	(void)state;
	assert_non_null(layout_find("3.3.8", "x86_64"));
	assert_null(layout_find("3.3.99", "x86_64"));
	assert_null(layout_find("3.3", "x86_64"));
	assert_null(layout_find("3.3.8 3.3.9", "x86_64"));
	assert_null(layout_find("3.3.8p0", "x86_64"));
	assert_null(layout_find("2.7.8", "x86_64"));
	assert_null(layout_find("4.0.60", "x86_64"));
	assert_null(layout_find("", "x86_64"));
	assert_null(layout_find("3.3.8", "mips"));
}

/* Known from live processes and other readers of DWARF. */
static void the_table_has_the_known_offsets(void **state)
{
	static const struct {
		const char *version;
		int owner, queue, waiting_fds, name, tid, io_waiters, status;
	} known[] = {
		{ "3.1.2", 336, 384, 304, 352, 88, LAYOUT_NONE, 92 },
		{ "3.2.11", 336, 384, 304, 304, LAYOUT_NONE, LAYOUT_NONE, 112 },
		{ "3.3.8", 328, 344, 488, 432, LAYOUT_NONE, LAYOUT_NONE, 240 },
		{ "3.4.9", 328, 344, 488, 448, LAYOUT_NONE, LAYOUT_NONE, 240 },
		{ "3.4.11", 328, 344, 488, 448, LAYOUT_NONE, LAYOUT_NONE, 240 },
		{ "4.0.5", 256, 272, LAYOUT_NONE, 448, LAYOUT_NONE, 208, 248 },
		{ "4.0.6", 256, 280, LAYOUT_NONE, 456, LAYOUT_NONE, 208, 256 },	/* Bug 21685 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const struct layout *l = layout_find(known[i].version, "x86_64");

		assert_non_null(l);
		assert_int_equal(l->ractor_owner, known[i].owner);
		assert_int_equal(l->ractor_queue, known[i].queue);
		assert_int_equal(l->vm_waiting_fds, known[i].waiting_fds);
		assert_int_equal(l->thread_name, known[i].name);
		assert_int_equal(l->thread_tid, known[i].tid);
		assert_int_equal(l->io_waiters, known[i].io_waiters);
		assert_int_equal(l->thread_status, known[i].status);
	}
}

static void every_release_has_a_plausible_row(void **state)
{
	static const struct {
		const char *series;
		int last;
	} releases[] = {
		{ "3.0", 7 }, { "3.1", 7 }, { "3.2", 11 }, { "3.3", 12 }, { "3.4", 11 }, { "4.0", 6 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(releases); i++) {
		for (int patch = 0; patch <= releases[i].last; patch++) {
			const struct layout *l;
			struct err e;
			char version[32];

			snprintf(version, sizeof(version), "%s.%d", releases[i].series, patch);
			l = layout_find(version, "x86_64");
			if (!l)
				fail_msg("%s is not in the table", version);
			if (layout_check(l, &e))
				fail_msg("%s: %s", version, e.msg);
		}
	}
}

static void an_implausible_layout_is_refused(void **state)
{
	const struct layout *good = layout_find("3.3.8", "x86_64");
	struct layout l = *good;
	struct err e;

	(void)state;
	l.ractor_owner = 329;
	assert_int_equal(layout_check(&l, &e), -EINVAL);
	assert_int_equal(e.reason, REASON_LAYOUT_MISMATCH);
	assert_string_equal(e.msg, "layout: ractor_owner cannot be at offset 329");
	l.ractor_owner = LAYOUT_MAX_OFFSET + 8;
	assert_int_equal(layout_check(&l, &e), -EINVAL);
	l.ractor_owner = -8;
	assert_int_equal(layout_check(&l, &e), -EINVAL);
	l.ractor_owner = LAYOUT_NONE;
	assert_int_equal(layout_check(&l, &e), -EINVAL);
	assert_int_equal(e.reason, REASON_RUBY_VERSION);

	l = *good;
	l.vm_waiting_fds = LAYOUT_NONE;
	assert_int_equal(layout_check(&l, &e), 0);
	l.native_tid = LAYOUT_NONE;
	assert_int_equal(layout_check(&l, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_of_an_old_ruby_are_found),
		cmocka_unit_test(members_that_a_ruby_lacks_are_none),
		cmocka_unit_test(anonymous_members_and_chains_of_types_are_followed),
		cmocka_unit_test(bit_fields_are_found_at_the_first_bit_of_a_byte),
		cmocka_unit_test(sizes_of_types_are_found),
		cmocka_unit_test(another_programs_dwarf_is_not_rubys),
		cmocka_unit_test(a_missing_member_is_named),
		cmocka_unit_test(what_is_not_elf_is_refused),
		cmocka_unit_test(no_dwarf_is_said_so),
		cmocka_unit_test(dwarf_compressed_the_old_way_is_refused),
		cmocka_unit_test(an_object_that_is_not_linked_is_refused),
		cmocka_unit_test(another_machines_byte_order_is_refused),
		cmocka_unit_test(names_of_split_dwarf_must_end),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
		cmocka_unit_test(only_exact_versions_are_in_the_table),
		cmocka_unit_test(the_table_has_the_known_offsets),
		cmocka_unit_test(every_release_has_a_plausible_row),
		cmocka_unit_test(an_implausible_layout_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
