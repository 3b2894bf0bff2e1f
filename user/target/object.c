// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/object.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "util/scope.h"

static bool is_same_file(int fd, const struct proc_map *m)
{
	struct stat st;

	/*
	 * Overlay file systems show another device in stat() than in maps; the inode number is
	 * then still the same one on every kernel that shows it in maps at all.
	 */
	return fstat(fd, &st) == 0 && st.st_ino == m->inode;
}

static int open_mapped(struct object *o, const struct proc *p, const struct proc_map *m)
{
	snprintf(o->open_path, sizeof(o->open_path), "/proc/%d/root%s", p->pid, m->path);
	o->fd = open(o->open_path, O_RDONLY | O_CLOEXEC);
	if (o->fd >= 0 && is_same_file(o->fd, m))
		return 0;
	scope_close(&o->fd);
	/* deleted or replaced since it was mapped: the mapping itself still leads to it */
	snprintf(o->open_path, sizeof(o->open_path), "/proc/%d/map_files/%lx-%lx", p->pid, m->start,
		 m->end);
	o->fd = open(o->open_path, O_RDONLY | O_CLOEXEC);
	return o->fd >= 0 ? 0 : -errno;
}

static bool phdr_get(const struct object *o, size_t i, GElf_Phdr *ph)
{
	size_t n;

	return elf_getphdrnum(o->elf, &n) == 0 && i < n && gelf_getphdr(o->elf, i, ph);
}

/* Mappings are page-aligned, so the segment is the one whose file range holds the offset. */
static int find_bias(struct object *o, const struct proc_map *m)
{
	GElf_Phdr ph;

	for (size_t i = 0; phdr_get(o, i, &ph); i++) {
		uint64_t start = ph.p_offset & ~0xfffULL;

		if (ph.p_type != PT_LOAD || m->offset < start ||
		    m->offset >= ph.p_offset + ph.p_filesz)
			continue;
		if (m->executable != !!(ph.p_flags & PF_X))
			continue;
		o->bias = m->start - m->offset + ph.p_offset - ph.p_vaddr;
		return 0;
	}
	return -ENOENT;
}

void object_build_id(void *elf, char *hex)
{
	const void *id;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &id);

	hex[0] = '\0';
	for (ssize_t i = 0; i < n && i < BUILD_ID_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", ((const unsigned char *)id)[i]);
}

/* The next symbol table section of @type after @scn. */
static Elf_Scn *symbol_section(const struct object *o, GElf_Word type, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(o->elf, scn)))
		if (gelf_getshdr(scn, sh) && sh->sh_type == type && sh->sh_entsize)
			return scn;
	return NULL;
}

int object_open(struct object *o, const struct proc *p, const struct proc_map *m, struct err *e)
{
	GElf_Shdr sh;
	int err;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->inode = m->inode;
	o->dev_major = m->dev_major;
	o->dev_minor = m->dev_minor;
	snprintf(o->path, sizeof(o->path), "%s", m->path);
	err = open_mapped(o, p, m);
	if (err)
		return err_set(e, err == -EACCES || err == -EPERM ? REASON_NO_ACCESS : REASON_ELF,
			       err, "%s of process %d: %s", m->path, p->pid, strerror(-err));
	/* from here on by the open file: the process may end, and a forked child goes on with it */
	snprintf(o->open_path, sizeof(o->open_path), "/proc/self/fd/%d", o->fd);
	elf_version(EV_CURRENT);
	o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
	if (!o->elf || elf_kind(o->elf) != ELF_K_ELF || gelf_getclass(o->elf) != ELFCLASS64) {
		object_release(o);
		return err_set(e, REASON_ELF, -ENOEXEC, "%s: not a 64-bit ELF file", m->path);
	}
	if (find_bias(o, m)) {
		object_release(o);
		return err_set(e, REASON_ELF, -ENOEXEC,
			       "%s: its segments do not match the mapping", m->path);
	}
	object_build_id(o->elf, o->build_id);
	o->has_symtab = symbol_section(o, SHT_SYMTAB, &sh);
	return 0;
}

void object_release(struct object *o)
{
	if (o->elf)
		elf_end(o->elf);
	o->elf = NULL;
	scope_close(&o->fd);
	o->fd = -1;
}

/* Calls @fn for the symbols of one table until it returns true. */
static bool symbols_each(const struct object *o, GElf_Word type,
			 bool (*fn)(void *arg, const char *name, const GElf_Sym *sym), void *arg)
{
	GElf_Shdr sh;
	Elf_Scn *scn = symbol_section(o, type, &sh);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t n;

	if (!data)
		return false;
	n = data->d_size / sh.sh_entsize;
	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(o->elf, sh.sh_link, sym.st_name);
		if (name && fn(arg, name, &sym))
			return true;
	}
	return false;
}

struct by_name {
	const char *name;
	GElf_Sym sym;
};

static bool name_is(void *arg, const char *name, const GElf_Sym *sym)
{
	struct by_name *q = arg;

	if (strcmp(name, q->name) != 0)
		return false;
	q->sym = *sym;
	return true;
}

