// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The report for people: the section on copies of memory. */
#include <stdlib.h>
#include <string.h>

#include "render/clean.h"
#include "render/report.h"
#include "render/unit.h"
#include "util/scope.h"

enum {
	SITES_MAX = 10,
	SITE_WIDTH = 26,
};

/* What copies came to, those that only compare left out. */
struct sum {
	uint64_t count, bytes;
	uint64_t timed, timed_bytes, ns;
	uint64_t blame_ns;
};

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

static struct sum sum_of(const struct copies *c, bool is_held)
{
	struct sum sum = { 0 };

	for (size_t i = 0; i < c->nr_sites; i++) {
		const struct copy_site *s = &c->sites[i];

		if (!!(s->flags & COPY_HELD) != is_held || !copy_is_copy(s))
			continue;
		sum.count += s->count;
		sum.bytes += s->bytes;
		sum.timed += s->ns.count;
		sum.timed_bytes += s->timed_bytes;
		sum.ns += s->ns.sum;
		sum.blame_ns += s->blame_ns;
	}
	return sum;
}

/* How it was measured has @part in it: "buffer", "large". */
static bool is_followed(const struct report *r, const char *part)
{
	const char *how = json_string_value(json_object_get(r->methods, "copy"));

	return how && strstr(how, part);
}

/* Time and throughput of those that were timed; the sentence is left open. */
static void add_timed(struct doc *d, const struct sum *s, const char *lock)
{
	if (s->timed == s->count)
		doc_more(d, "Those with it %s took %s", lock, unit_ns(s->ns).text);
	else
		doc_more(d, "Of those with it %s, %s %s timed, which took %s", lock,
			 unit_count(s->timed).text, plural(s->timed, "was", "were"), unit_ns(s->ns).text);
	if (s->ns)
		doc_more(d, "at %s per s", unit_bytes(s->timed_bytes * 1e9 / s->ns).text);
}

/* How much of the locks' time it was, and whom it kept waiting. */
static void add_held(struct doc *d, const struct report *r, const struct sum *held)
{
	uint64_t hold_ns = 0, blame_ns = 0;

	if (!held->timed)
		return;
	for (size_t i = 0; i < r->nr_locks; i++) {
		hold_ns += r->locks[i].lock->totals.hold.ns.sum;
		blame_ns += r->locks[i].lock->totals.blame_ns;
	}
	add_timed(d, held, "held");
	doc_more(d, "(%s of all the time that it was held).", unit_share_of(held->ns, hold_ns).text);
	if (held->blame_ns)
		doc_more(d, "They caused %s of the other threads' waiting (%s of all that owners caused).",
			 unit_ns(held->blame_ns).text, unit_share_of(held->blame_ns, blame_ns).text);
	else
		doc_more(d, "No thread waited for the lock meanwhile.");
}

static void add_diagnosis(struct doc *d, const struct report *r)
{
	struct sum held = sum_of(&r->profile->copies, true);
	struct sum released = sum_of(&r->profile->copies, false);

	doc_paragraph(d, "With the lock held, %s %s copied in %s %s; with it released, %s in %s.",
		      unit_bytes(held.bytes).text, held.bytes == 1 ? "was" : "were",
		      unit_count(held.count).text, plural(held.count, "copy", "copies"),
		      unit_bytes(released.bytes).text, unit_count(released.count).text);
	add_held(d, r, &held);
	if (!released.timed)
		return;
	add_timed(d, &released, "released");
	doc_more(d, "in all.");
}

/* How many copies there were of which sizes: a few classes say enough. */
static void add_sizes(struct doc *d, const struct copies *c)
{
	static const struct {
		unsigned int end;	/* slots below this: sizes below 1 << (end - 1) */
		const char *text;
	} classes[] = {
		{ 7, "below 64 B" }, { 11, "from 64 B" }, { 15, "from 1 KiB" },
		{ 19, "from 16 KiB" }, { 21, "from 256 KiB" }, { 25, "from 1 MiB" },
		{ COPY_SLOTS, "from 16 MiB" },
	};
	uint64_t counts[ARRAY_LEN(classes)] = { 0 };
	const char *before = "Sizes:";
	size_t last = 0;

	for (size_t i = 0; i < c->nr_sites; i++)
		for (unsigned int slot = 0, k = 0; slot < COPY_SLOTS && copy_is_copy(&c->sites[i]); slot++) {
			k += slot == classes[k].end;
			counts[k] += c->sites[i].sizes[slot];
			last = counts[k] && k > last ? k : last;
		}
	for (size_t k = 0; k <= last; k++) {
		if (!counts[k])
			continue;
		if (*before)
			doc_paragraph(d, "%s", before);
		doc_more(d, "%s %s%s", unit_count(counts[k]).text, classes[k].text, k == last ? "." : ",");
		before = "";
	}
}

