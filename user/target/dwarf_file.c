// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/dwarf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "util/scope.h"

void dwarf_file_release(struct dwarf_file *f)
{
	dwarf_end(f->dwarf);
	elf_end(f->elf);
	scope_close(&f->fd);
	*f = (struct dwarf_file){ .fd = -1 };
}

/* Is the section called @name, or as split DWARF calls it, which libdw takes for the same? */
static bool is_called(const char *name, const char *want)
{
	size_t n = strlen(want);

	return strncmp(name, want, n) == 0 && (name[n] == '\0' || strcmp(name + n, ".dwo") == 0);
}

/*
 * A section's part in DWARF. libdw takes names as far as they go, so the sections that hold them
 * must end with a NUL; .debug_info does so anyway, with the end of the last unit's children.
 */
static int check_section(struct dwarf_file *f, Elf_Scn *scn, const char *name, bool *has_info,
			 const char **problem)
{
	static const char *const with_names[] = {
		".debug_info", ".debug_types", ".debug_str", ".debug_line_str",
	};
	GElf_Shdr sh;
	Elf_Data *data;
	size_t i = 0;

	if (strcmp(name, ".gnu_debugaltlink") == 0)
		*problem = "parts of its DWARF are in another file (dwz -m)";
	if (strncmp(name, ".zdebug", strlen(".zdebug")) == 0)
		*problem = "its DWARF is compressed in the old way (.zdebug)";
	while (i < ARRAY_LEN(with_names) && !is_called(name, with_names[i]))
		i++;
	if (i == ARRAY_LEN(with_names))
		return 0;

	if (!gelf_getshdr(scn, &sh))
		return -EINVAL;
	if (sh.sh_type == SHT_NOBITS || sh.sh_size == 0)
		return 0;
	if ((sh.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
		return -EINVAL;
	data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size == 0 || f->nr_names == DWARF_NAME_SECTIONS ||
	    ((const char *)data->d_buf)[data->d_size - 1] != '\0')
		return -EINVAL;
	f->names[f->nr_names++] = data;
	*has_info |= i == 0;
	return 0;
}

/* Is there DWARF, and can libdw be let loose on it? */
static int check_sections(struct dwarf_file *f, const char *path, struct err *e)
{
	Elf *elf = f->elf;
	const char *problem = NULL;
	bool has_info = false;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t nr, names = 0;

	if (elf_getshdrnum(elf, &nr) != 0 || (nr > 0 && elf_getshdrstrndx(elf, &names) != 0))
		return err_set(e, REASON_ELF, -EINVAL, "%s: damaged sections", path);
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : "";

		if (name && check_section(f, scn, name, &has_info, &problem) != 0)
			return err_set(e, REASON_ELF, -EINVAL, "%s: damaged section %s", path, name);
	}
	if (problem)
		return err_set(e, REASON_RUBY_VERSION, -ENOTSUP, "%s: %s", path, problem);
	if (!has_info)
		return err_set(e, REASON_RUBY_VERSION, -ENOENT, "%s: no DWARF", path);
	return 0;
}

int dwarf_file_open(struct dwarf_file *f, const char *path, struct err *e)
{
	GElf_Ehdr ehdr;
	struct stat st;
	int r;

	*f = (struct dwarf_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	if (f->fd < 0 || fstat(f->fd, &st) != 0)
		return err_sys(e, errno, path);
	f->size = (uint64_t)st.st_size;
	elf_version(EV_CURRENT);
	if (S_ISREG(st.st_mode))
		f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &ehdr))
		return err_set(e, REASON_ELF, -EINVAL, "%s: not an ELF file", path);
	if (ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(e, REASON_ELF, -ENOTSUP, "%s: not of a 64-bit little-endian machine",
			       path);	/* libelf would have to convert what may be damaged */
	if (ehdr.e_type == ET_REL)
		return err_set(e, REASON_ELF, -ENOTSUP, "%s: an object that is not linked", path);
	r = check_sections(f, path, e);
	if (r)
		return r;
	f->dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	if (!f->dwarf)
		return err_set(e, REASON_ELF, -EINVAL, "%s: damaged DWARF: %s", path,
			       dwarf_errmsg(-1));
	return 0;
}

const char *dwarf_file_string(const struct dwarf_file *f, Dwarf_Attribute *attr)
{
	const char *s = dwarf_formstring(attr);

	for (size_t i = 0; s && i < f->nr_names; i++) {
		uintptr_t start = (uintptr_t)f->names[i]->d_buf;

		if ((uintptr_t)s >= start && (uintptr_t)s < start + f->names[i]->d_size)
			return s;
	}
	return NULL;
}