int object_symbol(const struct object *o, const char *name, uint64_t *vaddr, uint64_t *size)
{
	struct by_name q = { .name = name };

	if (!symbols_each(o, SHT_DYNSYM, name_is, &q) && !symbols_each(o, SHT_SYMTAB, name_is, &q))
		return -ENOENT;
	*vaddr = q.sym.st_value;
	if (size)
		*size = q.sym.st_size;
	return 0;
}

struct by_addr {
	uint64_t vaddr;
	const char *name;
};

static bool spans(void *arg, const char *name, const GElf_Sym *sym)
{
	struct by_addr *q = arg;

	if (GELF_ST_TYPE(sym->st_info) != STT_FUNC || q->vaddr < sym->st_value ||
	    q->vaddr - sym->st_value >= sym->st_size)
		return false;
	q->name = name;
	return true;
}

const char *object_function_name(const struct object *o, uint64_t vaddr)
{
	struct by_addr q = { .vaddr = vaddr };

	if (!symbols_each(o, SHT_SYMTAB, spans, &q))
		symbols_each(o, SHT_DYNSYM, spans, &q);
	return q.name;
}

int object_file_offset(const struct object *o, uint64_t vaddr, uint64_t *offset)
{
	GElf_Phdr ph;

	for (size_t i = 0; phdr_get(o, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) || vaddr < ph.p_vaddr ||
		    vaddr - ph.p_vaddr >= ph.p_filesz)
			continue;
		*offset = vaddr - ph.p_vaddr + ph.p_offset;
		return 0;
	}
	return -ENOENT;
}

int object_read(const struct object *o, uint64_t vaddr, void *buf, size_t len)
{
	GElf_Phdr ph;

	for (size_t i = 0; phdr_get(o, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || vaddr < ph.p_vaddr || len > ph.p_filesz ||
		    vaddr - ph.p_vaddr > ph.p_filesz - len)
			continue;
		if (pread(o->fd, buf, len, vaddr - ph.p_vaddr + ph.p_offset) == (ssize_t)len)
			return 0;
	}
	return -ENOENT;
}

/*
 * The binary search table of .eh_frame_hdr (Linux Standard Base, "Exception Frames"): pairs of
 * function start and FDE, sorted, relative to the header. Only the encodings that GNU and LLVM
 * linkers write are read.
 */
struct eh_hdr {
	uint8_t version, ptr_enc, count_enc, table_enc;
	int32_t frame_ptr;
	uint32_t count;
};

enum { EH_UDATA4 = 0x03, EH_DATAREL_SDATA4 = 0x3b };

/*
 * The end of the function at @start, from its FDE: length, CIE, start relative to itself, size. Only
 * in the encoding that is usual, DW_EH_PE_pcrel | DW_EH_PE_sdata4. 0, or -ENOENT.
 */
static int read_function_end(const struct object *o, uint64_t fde_vaddr, uint64_t start,
			     uint64_t *end)
{
	int32_t fde[4];

	if (object_read(o, fde_vaddr, fde, sizeof(fde)) ||
	    fde_vaddr + 2 * sizeof(*fde) + fde[2] != start || fde[3] <= 0)
		return -ENOENT;
	*end = start + fde[3];
	return 0;
}

int object_function_span(const struct object *o, uint64_t vaddr, struct span *out)
{
	int32_t entry[2] = { 0 };
	struct eh_hdr hdr;
	uint32_t lo = 0, hi;
	GElf_Phdr ph;
	size_t i = 0;

	while (phdr_get(o, i, &ph) && ph.p_type != PT_GNU_EH_FRAME)
		i++;
	if (!phdr_get(o, i, &ph) || object_read(o, ph.p_vaddr, &hdr, sizeof(hdr)) ||
	    hdr.version != 1 || hdr.count_enc != EH_UDATA4 || hdr.table_enc != EH_DATAREL_SDATA4 ||
	    hdr.count > ph.p_filesz / sizeof(entry))
		return -ENOENT;
	for (hi = hdr.count; lo < hi;) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (object_read(o, ph.p_vaddr + sizeof(hdr) + (uint64_t)mid * sizeof(entry), entry,
				sizeof(entry)))
			return -ENOENT;
		if (ph.p_vaddr + entry[0] <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* lo is the first function after vaddr */
	if (lo == 0)
		return -ENOENT;
	object_read(o, ph.p_vaddr + sizeof(hdr) + (uint64_t)(lo - 1) * sizeof(entry), entry,
		    sizeof(entry));
	out->start = ph.p_vaddr + entry[0];
	if (lo == hdr.count)
		return read_function_end(o, ph.p_vaddr + entry[1], out->start, &out->end) ||
		       vaddr >= out->end ? -ENOENT : 0;
	object_read(o, ph.p_vaddr + sizeof(hdr) + (uint64_t)lo * sizeof(entry), entry,
		    sizeof(entry));
	out->end = ph.p_vaddr + entry[0];
	return 0;
}

bool object_segment(const struct object *o, bool writable_only, size_t i, struct span *out)
{
	GElf_Phdr ph;

	for (size_t k = 0; phdr_get(o, k, &ph); k++) {
		if (ph.p_type != PT_LOAD || (writable_only && !(ph.p_flags & PF_W)))
			continue;
		if (i--)
			continue;
		out->start = ph.p_vaddr;
		out->end = ph.p_vaddr + ph.p_memsz;
		return true;
	}
	return false;
}
