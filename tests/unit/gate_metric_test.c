// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the gate reads from a report. */
#include "tests/unit/closes.h"
#include "tests/unit/reports.h"

#include "gate/run.h"

#define MS 1000000ULL

enum { A = 0x7f0000001000, B = 0x7f0000002000 };

static const char facts[] =
	"{\"tool\": {\"version\": \"1.2\", \"options\": \"-qo x.gvs --only gvl,close -p 42 -d 5s\"},"
	" \"host\": {\"kernel\": \"6.1\", \"arch\": \"x86_64\", \"cpus\": 2},"
	" \"target\": [{\"pid\": 42, \"ruby\": \"3.3.8\"}, {\"pid\": 43, \"ruby\": \"3.3.8\"},"
	"              {\"pid\": 44, \"ruby\": \"3.4.1\"}],"
	" \"capture\": {\"methods\": {\"gvl\": \"sites\", \"close\": \"recovered\", \"block\": \"calls\","
	"                           \"copy\": \"buffer, samples\"}}}";

static const char totals[] =
	"{\"duration_ns\": 1000000000, \"stop\": \"duration\", \"lost\": {\"ring\": 0}}";

/* A second: A holds the lock for 700 ms, then B, who waited for 600 ms, for 200 ms. */
static json_t *sample_report(const char *with_totals)
{
	struct feed f;
	json_t *j;

	feed_init(&f, WHOLE);
	state(&f, 5000 * MS, A);
	queue(&f, 5100 * MS, B);
	owner(&f, 5700 * MS, B, EVENT_QUEUE_EMPTY);
	owner(&f, 5900 * MS, 0, EVENT_QUEUE_EMPTY);
	end(&f, 6000 * MS);
	j = json_of(&f, facts, with_totals);
	feed_release(&f);
	return j;
}

static json_t *at(json_t *j, const char *path)
{
	char copy[128], *save;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *s = strtok_r(copy, ".", &save); s; s = strtok_r(NULL, ".", &save))
		j = json_is_array(j) ? json_array_get(j, strtoul(s, NULL, 10)) : json_object_get(j, s);
	if (!j)
		fail_msg("%s: not in the report", path);
	return j;
}

static void set(json_t *j, const char *path, const char *key, json_t *value)
{
	assert_int_equal(json_object_set_new(at(j, path), key, value), 0);
}

static void is_value(const json_t *j, const char *name, enum value_state state, double want)
{
	const struct metric *m = metric_find(name);
	struct value v;

	if (!m)
		fail_msg("%s: no such metric", name);
	v = metric_read(m, j);
	if (v.state != state || v.number != want)
		fail_msg("%s: got %.17g (%d), want %.17g (%d)", name, v.number, v.state, want, state);
}

static void every_metric_is_found_by_its_name(void **s)
{
	(void)s;
	for (size_t i = 0; i < NR_METRICS; i++) {
		assert_non_null(metrics[i].name);
		assert_ptr_equal(metric_find(metrics[i].name), &metrics[i]);
	}
	assert_null(metric_find("gvl"));
	assert_null(metric_find(""));
}

static void every_metric_is_in_a_report(void **s)
{
	json_t *j = sample_report(totals);

	(void)s;
	set(j, "copy", "sampled", json_pack("{s:i, s:i}", "ticks", 10, "copy_ticks", 1));
	for (size_t i = 0; i < NR_METRICS; i++)
		if (metric_read(&metrics[i], j).state == VALUE_ABSENT)
			fail_msg("%s: absent", metrics[i].name);
	json_decref(j);
}

static void sums_means_and_shares_are_exact(void **s)
{
	json_t *j = sample_report(totals);

	(void)s;
	is_value(j, "gvl.hold_ns.count", VALUE_CERTAIN, 2);
	is_value(j, "gvl.hold_ns.sum", VALUE_CERTAIN, 900 * MS);
	is_value(j, "gvl.hold_ns.mean", VALUE_CERTAIN, 450 * MS);
	is_value(j, "gvl.hold_ns.share", VALUE_CERTAIN, 0.9);
	is_value(j, "gvl.hold_ns.max", VALUE_CERTAIN, 700 * MS);
	is_value(j, "gvl.wait_ns.mean", VALUE_CERTAIN, 600 * MS);
	is_value(j, "gvl.switches", VALUE_CERTAIN, 1);
	is_value(j, "close.count", VALUE_CERTAIN, 0);
	is_value(j, "close.visited.mean", VALUE_NONE, 0);
	is_value(j, "close.visited.p99", VALUE_NONE, 0);
	is_value(j, "gvl.handoff_ns.mean", VALUE_NONE, 0);
	set(j, "close.visited", "count", json_integer(3));
	set(j, "close.visited", "sum", json_integer(4));
	is_value(j, "close.visited.mean", VALUE_CERTAIN, 4.0 / 3);
	set(j, "close", "visited_exact", json_false());
	is_value(j, "close.visited.mean", VALUE_UNCERTAIN, 4.0 / 3);
	json_decref(j);
}

