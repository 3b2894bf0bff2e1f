// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The part "copy" of the report as JSON. */
#include "render/clean.h"
#include "render/json.h"
#include "render/report.h"

static json_t *sum(const struct copies *c, bool is_held)
{
	uint64_t count = 0, bytes = 0, blame = 0;
	struct dist ns = { 0 };
	json_t *j;

	for (size_t i = 0; i < c->nr_sites; i++) {
		const struct copy_site *s = &c->sites[i];

		if (!!(s->flags & COPY_HELD) != is_held || !copy_is_copy(s))
			continue;
		count += s->count;
		bytes += s->bytes;
		blame += s->blame_ns;
		if (dist_merge(&ns, &s->ns))
			break;
	}
	j = json_pack("{s:o, s:o, s:o, s:o}", "count", json_number(count), "bytes", json_number(bytes),
		      "ns", json_dist(&ns), "blame_ns", json_number(blame));
	dist_release(&ns);
	return j;
}

static json_t *site(const struct report *r, const struct copy_site *s)
{
	static const char *const ops[] = { "move", "set", "compare", "string" };
	struct copy_name name = report_copy_name(r, s->function, s->flags);

	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:o}", "site", name.text,
			 "op", ops[(s->flags & COPY_OP) >> COPY_OP_SHIFT], "count", json_number(s->count),
			 "bytes", json_number(s->bytes), "ns", json_dist(&s->ns),
			 "timed_bytes", json_number(s->timed_bytes), "held", !!(s->flags & COPY_HELD),
			 "blame_ns", json_number(s->blame_ns));
}

static json_t *sampled(const struct report *r)
{
	const struct copies *c = &r->profile->copies;
	struct share all = report_copy_share(r, c->copy_ticks);
	json_t *list = json_array();

	for (size_t i = 0; i < c->nr_sampled; i++) {
		const struct copy_ticks *t = &c->sampled[i];
		struct copy_name name = report_copy_name(r, t->function, COPY_HELD);

		json_array_append_new(list, json_pack("{s:s, s:o, s:f}", "site", name.text,
						      "ticks", json_number(t->count),
						      "share", report_copy_share(r, t->count).value));
	}
	return json_pack("{s:o, s:o, s:f, s:f, s:f, s:o}", "ticks", json_number(c->ticks),
			 "copy_ticks", json_number(c->copy_ticks), "share", all.value,
			 "low", all.low, "high", all.high, "by", list);
}

json_t *report_copy_json(const struct report *r)
{
	const struct copies *c = &r->profile->copies;
	const struct copy_site **sites = copies_sorted(c);
	json_t *list = json_array();

	for (size_t i = 0; sites && i < c->nr_sites; i++)
		json_array_append_new(list, site(r, sites[i]));
	free(sites);
	return json_pack("{s:o, s:o, s:o, s:o, s:o*}", "held", sum(c, true), "released", sum(c, false),
			 "tallied", json_number(c->tallied), "by", list, "sampled", c->ticks ? sampled(r) : NULL);
}
