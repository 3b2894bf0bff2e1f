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

/* What Ruby code calls it by. (Extensions' methods are not looked for.) */
static const char *ruby_name(const struct tracee *te, const struct object *o, uint64_t vaddr)
{
	const struct object *ruby = &te->ruby.object;
	const struct method_def *m = NULL;

	if (o->inode == ruby->inode && o->dev_minor == ruby->dev_minor && o->dev_major == ruby->dev_major)
		m = methods_at(&te->extras.copying.methods, vaddr);
	return m ? m->name : NULL;
}

static void describe(const struct tracee *te, uint64_t addr, char *buf, size_t len)
{
	auto_free struct wanted *w = calloc(1, sizeof(*w));
	auto_free struct object *o = calloc(1, sizeof(*o));
	const char *name = NULL;
	struct err e;

	snprintf(buf, len, "%#lx", addr);
	if (!w || !o)
		return;
	w->addr = addr;
	if (proc_maps(&te->ruby.proc, is_around, w, &e) != 1 ||
	    object_open(o, &te->ruby.proc, &w->map, &e))
		return;
	name = ruby_name(te, o, addr - o->bias);
	if (!name)
		name = object_function_name(o, addr - o->bias);
	if (name)
		snprintf(buf, len, "%s", name);
	else
		snprintf(buf, len, "%.80s+%#lx", base_name(o->path), addr - o->bias);
	object_release(o);
}

void symbols_need(struct tracee *te, uint64_t addr, uint64_t ts_ns)
{
	struct event ev = { .kind = EVENT_SYMBOL, .ts_ns = ts_ns, .target = te->id, .thread = addr };

	if (!addr || map_get(&te->symbols.told, addr) || map_put(&te->symbols.told, addr, 1))
		return;
	describe(te, addr, ev.text, sizeof(ev.text));
	ev.text_len = strlen(ev.text);
	te->sink.event(te->sink.arg, &ev);
}