static void several_locks_are_added_up_and_the_worst_quantile_counts(void **s)
{
	json_t *j = sample_report(totals), *locks = at(j, "gvl.locks");
	json_t *second = json_deep_copy(json_array_get(locks, 0));

	(void)s;
	json_object_set_new(at(second, "hold_ns"), "sum", json_integer(100 * MS));
	json_object_set_new(at(second, "hold_ns"), "p99", json_integer(5));
	json_array_append_new(locks, second);
	is_value(j, "gvl.hold_ns.sum", VALUE_CERTAIN, 1000 * MS);
	is_value(j, "gvl.hold_ns.mean", VALUE_CERTAIN, 250 * MS);
	is_value(j, "gvl.hold_ns.share", VALUE_CERTAIN, 0.5);
	is_value(j, "gvl.hold_ns.p99", VALUE_CERTAIN, 700 * MS);
	json_decref(j);
}

static void what_is_not_as_expected_is_absent(void **s)
{
	json_t *j = sample_report(totals);

	(void)s;
	set(j, "block", "count", json_string("many"));
	set(j, "copy", "held", json_array());
	set(j, "close", "foreign", json_integer(-1));
	json_object_del(j, "gvl");
	is_value(j, "block.count", VALUE_ABSENT, 0);
	is_value(j, "block.short.per_region", VALUE_ABSENT, 0);
	is_value(j, "copy.held.bytes", VALUE_ABSENT, 0);
	is_value(j, "close.foreign", VALUE_ABSENT, 0);
	is_value(j, "gvl.hold_ns.mean", VALUE_ABSENT, 0);
	is_value(NULL, "gvl.hold_ns.mean", VALUE_ABSENT, 0);
	json_decref(j);
}

static void add(struct runs *r, const json_t *j)
{
	struct err e;

	if (runs_add(r, "a run", j, &e))
		fail_msg("%s", e.msg);
}

static void a_run_knows_where_it_was(void **s)
{
	static const char *const want[] = { "x86_64", "2", "6.1", "3.3.8, 3.4.1", "1.2", "--only gvl,close" };
	json_t *j = sample_report(totals);
	struct runs r = { 0 };

	(void)s;
	add(&r, j);
	for (int p = 0; p < FINGERPRINT_PARTS; p++)
		assert_string_equal(r.run[0].where.part[p], want[p]);
	set(j, "host", "cpu", json_string("Z80"));
	set(j, "tool", "options", json_string("-v -p1 --output=x --copy-min 4K --comm a -- ruby -x"));
	add(&r, j);
	assert_string_equal(r.run[1].where.part[FINGERPRINT_CPU], "Z80");
	assert_string_equal(r.run[1].where.part[FINGERPRINT_OPTIONS], "--copy-min 4K");
	assert_int_equal(fingerprint_diff(&r.run[0].where, &r.run[1].where),
			 1 << FINGERPRINT_CPU | 1 << FINGERPRINT_OPTIONS);
	assert_null(r.run[0].unusable);
	assert_int_equal(runs_usable(&r), 2);
	json_decref(j);
	runs_release(&r);
}

static void a_run_that_lost_something_is_unusable(void **s)
{
	json_t *j = sample_report(totals), *cut = sample_report(NULL);
	struct runs r = { 0 };

	(void)s;
	add(&r, cut);
	assert_non_null(r.run[0].unusable);
	set(j, "lost", "stale_events", json_integer(3));
	add(&r, j);
	if (r.run[1].unusable)
		fail_msg("%s", r.run[1].unusable);
	set(j, "lost", "ring", json_integer(5));
	set(j, "lost", "gaps", json_integer(1));
	add(&r, j);
	has(r.run[2].unusable, "ring 5");
	has(r.run[2].unusable, "gaps 1");
	json_object_del(j, "lost");
	add(&r, j);
	has(r.run[3].unusable, "not told");
	assert_int_equal(runs_usable(&r), 1);
	json_decref(j);
	json_decref(cut);
	runs_release(&r);
}

static void counts_of_a_part_of_the_capture_are_not_certain(void **s)
{
	json_t *j = sample_report(totals);
	struct runs r = { 0 };

	(void)s;
	set(j, "capture", "seen_share", json_real(0.5));
	add(&r, j);
	assert_int_equal(r.run[0].values[metric_find("close.count") - metrics].state, VALUE_UNCERTAIN);
	json_decref(j);
	runs_release(&r);
}

static void what_is_no_report_is_an_error(void **s)
{
	json_t *other = json_pack("{s:s}", "schema", "gvlscope.report/2"), *none = json_object();
	struct runs r = { 0 };
	struct err e;

	(void)s;
	assert_int_equal(runs_add(&r, "x.json", other, &e), -22);
	assert_string_equal(e.msg, "x.json: schema gvlscope.report/2, not gvlscope.report/1");
	assert_int_equal(e.reason, REASON_REPORT_FORMAT);
	assert_int_equal(runs_add(&r, "x.json", none, &e), -22);
	assert_string_equal(e.msg, "x.json: not a report of gvlscope");
	assert_int_equal(r.nr, 0);
	json_decref(other);
	json_decref(none);
	runs_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_metric_is_found_by_its_name),
		cmocka_unit_test(every_metric_is_in_a_report),
		cmocka_unit_test(sums_means_and_shares_are_exact),
		cmocka_unit_test(several_locks_are_added_up_and_the_worst_quantile_counts),
		cmocka_unit_test(what_is_not_as_expected_is_absent),
		cmocka_unit_test(a_run_knows_where_it_was),
		cmocka_unit_test(a_run_that_lost_something_is_unusable),
		cmocka_unit_test(counts_of_a_part_of_the_capture_are_not_certain),
		cmocka_unit_test(what_is_no_report_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
