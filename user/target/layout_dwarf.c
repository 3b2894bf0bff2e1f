// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The layout from DWARF. The file is whatever lies at the path: every offset is bounded, every
 * chain of types has a depth, and the number of entries looked at is bounded by the file's size.
 * Names and sizes are read as dwarf_file.h asks, without dwarf_diename() and dwarf_bytesize().
 */
#include "target/layout.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "target/dwarf_file.h"
#include "util/scope.h"

#define MAX_CHAIN 16		/* typedefs and qualifiers in a row; structures inside structures */
#define MAX_TYPES 64		/* distinct TYPEs in LAYOUT_MEMBERS, at most */
#define UNSEEN UINT8_MAX
#define SIZEOF "sizeof"		/* no member of C's can have this name */

struct want {
	const char *paths;
	size_t at;		/* in struct layout */
};

static const struct want wants[] = {
#define WANT(name, p) { p, offsetof(struct layout, name) },
	LAYOUT_MEMBERS(WANT)
#undef WANT
};

/* A TYPE of LAYOUT_MEMBERS: "rb_vm_t" or, as @is_tag, "struct waiting_fd" without the keyword. */
struct type_name {
	const char *name;
	size_t len;
	bool is_tag;
};

struct search {
	const struct dwarf_file *file;
	const char *path;
	struct err *e;
	uint64_t steps_left;
	struct type_name types[MAX_TYPES];
	size_t nr_types;
	uint8_t rank[ARRAY_LEN(wants)];		/* which of its paths was found, or UNSEEN */
	int32_t offset[ARRAY_LEN(wants)];
};

static int damaged(const struct search *s, const char *what)
{
	return err_set(s->e, REASON_ELF, -EINVAL, "%s: damaged DWARF: %s", s->path, what);
}

static int step(struct search *s)
{
	if (s->steps_left == 0)
		return damaged(s, "entries form a loop");
	s->steps_left--;
	return 0;
}

/* dwarf_child() and dwarf_siblingof(), counted: 0, 1 when there is none, or -errno. */
static int first_child(struct search *s, Dwarf_Die *die, Dwarf_Die *child)
{
	int r = dwarf_child(die, child);

	return r < 0 ? damaged(s, dwarf_errmsg(-1)) : r;
}

static int next_sibling(struct search *s, Dwarf_Die *die)
{
	int r = step(s);

	if (r)
		return r;
	r = dwarf_siblingof(die, die);
	return r < 0 ? damaged(s, dwarf_errmsg(-1)) : r;
}

static const char *name_of(const struct search *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr(die, DW_AT_name, &attr))
		name = dwarf_file_string(s->file, &attr);
	return name ? name : "";
}

static bool is_named(const struct search *s, Dwarf_Die *die, const char *name, size_t len)
{
	const char *n = name_of(s, die);

	return strncmp(n, name, len) == 0 && n[len] == '\0';
}

static bool is_struct(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

static bool is_complete(Dwarf_Die *die)
{
	return is_struct(die) && !dwarf_hasattr(die, DW_AT_declaration);
}

/* Follows @die through typedefs and qualifiers to a complete structure, if there is one. */
static bool peel(Dwarf_Die *die)
{
	for (int depth = 0; depth < MAX_CHAIN; depth++) {
		Dwarf_Attribute attr;
		Dwarf_Die to;

		if (is_struct(die))
			return is_complete(die);
		switch (dwarf_tag(die)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return false;
		}
		if (!dwarf_attr(die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &to))
			return false;
		*die = to;
	}
	return false;
}

/* The type of @member, peeled. */
static bool member_struct(Dwarf_Die *member, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_attr(member, DW_AT_type, &attr) && dwarf_formref_die(&attr, type) &&
	       peel(type);
}

/* The unsigned constant @name of @die, if it has one. */
static bool constant(Dwarf_Die *die, unsigned int name, uint64_t *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) && dwarf_formudata(&attr, out) == 0;
}

/*
 * The first bit of the bit-field @member, whose storage is at byte @at of its structure. DWARF 4
 * and older may count from the storage's most significant bit; only little-endian is read here.
 */
static bool first_bit(Dwarf_Die *member, uint64_t at, uint64_t width, uint64_t *out)
{
	uint64_t from_top, bytes;

	if (constant(member, DW_AT_data_bit_offset, out))
		return true;
	if (at > LAYOUT_MAX_OFFSET || !constant(member, DW_AT_byte_size, &bytes) || bytes > 8 ||
	    !constant(member, DW_AT_bit_offset, &from_top) || from_top + width > 8 * bytes)
		return false;
	*out = 8 * at + 8 * bytes - width - from_top;
	return true;
}

