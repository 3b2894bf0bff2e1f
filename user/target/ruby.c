// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "target/ruby.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "target/debugfile.h"
#include "util/scope.h"

const char *layout_source_name(enum layout_source s)
{
	return s == LAYOUT_FROM_DWARF || s == LAYOUT_FROM_DEBUG_FILE ? "dwarf" : "table";
}

struct finder {
	struct ruby *r;
	uint64_t last_inode;
	bool is_java, is_truffle;
	struct err denied;	/* a mapped file that may not be opened */
};

/* Every CRuby exports its version as data, stripped or not (version.c). */
static int try_mapping(void *arg, const struct proc_map *m)
{
	struct finder *f = arg;
	struct err e;
	uint64_t vaddr;

	if (strstr(m->path, "libjvm.so"))
		f->is_java = true;
	if (strstr(m->path, "truffleruby"))
		f->is_truffle = true;
	if (!m->executable || m->path[0] != '/' || m->inode == f->last_inode)
		return 0;
	f->last_inode = m->inode;
	if (object_open(&f->r->object, &f->r->proc, m, &e)) {
		if (e.code == -EACCES || e.code == -EPERM)
			f->denied = e;
		return 0;
	}
	if (object_symbol(&f->r->object, "ruby_version", &vaddr, NULL) == 0 &&
	    object_symbol(&f->r->object, "ruby_run_node", &vaddr, NULL) == 0)
		return 1;
	object_release(&f->r->object);
	return 0;
}

static int find_object(struct ruby *r, struct err *e)
{
	struct finder f = { .r = r };
	char link[64];
	ssize_t n;
	int ret;

	snprintf(link, sizeof(link), "/proc/%d/exe", r->proc.pid);
	n = readlink(link, r->exe, sizeof(r->exe) - 1);
	r->exe[n > 0 ? n : 0] = '\0';

	ret = proc_maps(&r->proc, try_mapping, &f, e);
	if (ret < 0)
		return ret;
	r->has_object = ret > 0;
	if (r->has_object)
		return 0;
	if (f.is_java || f.is_truffle)
		return err_set(e, REASON_NOT_CRUBY, -ENOTSUP,
			       "process %d (%s) runs on %s, which has no GVL", r->proc.pid,
			       r->proc.comm, f.is_java ? "the JVM" : "TruffleRuby");
	if (f.denied.code)
		return proc_denied(&r->proc, f.denied.code, e);
	return err_set(e, REASON_NOT_RUBY, -ENOTSUP, "process %d (%s) has no CRuby loaded",
		       r->proc.pid, r->proc.comm);
}

static void read_text(const struct ruby *r, const char *symbol, char *out, size_t size)
{
	uint64_t vaddr, len;

	out[0] = '\0';
	if (object_symbol(&r->object, symbol, &vaddr, &len) || len == 0)
		return;
	if (len > size)
		len = size;
	if (proc_read(&r->proc, r->object.bias + vaddr, out, len))
		len = 1;
	out[len - 1] = '\0';
}

/* version.c: ruby_version, ruby_description, ruby_patchlevel (-1 in a development build) */
static int read_version(struct ruby *r, struct err *e)
{
	uint64_t vaddr;
	int major, minor, teeny;

	read_text(r, "ruby_version", r->version, sizeof(r->version));
	read_text(r, "ruby_description", r->description, sizeof(r->description));
	r->patchlevel = 0;
	if (object_symbol(&r->object, "ruby_patchlevel", &vaddr, NULL) == 0)
		proc_read(&r->proc, r->object.bias + vaddr, &r->patchlevel, sizeof(r->patchlevel));
	if (sscanf(r->version, "%d.%d.%d", &major, &minor, &teeny) != 3)
		return err_set(e, REASON_ELF, -EINVAL, "%s: ruby_version does not hold a version",
			       r->object.path);
	if (major < 3)
		return err_set(e, REASON_RUBY_VERSION, -ENOTSUP,
			       "Ruby %s is older than 3.0, the first version supported",
			       r->version);
	return 0;
}

static int layout_known(struct ruby *r, const char *version, struct err *e)
{
	struct utsname un;
	const struct layout *known;

	uname(&un);
	known = layout_find(version, un.machine);
	if (!known)
		return err_set(e, REASON_RUBY_VERSION, -ENOENT,
			       "Ruby %s%s on %s has no built-in layout and no debug symbols",
			       version, r->patchlevel < 0 ? " (a development build)" : "",
			       un.machine);
	r->layout = *known;
	return 0;
}

static int find_layout(struct ruby *r, const struct ruby_options *opt, struct err *e)
{
	if (opt && opt->layout_from) {
		r->layout_source = LAYOUT_FROM_NEIGHBOUR;
		return layout_known(r, opt->layout_from, e);
	}
	if (layout_from_dwarf(&r->layout, r->object.open_path, NULL) == 0 &&
	    layout_check(&r->layout, NULL) == 0) {
		r->layout_source = LAYOUT_FROM_DWARF;
		snprintf(r->layout_path, sizeof(r->layout_path), "%s", r->object.path);
		return 0;
	}
	if (debugfile_find(&r->object, &r->proc, r->layout_path, sizeof(r->layout_path)) == 0 &&
	    layout_from_dwarf(&r->layout, r->layout_path, NULL) == 0 &&
	    layout_check(&r->layout, NULL) == 0) {
		r->layout_source = LAYOUT_FROM_DEBUG_FILE;
		return 0;
	}
	r->layout_path[0] = '\0';
	r->layout_source = LAYOUT_FROM_TABLE;
	/* a development build has the number of the release that it precedes */
	if (r->patchlevel < 0)
		return err_set(e, REASON_RUBY_VERSION, -ENOENT,
			       "Ruby %s is a development build without debug symbols", r->version);
	return layout_known(r, r->version, e);
}

int ruby_open_early(struct ruby *r, pid_t pid, const struct ruby_options *opt, struct err *e)
{
	int err;

	memset(r, 0, sizeof(*r));
	r->proc.pidfd = -1;
	err = proc_init(&r->proc, pid, e);
	if (!err)
		err = find_object(r, e);
	if (!err)
		err = read_version(r, e);
	if (!err)
		err = find_layout(r, opt, e);
	if (!err)
		err = layout_check(&r->layout, e);
	return err;
}

int ruby_open(struct ruby *r, pid_t pid, const struct ruby_options *opt, struct err *e)
{
	int err = ruby_open_early(r, pid, opt, e);

	return err ? err : ruby_find_vm(r, e);
}

void ruby_release(struct ruby *r)
{
	if (r->has_object)
		object_release(&r->object);
	r->has_object = false;
	proc_release(&r->proc);
}
