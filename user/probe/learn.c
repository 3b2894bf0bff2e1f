// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "probe/learn.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "probe/insn.h"
#include "probe/scan.h"
#include "probe/tracee.h"
#include "util/clock.h"
#include "util/scope.h"

enum {
	DISPROOF_HITS = 16,		/* runs without ever writing to a lock */
	RELEARN_MAX = 3,		/* times in a capture that all is looked at again */
	SETTLED_HITS = 100,		/* watched writes, of which the last */
	SETTLED_HITS_SINCE_NEWS = 50,	/* so many brought nothing new */
};

#define SETTLED_MIN_NS (100 * NS_PER_MS)

static struct site *find_site(struct tracee *te, enum word word, uint64_t write_vaddr)
{
	for (size_t i = 0; i < te->nr_sites; i++)
		if (te->sites[i].word == word && te->sites[i].write_vaddr == write_vaddr)
			return &te->sites[i];
	return NULL;
}

/* The new site, or NULL if it is known already or cannot be probed. */
static struct site *add_site(struct tracee *te, enum word word, uint64_t vaddr, bool is_next)
{
	struct site s;

	if (te->nr_sites == SITES_MAX ||
	    site_choose(&s, &te->ruby.object, vaddr, is_next, word, NULL) ||
	    find_site(te, word, s.write_vaddr))
		return NULL;
	te->sites[te->nr_sites] = s;
	return &te->sites[te->nr_sites++];
}

bool learn_has_sites(const struct tracee *te)
{
	for (size_t i = 0; i < te->nr_sites; i++)
		if (te->sites[i].word == WORD_OWNER && te->sites[i].state != SITE_DISPROVEN)
			return true;
	return false;
}

bool learn_prove(struct tracee *te)
{
	bool is_worth_it = false;

	for (size_t i = 0; i < te->nr_sites; i++) {
		struct site *s = &te->sites[i];
		struct site_count c;

		if (s->state != SITE_CANDIDATE || !s->number)
			continue;
		c = tracer_site_count(te->tracer, s);
		if (c.matched) {
			s->state = SITE_PROVEN;
			te->is_news = te->is_regrouped = true;
		} else if (c.misses >= DISPROOF_HITS) {
			s->state = SITE_DISPROVEN;
			te->is_news = te->is_regrouped = is_worth_it = true;
		}
	}
	return is_worth_it;
}

struct writers {
	struct tracee *te;
	uint64_t hits;
	bool is_new;
};

static void take_writer(void *arg, const struct writer_key *key, uint64_t n)
{
	struct writers *w = arg;
	uint64_t vaddr = key->ip - w->te->ruby.object.bias;
	struct site seen, *s;

	if ((pid_t)key->tgid != w->te->pid)
		return;
	w->hits += n;
	if (site_choose(&seen, &w->te->ruby.object, vaddr, insn_watch_reports_next(), key->word, NULL))
		return;
	s = find_site(w->te, key->word, seen.write_vaddr);
	if (s && s->state != SITE_DISPROVEN)
		return;
	if (!s && w->te->nr_sites == SITES_MAX)
		return;
	/* it was seen to write the word, whatever was thought of it */
	seen.state = SITE_PROVEN;
	if (s)
		*s = seen;
	else
		w->te->sites[w->te->nr_sites++] = seen;
	w->is_new = true;
}

bool learn_writers(struct tracee *te)
{
	struct writers w = { .te = te };

	tracer_writers(te->tracer, take_writer, &w);
	te->writer_hits = w.hits;
	if (w.is_new)
		te->hits_at_news = w.hits;
	te->is_news |= w.is_new;
	te->is_regrouped |= w.is_new;
	return w.is_new;
}

bool learn_is_settled(const struct tracee *te, uint64_t now_ns)
{
	return te->writer_hits >= SETTLED_HITS &&
	       te->writer_hits - te->hits_at_news >= SETTLED_HITS_SINCE_NEWS &&
	       now_ns - te->watch_since_ns >= SETTLED_MIN_NS;
}

