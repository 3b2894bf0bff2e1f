/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The DWARF of a file that is not trusted. libdw follows names of further files inside it: those of
 * supplementary files (dwz -m), which are refused here, and of split units, which only
 * dwarf_attr_integrate() looks for. So read attributes with dwarf_attr(), and use nothing that is
 * built on the former: dwarf_diename(), dwarf_bytesize(), dwarf_srclang(), dwarf_cu_info() ...
 */
#ifndef GVL_TARGET_DWARF_FILE_H
#define GVL_TARGET_DWARF_FILE_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

#define DWARF_NAME_SECTIONS 8

struct dwarf_file {
	int fd;
	uint64_t size;		/* of the file, in bytes */
	Elf *elf;
	Dwarf *dwarf;
	Elf_Data *names[DWARF_NAME_SECTIONS];	/* of sections that hold names; each ends with a NUL */
	size_t nr_names;
};

/*
 * Opens @path, a linked program, library or separate debug file. 0, or -errno with @e set:
 * REASON_SYS when it cannot be opened, REASON_RUBY_VERSION when it has no DWARF that can be read
 * here, REASON_ELF when it is not ELF or damaged. Release it in either case.
 */
int dwarf_file_open(struct dwarf_file *f, const char *path, struct err *e);
void dwarf_file_release(struct dwarf_file *f);

/*
 * The string that is @attr's value, or NULL. Not dwarf_formstring(): it may give one that begins
 * where its section ends (DW_FORM_strx, elfutils 0.188).
 */
const char *dwarf_file_string(const struct dwarf_file *f, Dwarf_Attribute *attr);

#endif