static const char *lock_word(const struct copy_site *s)
{
	return s->flags & COPY_HELD ? "held" : "released";
}

static struct clean site_name(const struct report *r, uint64_t function, uint8_t flags)
{
	return report_end_of(report_copy_name(r, function, flags).text, SITE_WIDTH);
}

static void add_sites(struct doc *d, const struct report *r, const struct copy_site **sites)
{
	static const struct doc_column columns[] = {
		{ .title = "site" }, { .title = "does" }, { .title = "lock" },
		{ .title = "count", .is_right = true }, { .title = "bytes", .is_right = true },
		{ .title = "each", .is_right = true, .is_last = true },
	};
	static const char *const ops[] = { "move", "set", "compare", "string" };
	const struct copies *c = &r->profile->copies;
	bool compares = false;

	doc_table(d, columns);
	for (size_t i = 0; i < c->nr_sites && i < SITES_MAX; i++) {
		const struct copy_site *s = sites[i];

		compares |= !copy_is_copy(s);
		doc_cell(d, "%s", site_name(r, s->function, s->flags).text);
		doc_cell(d, "%s", ops[(s->flags & COPY_OP) >> COPY_OP_SHIFT]);
		doc_cell(d, "%s", lock_word(s));
		doc_cell(d, "%s", unit_count(s->count).text);
		doc_cell(d, "%s", unit_bytes(s->bytes).text);
		doc_cell(d, "%s", s->count ? unit_bytes((double)s->bytes / s->count).text : "-");
	}
	if (c->nr_sites > SITES_MAX)
		doc_paragraph(d, "And %s more, with fewer bytes (use -f json).",
			      unit_count(c->nr_sites - SITES_MAX).text);
	if (compares)
		doc_paragraph(d, "compare: copies nothing, and is not in the figures above; its bytes are "
			      "those of a comparison that finds no difference.");
}

static void add_timed_site(struct doc *d, const struct report *r, const struct copy_site *s)
{
	double gib = s->timed_bytes / (double)(1 << 30);

	doc_cell(d, "%s", site_name(r, s->function, s->flags).text);
	doc_cell(d, "%s", lock_word(s));
	doc_cell(d, "%s", unit_count(s->ns.count).text);
	doc_cell(d, "%s", unit_ns(s->ns.sum).text);
	doc_cell(d, "%s", s->ns.sum ? unit_real(gib * 1e9 / s->ns.sum).text : "-");
	doc_cell(d, "%s", unit_ns(dist_quantile(&s->ns, 500)).text);
	doc_cell(d, "%s", unit_ns(dist_quantile(&s->ns, 990)).text);
	doc_cell(d, "%s", unit_ns(s->ns.max).text);
	doc_cell(d, "%s", s->flags & COPY_HELD ? unit_ns(s->blame_ns).text : "-");
}

static void add_timed_sites(struct doc *d, const struct report *r, const struct copy_site **sites)
{
	static const struct doc_column columns[] = {
		{ .title = "timed" }, { .title = "lock" }, { .title = "count", .is_right = true },
		{ .title = "in all", .is_right = true }, { .title = "GiB/s", .is_right = true },
		{ .title = "p50", .is_right = true }, { .title = "p99", .is_right = true },
		{ .title = "max", .is_right = true },
		{ .title = "blame", .is_right = true, .is_last = true },
	};
	const struct copies *c = &r->profile->copies;
	size_t nr = 0;

	for (size_t i = 0; i < c->nr_sites && i < SITES_MAX; i++) {
		if (!sites[i]->ns.count)
			continue;
		if (!nr++)
			doc_table(d, columns);
		add_timed_site(d, r, sites[i]);
	}
}