/* False when there is no cache folder or no build-id to go by. */
static bool cache_path(const struct tracee *te, char *out, size_t size, bool make)
{
	static const char *const parts[] = { "", "/gvlscope", "/sites" };
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char dir[3072];

	if (!te->ruby.object.build_id[0])
		return false;
	if (base && base[0] == '/')
		snprintf(dir, sizeof(dir), "%s", base);
	else if (home && home[0] == '/')
		snprintf(dir, sizeof(dir), "%s/.cache", home);
	else
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		strncat(dir, parts[i], sizeof(dir) - strlen(dir) - 1);
		if (make)
			mkdir(dir, 0700);
	}
	snprintf(out, size, "%s/%s", dir, te->ruby.object.build_id);
	return true;
}

/* One letter a fact: o, q: writes the owner or queue word; c, p, d: candidate, proven, disproven. */
static const char word_letters[] = "oq", state_letters[] = "cpd";

/* What was learned under other rules is not taken over. */
static const char cache_head[] = "gvlscope sites 2\n";

static void load(struct tracee *te)
{
	char path[4096], head[64], word, state;
	auto_fclose FILE *f = cache_path(te, path, sizeof(path), false) ? fopen(path, "re") : NULL;
	uint64_t vaddr;

	if (!f || !fgets(head, sizeof(head), f) || strcmp(head, cache_head) != 0)
		return;
	while (fscanf(f, " %c%c %" SCNx64, &word, &state, &vaddr) == 3) {
		const char *w = strchr(word_letters, word), *s = strchr(state_letters, state);
		struct site *site = w && s ? add_site(te, w - word_letters, vaddr, false) : NULL;

		/* proven by running only; what was disproven would just cost traps again */
		if (site && s - state_letters == SITE_DISPROVEN)
			site->state = SITE_DISPROVEN;
	}
	te->from_cache = te->nr_sites > 0;
}

void learn_save(const struct tracee *te)
{
	char path[4096], fresh[4104];
	auto_fclose FILE *f = NULL;
	int fd;

	if (!te->is_news || !cache_path(te, path, sizeof(path), true))
		return;
	snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path);
	fd = mkostemp(fresh, O_CLOEXEC);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f)
		return;
	fputs(cache_head, f);
	for (size_t i = 0; i < te->nr_sites; i++)
		fprintf(f, "%c%c %" PRIx64 "\n", word_letters[te->sites[i].word],
			state_letters[te->sites[i].state], te->sites[i].write_vaddr);
	if (fflush(f) || ferror(f) || rename(fresh, path))
		unlink(fresh);
}

static void scan(struct tracee *te)
{
	auto_free struct site *found = calloc(SITES_MAX, sizeof(*found));
	int n = found ? scan_candidates(found, SITES_MAX, &te->ruby.object, &te->ruby.layout, NULL) : 0;

	for (int i = 0; i < n && te->nr_sites < SITES_MAX; i++)
		if (!find_site(te, found[i].word, found[i].write_vaddr))
			te->sites[te->nr_sites++] = found[i];
}

void learn_begin(struct tracee *te)
{
	load(te);
	if (!learn_has_sites(te))
		scan(te);
}

bool learn_again(struct tracee *te)
{
	size_t known = te->nr_sites;
	bool is_news = false;

	if (te->nr_relearned == RELEARN_MAX)
		return false;
	te->nr_relearned++;
	scan(te);
	/* and nothing that was thought of it before holds */
	for (size_t i = 0; i < known; i++) {
		if (te->sites[i].state != SITE_DISPROVEN)
			continue;
		te->sites[i].state = SITE_CANDIDATE;
		te->sites[i].number = 0;	/* counted from zero */
		is_news = true;
	}
	is_news |= te->nr_sites > known;
	te->is_news |= is_news;
	te->is_regrouped |= is_news;
	return is_news;
}