/*
 * The offset of @member in @parent: of a bit-field of @bits bits, or with 0 of no bit-field. 0, 1
 * when it is not what was asked for, or -errno. DWARF 3 and older have an expression
 * (DW_OP_plus_uconst), newer ones a constant; neither means 0.
 */
static int member_offset(struct search *s, Dwarf_Die *parent, Dwarf_Die *member, unsigned int bits,
			 uint64_t *off)
{
	Dwarf_Attribute attr;
	uint64_t size, width = 0, bit;
	Dwarf_Op *op;
	size_t n;

	if (dwarf_hasattr(member, DW_AT_bit_size) && !constant(member, DW_AT_bit_size, &width))
		return 1;
	if (width != bits)
		return 1;
	*off = 0;
	if (dwarf_attr(member, DW_AT_data_member_location, &attr) &&
	    dwarf_formudata(&attr, off) != 0) {
		if (dwarf_getlocation(&attr, &op, &n) != 0 || n != 1 ||
		    op->atom != DW_OP_plus_uconst)
			return damaged(s, "a member's offset is neither constant nor simple");
		*off = op->number;
	}
	if (bits) {
		if (!first_bit(member, *off, bits, &bit) || bit % 8 != 0)
			return 1;
		*off = bit / 8;
	}
	if (*off > LAYOUT_MAX_OFFSET ||
	    (constant(parent, DW_AT_byte_size, &size) && *off > size))
		return damaged(s, "a member lies outside its structure");
	return 0;
}

/*
 * Looks in the complete structure @parent, and in the anonymous ones inside, for the member @name.
 * 0 with its entry and offset, 1 when it is not there, or -errno.
 */
static int find_member(struct search *s, Dwarf_Die *parent, const char *name, size_t len,
		       unsigned int bits, int depth, Dwarf_Die *found, uint64_t *off)
{
	Dwarf_Die die, inner;
	int r = first_child(s, parent, &die);

	for (; r == 0; r = next_sibling(s, &die)) {
		uint64_t base;

		if (dwarf_tag(&die) != DW_TAG_member)
			continue;
		if (is_named(s, &die, name, len)) {
			*found = die;
			return member_offset(s, parent, &die, bits, off);
		}
		if (depth >= MAX_CHAIN || *name_of(s, &die) || !member_struct(&die, &inner))
			continue;
		r = member_offset(s, parent, &die, 0, &base);
		if (r < 0)
			return r;
		r = find_member(s, &inner, name, len, bits, depth + 1, found, off);
		if (r < 0)
			return r;
		if (r == 0) {
			*off += base;
			return 0;
		}
	}
	return r;
}

/* The size of the complete structure @type. 0, 1 when it has none, or -errno. */
static int struct_size(struct search *s, Dwarf_Die *type, int32_t *out)
{
	uint64_t size;

	if (!constant(type, DW_AT_byte_size, &size))
		return 1;
	if (size > LAYOUT_MAX_OFFSET)
		return damaged(s, "a structure is too large");
	*out = (int32_t)size;
	return 0;
}

/*
 * Resolves "member[.member...][:bits]" or "sizeof", up to @len, in @type. 0 with *out, 1 when not
 * there, or -errno.
 */
static int resolve(struct search *s, Dwarf_Die *type, const char *path, size_t len, int32_t *out)
{
	const char *end = path + len;
	Dwarf_Die at = *type;
	uint64_t sum = 0;

	if (len == strlen(SIZEOF) && memcmp(path, SIZEOF, len) == 0)
		return struct_size(s, type, out);
	for (;;) {
		size_t n = strcspn(path, ".:|");
		unsigned int bits = path[n] == ':' ? (unsigned int)(path[n + 1] - '0') : 0;
		Dwarf_Die member;
		uint64_t off;
		int r = find_member(s, &at, path, n, bits, 0, &member, &off);

		if (r)
			return r;
		sum += off;
		if (sum > LAYOUT_MAX_OFFSET)
			return damaged(s, "a member lies outside its structure");
		path += n;
		if (path >= end || bits)
			break;
		path++;
		if (!member_struct(&member, &at))
			return 1;
	}
	*out = (int32_t)sum;
	return 0;
}

