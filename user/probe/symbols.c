// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/symbols.h"

#include <stdio.h>
#include <string.h>

#include "probe/tracee.h"
#include "util/scope.h"

struct wanted {
	uint64_t addr;
	struct proc_map map;
};

void symbols_release(struct symbols *s)
{
	map_release(&s->told);
}

static int is_around(void *arg, const struct proc_map *m)
{
	struct wanted *w = arg;

	if (w->addr < m->start || w->addr >= m->end)
		return 0;
	w->map = *m;
	return 1;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What @o calls the function at @vaddr, or the file and the address in it. */
static void describe_in(const struct object *o, uint64_t vaddr, char *buf, size_t len)
{
	const char *name = object_function_name(o, vaddr);

	if (name)
		snprintf(buf, len, "%s", name);
	else
		snprintf(buf, len, "%.80s+%#lx", base_name(o->path), vaddr);
}

/* In Ruby itself, which is known without asking a process that may have ended; first what Ruby calls it. */
static bool describe_in_ruby(const struct tracee *te, uint64_t addr, char *buf, size_t len)
{
	const struct object *o = &te->ruby.object;
	uint64_t vaddr = addr - o->bias, offset;
	const struct method_def *m;

	if (addr < o->bias || object_file_offset(o, vaddr, &offset))
		return false;
	m = methods_at(&te->extras.copying.methods, vaddr);
	if (m)
		snprintf(buf, len, "%s", m->name);
	else
		describe_in(o, vaddr, buf, len);
	return true;
}

/* In anything else that is mapped. (The methods of extensions are not looked for.) */
static void describe(const struct tracee *te, uint64_t addr, char *buf, size_t len)
{
	auto_free struct wanted *w = calloc(1, sizeof(*w));
	auto_free struct object *o = calloc(1, sizeof(*o));
	struct err e;

	snprintf(buf, len, "%#lx", addr);
	if (!w || !o)
		return;
	w->addr = addr;
	if (proc_maps(&te->ruby.proc, is_around, w, &e) != 1 ||
	    object_open(o, &te->ruby.proc, &w->map, &e))
		return;
	describe_in(o, addr - o->bias, buf, len);
	object_release(o);
}

void symbols_need(struct tracee *te, uint64_t addr, uint64_t ts_ns)
{
	struct event ev = { .kind = EVENT_SYMBOL, .ts_ns = ts_ns, .target = te->id, .thread = addr };

	if (!addr || map_get(&te->symbols.told, addr) || map_put(&te->symbols.told, addr, 1))
		return;
	if (!describe_in_ruby(te, addr, ev.text, sizeof(ev.text)))
		describe(te, addr, ev.text, sizeof(ev.text));
	ev.text_len = strlen(ev.text);
	te->sink.event(te->sink.arg, &ev);
}