static void add_told(struct doc *d, const struct report *r)
{
	const struct copies *c = &r->profile->copies;
	auto_free const struct copy_site **sites = copies_sorted(c);

	if (!sites) {
		d->is_broken = true;
		return;
	}
	if (c->nr_sites) {
		add_diagnosis(d, r);
		add_sizes(d, c);
		add_sites(d, r, sites);
		add_timed_sites(d, r, sites);
	} else if (is_followed(r, "large")) {
		doc_paragraph(d, "No copy was large enough to be told.");
	} else if (is_followed(r, "buffer")) {
		doc_paragraph(d, "IO::Buffer copied nothing.");
	}
	if (c->tallied)
		doc_paragraph(d, "%s of these were below --copy-min: how long they took is not known, nor "
			      "who waited meanwhile.", unit_count(c->tallied).text);
}

/* What is followed one by one, and what only by samples. */
static void add_scope(struct doc *d, const struct report *r)
{
	bool has_buffer = is_followed(r, "buffer");

	if (is_followed(r, "large"))
		doc_paragraph(d, "Told one by one: %slarge copies of all else.",
			      has_buffer ? "all of IO::Buffer's, and " : "");
	else if (has_buffer)
		doc_paragraph(d, "Told one by one: IO::Buffer's. Large copies of Strings, Arrays and C "
			      "extensions are only sampled; `record --copies exact` tells each.");
	else
		doc_paragraph(d, "Copies were only sampled.");
}

static int by_count(const void *a, const void *b)
{
	const struct copy_ticks *x = *(const struct copy_ticks *const *)a;
	const struct copy_ticks *y = *(const struct copy_ticks *const *)b;

	return (x->count < y->count) - (x->count > y->count);
}

/* Those with the most ticks first; NULL when out of memory. */
static const struct copy_ticks **ticks_sorted(const struct copies *c)
{
	const struct copy_ticks **out = malloc((c->nr_sampled + 1) * sizeof(*out));

	for (size_t i = 0; out && i < c->nr_sampled; i++)
		out[i] = &c->sampled[i];
	if (out)
		qsort(out, c->nr_sampled, sizeof(*out), by_count);
	return out;
}

static void add_sampled(struct doc *d, const struct report *r)
{
	static const struct doc_column columns[] = {
		{ .title = "sampled" }, { .title = "ticks", .is_right = true },
		{ .title = "share", .is_right = true, .is_last = true },
	};
	const struct copies *c = &r->profile->copies;
	struct share all = report_copy_share(r, c->copy_ticks);
	auto_free const struct copy_ticks **by = ticks_sorted(c);

	if (!by) {
		d->is_broken = true;
		return;
	}
	if (!c->ticks) {
		doc_paragraph(d, "No clock tick found the lock's owner on a CPU: nothing is known from "
			      "samples.");
		return;
	}
	doc_paragraph(d, "By %s clock tick%s that found the lock's owner on a CPU, %s (%s to %s, 95 %%) of "
		      "that time went into the C library's routines for copying and filling memory.",
		      unit_count(c->ticks).text, plural(c->ticks, "", "s"), unit_share(all.value).text,
		      unit_share(all.low).text, unit_share(all.high).text);
	if (!c->nr_sampled)
		return;
	doc_table(d, columns);
	for (size_t i = 0; i < c->nr_sampled && i < SITES_MAX; i++) {
		doc_cell(d, "%s", site_name(r, by[i]->function, COPY_HELD).text);
		doc_cell(d, "%s", unit_count(by[i]->count).text);
		doc_cell(d, "%s", unit_share(report_copy_share(r, by[i]->count).value).text);
	}
	if (c->nr_sampled > SITES_MAX)
		doc_paragraph(d, "And %s more (use -f json).",
			      unit_count(c->nr_sampled - SITES_MAX).text);
}

void report_copy_doc(const struct report *r, struct doc *d)
{
	if (!r->has_copy)
		return;
	doc_title(d, "Copies");
	add_told(d, r);
	add_scope(d, r);
	add_sampled(d, r);
}