/* Splits the path at @p: its type, and its members with their length. */
static void split(const char *p, struct type_name *type, const char **members, size_t *len)
{
	static const char keyword[] = "struct ";

	*type = (struct type_name){ .name = p };
	if (strncmp(p, keyword, sizeof(keyword) - 1) == 0) {
		type->name += sizeof(keyword) - 1;
		type->is_tag = true;
	}
	type->len = strcspn(type->name, ".");
	*members = type->name + type->len + 1;
	*len = strcspn(*members, "|");
}

static bool is_same(const struct type_name *a, const struct type_name *b)
{
	return a->is_tag == b->is_tag && a->len == b->len && memcmp(a->name, b->name, a->len) == 0;
}

/* Tries every path that begins with @type in its complete structure @die. */
static int read_type(struct search *s, const struct type_name *type, Dwarf_Die *die)
{
	for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
		const char *p = wants[i].paths;

		for (uint8_t rank = 0; rank < s->rank[i]; rank++) {
			struct type_name mine;
			const char *members;
			size_t len;
			int r;

			split(p, &mine, &members, &len);
			r = is_same(&mine, type) ? resolve(s, die, members, len, &s->offset[i]) : 1;
			if (r < 0)
				return r;
			if (r == 0)
				s->rank[i] = rank;
			p = members + len;
			if (*p++ != '|')
				break;
		}
	}
	return 0;
}

static void search_init(struct search *s, const char *path, const struct dwarf_file *file,
			struct err *e)
{
	*s = (struct search){
		.file = file, .path = path, .e = e, .steps_left = 16 * file->size + 65536,
	};
	memset(s->rank, UNSEEN, sizeof(s->rank));

	for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
		const char *p = wants[i].paths;

		do {
			struct type_name type;
			const char *members;
			size_t len, t = 0;

			split(p, &type, &members, &len);
			while (t < s->nr_types && !is_same(&s->types[t], &type))
				t++;
			if (t == s->nr_types && t < MAX_TYPES)
				s->types[s->nr_types++] = type;
			p = members + len;
		} while (*p++ == '|');
	}
}

/* One entry at the top of a unit: is it one of the types, and complete here? */
static int read_entry(struct search *s, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	bool is_tag = tag == DW_TAG_structure_type;

	if (!is_tag && tag != DW_TAG_typedef)
		return 0;
	for (size_t t = 0; t < s->nr_types; t++) {
		const struct type_name *type = &s->types[t];
		Dwarf_Die complete = *die;

		if (type->is_tag == is_tag && is_named(s, die, type->name, type->len) &&
		    peel(&complete))
			return read_type(s, type, &complete);
	}
	return 0;
}

/* Rust (YJIT) has many entries and none of ours. Units that name no language may have them. */
static bool is_other_language(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	Dwarf_Word lang;

	if (!dwarf_attr(unit, DW_AT_language, &attr) || dwarf_formudata(&attr, &lang) != 0)
		return false;
	switch (lang) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case 0x2c: /* DW_LANG_C17, from elfutils 0.190 on */
	case 0x3e: /* DW_LANG_C23 */
		return false;
	default:
		return true;
	}
}

static int read_units(struct search *s, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die top, die;
	int r;

	while ((r = dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &top, NULL)) == 0) {
		r = step(s);
		if (r)
			return r;
		if (is_other_language(&top))
			continue;
		for (r = first_child(s, &top, &die); r == 0; r = next_sibling(s, &die)) {
			r = read_entry(s, &die);
			if (r)
				return r;
		}
		if (r < 0)
			return r;
	}
	return r < 0 ? damaged(s, dwarf_errmsg(-1)) : 0;
}

int layout_from_dwarf(struct layout *out, const char *path, struct err *e)
{
	auto_release(dwarf_file_release) struct dwarf_file file = { .fd = -1 };
	struct layout l;
	struct search s;
	struct err why;
	bool any = false;
	int r = dwarf_file_open(&file, path, e);

	if (r)
		return r;
	search_init(&s, path, &file, e);
	r = read_units(&s, file.dwarf);
	if (r)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
		int32_t off = s.rank[i] == UNSEEN ? LAYOUT_NONE : s.offset[i];

		memcpy((char *)&l + wants[i].at, &off, sizeof(off));
		any |= off != LAYOUT_NONE;
	}
	if (!any)
		return err_set(e, REASON_RUBY_VERSION, -ENOENT,
			       "%s: its DWARF does not describe Ruby", path);
	r = layout_check(&l, &why);
	if (r)
		return err_set(e, why.reason, r, "%s: %s", path, why.msg);
	*out = l;
	return 0;
}
