// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "cmd/cmd.h"
#include "cmd/target_json.h"
#include "probe/facts.h"
#include "probe/plan.h"
#include "probe/selftest.h"
#include "probe/tracee.h"
#include "util/parse.h"
#include "util/scope.h"

static const char usage[] =
	"usage: gvlscope doctor [-p PID] [--selftest] [-f text|json]\n"
	"\n"
	"Says what can be measured on this machine, and of process PID, how, and why not otherwise.\n"
	"\n"
	"  -p, --pid PID      look at this process too (nothing is placed in it)\n"
	"      --selftest     trace a process of the tool's own, with known answers\n"
	"  -f, --format FMT   text (default) or json\n"
	"      --layout-from VER  try the layout of Ruby VER for an unknown version\n"
	"  -h, --help\n";

struct options {
	pid_t pid;		/* 0: none */
	bool selftest, json;
	struct ruby_options ruby;
};

/* All that doctor finds out; both formats print just this. */
struct findings {
	struct facts facts;
	struct utsname host;
	bool has_process;
	struct err process_error;	/* where it is not a Ruby that can be traced */
	bool process_ok;
	struct tracee te;
	struct ruby_lock locks[64];
	int nr_locks;
	struct plan plans[PART_COUNT];
	bool selftested;
	struct selftest selftest;
};

static int parse(struct options *o, int argc, char **argv, struct err *e)
{
	enum { OPT_SELFTEST = 256, OPT_LAYOUT };
	static const struct option table[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "selftest", no_argument, NULL, OPT_SELFTEST },
		{ "format", required_argument, NULL, 'f' },
		{ "layout-from", required_argument, NULL, OPT_LAYOUT },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	uint64_t pid;
	int opt;

	*o = (struct options){ 0 };
	opterr = 0;
	optind = 1;
	while ((opt = getopt_long(argc, argv, "p:f:h", table, NULL)) != -1) {
		switch (opt) {
		case 'p':
			if (parse_u64(optarg, &pid) || !pid || pid > INT32_MAX)
				return err_set(e, REASON_USAGE, -EINVAL,
					       "-p %s: not a process id", optarg);
			o->pid = pid;
			break;
		case OPT_SELFTEST:
			o->selftest = true;
			break;
		case 'f':
			o->json = strcmp(optarg, "json") == 0;
			if (!o->json && strcmp(optarg, "text") != 0)
				return err_set(e, REASON_USAGE, -EINVAL,
					       "-f %s: not one of text, json", optarg);
			break;
		case OPT_LAYOUT:
			o->ruby.layout_from = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_DONE);
		default:
			return err_set(e, REASON_USAGE, -EINVAL,
				       "doctor: unknown option or missing value");
		}
	}
	if (optind < argc)
		return err_set(e, REASON_USAGE, -EINVAL, "doctor: %s: unexpected argument",
			       argv[optind]);
	return 0;
}

static void plan(struct findings *f)
{
	const struct tracee *te = f->process_ok ? &f->te : NULL;
	const struct copying *copying = te ? &te->extras.copying : NULL;
	const struct copying only_ticks = {
		.has_lib = !copying || copying->has_lib, .why_buffer = f->facts.facts[FACT_UPROBE].why,
	};
	struct plan *gvl = &f->plans[PART_GVL];

	*gvl = plan_gvl(&f->facts, !f->has_process || (te && te->nr_sites));
	if (f->has_process && !te)
		*gvl = (struct plan){ .why = f->process_error };
	f->plans[PART_CLOSE] = plan_close(&f->facts, gvl, te ? &te->extras.closing : NULL);
	f->plans[PART_BLOCK] = plan_block(gvl, te ? &te->ruby.layout : NULL);
	f->plans[PART_COPY] = plan_copy(gvl, f->facts.facts[FACT_UPROBE].ok ? copying : &only_ticks);
}

static void find(struct findings *f, const struct options *o)
{
	facts_find(&f->facts);
	uname(&f->host);
	f->has_process = o->pid;
	if (o->pid) {
		f->process_ok = tracee_open(&f->te, NULL, 0, o->pid, METHOD_SITES, &o->ruby, NULL,
					    &f->process_error) == 0;
		if (f->process_ok)
			extras_init(&f->te.extras, &f->te.ruby, MEASURE_ALL, COPYING_MIN_BYTES);
		if (f->process_ok)
			f->nr_locks = ruby_locks(&f->te.ruby, f->locks, ARRAY_LEN(f->locks), NULL);
	}
	plan(f);
	if (o->selftest) {
		f->selftested = true;
		selftest_run(&f->selftest);
	}
}

static void print_why(const struct err *e)
{
	const char *remedy = reason_remedy(e->reason);

	printf("      %s [%s]\n", e->msg, reason_id(e->reason));
	if (*remedy)
		printf("      remedy: %s\n", remedy);
}

static void print_machine(const struct findings *f)
{
	const struct cost *c = &f->facts.cost;

	printf("Machine: Linux %s, %s\n", f->host.release, f->host.machine);
	for (enum fact i = 0; i < FACT_COUNT; i++) {
		printf("  %-4s%s\n", f->facts.facts[i].ok ? "ok" : "NO", fact_name(i));
		if (!f->facts.facts[i].ok)
			print_why(&f->facts.facts[i].why);
	}
	printf("  A hit costs the traced process: uprobe %.2f us on an emulated instruction, %.2f us on "
	       "another",
	       c->emulated_ns / 1e3, c->stepped_ns / 1e3);
	if (c->watch_ns > 0)
		printf("; watchpoint %.2f us", c->watch_ns / 1e3);
	printf("\n");
}

static void print_locks(const struct findings *f)
{
	const struct ruby *r = &f->te.ruby;
	auto_free uint64_t *queued = malloc(LOCK_QUEUE_MAX * sizeof(*queued));
	struct lock_reading now = { .queued = queued };

	for (int i = 0; queued && i < f->nr_locks; i++) {
		if (ruby_read_lock(r, f->locks[i].owner_word, &now))
			continue;
		printf("  lock of Ractor %u at %#lx: %s, %u queued\n", f->locks[i].ractor_id,
		       f->locks[i].owner_word, now.owner ? "owned now" : "free now", now.nr_queued);
	}
}

static void print_process(const struct findings *f)
{
	const struct ruby *r = &f->te.ruby;
	const struct proc *p = &r->proc;

	if (!f->has_process)
		return;
	printf("\nProcess %d (%s)\n", f->te.pid, p->comm);
	if (!f->process_ok) {
		printf("  NO  cannot be traced\n");
		print_why(&f->process_error);
		return;
	}
	printf("  %s\n", r->description);
	printf("  object   %s (%s), build-id %s\n", r->object.path,
	       r->object.has_symtab ? "with symbols" : "stripped",
	       r->object.build_id[0] ? r->object.build_id : "none");
	if (r->layout_path[0])
		printf("  layout   from the debug symbols in %s\n", r->layout_path);
	else
		printf("  layout   from the built-in table; it holds on the live process\n");
	printf("  VM       at %#lx\n", r->vm);
	print_locks(f);
	if (p->state == 'T' || p->state == 't')
		printf("  it is stopped now%s: nothing happens until it continues\n",
		       p->tracer ? " (a debugger holds it)" : "");
}

/* What a method does, in words. */
static const char *method_words(const char *method)
{
	static const struct {
		const char *method, *words;
	} all[] = {
		{ "sites", "by probing the instructions that write the lock's owner" },
		{ "watch", "by watching the lock's owner word" },
		{ "probe", "by probing the scan for waiters" },
		{ "symbol", "by probing the scan for waiters, found by its symbol" },
		{ "recovered", "by probing the scan for waiters, found in the code" },
		{ "calls", "by system calls between releasing the lock and wanting it again" },
		{ "buffer, large, samples",
		  "IO::Buffer's one by one, other large ones too (record --copies exact), all by "
		  "clock ticks" },
		{ "buffer, samples", "IO::Buffer's one by one, all others by clock ticks only" },
		{ "large, samples",
		  "large ones one by one (record --copies exact), all by clock ticks" },
		{ "samples", "by clock ticks only" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcmp(all[i].method, method) == 0)
			return all[i].words;
	return method;
}

static void print_plans(const struct findings *f)
{
	printf("\nMeasurements%s\n", f->has_process ? " of this process" : "");
	for (enum part i = 0; i < PART_COUNT; i++) {
		const struct plan *p = &f->plans[i];

		printf("  %-7s%s%s\n", part_name(i), p->method ? method_words(p->method) : "NO",
		       p->check ? ", checked by watchpoints now and then" : "");
		if (p->why.msg[0])
			print_why(&p->why);
		else if (i == PART_GVL && f->process_ok && f->te.nr_sites)
			printf("         %zu candidate instructions%s\n", f->te.nr_sites,
			       f->te.from_cache ? ", known from an earlier run" : "");
	}
}

static void print_selftest(const struct findings *f)
{
	const struct selftest *s = &f->selftest;

	if (!f->selftested)
		return;
	printf("\nSelftest: %s\n", s->passed ? "passed" : "FAILED");
	printf("  %lu owner changes made, %lu seen; %lu queue entries made, %lu seen; %lu lost\n",
	       s->changes_made, s->changes_seen, s->entries_made, s->entries_seen, s->lost);
	if (!s->passed)
		print_why(&s->why);
}

static json_t *why_json(const struct err *e)
{
	return json_pack("{s:s, s:s, s:s}", "id", reason_id(e->reason), "text", e->msg, "remedy",
			 reason_remedy(e->reason));
}

static json_t *machine_json(const struct findings *f)
{
	const struct cost *c = &f->facts.cost;
	json_t *facts = json_array();

	for (enum fact i = 0; i < FACT_COUNT; i++) {
		json_t *row = json_pack("{s:s, s:b}", "id", fact_id(i), "ok", f->facts.facts[i].ok);

		if (!f->facts.facts[i].ok)
			json_object_set_new(row, "reason", why_json(&f->facts.facts[i].why));
		json_array_append_new(facts, row);
	}
	return json_pack("{s:s, s:s, s:o, s:{s:f, s:f, s:f}}", "kernel", f->host.release, "arch",
			 f->host.machine, "facts", facts, "cost_ns", "uprobe", c->emulated_ns,
			 "uprobe_stepped", c->stepped_ns, "watchpoint", c->watch_ns);
}

static json_t *process_json(const struct findings *f)
{
	json_t *j, *locks = json_array();

	if (!f->process_ok) {
		json_decref(locks);
		return json_pack("{s:i, s:b, s:o}", "pid", f->te.pid, "ok", 0, "reason",
				 why_json(&f->process_error));
	}
	j = target_json(&f->te);
	for (int i = 0; i < f->nr_locks; i++)
		json_array_append_new(locks, json_pack("{s:i, s:I}", "ractor",
						       f->locks[i].ractor_id, "owner_word",
						       (json_int_t)f->locks[i].owner_word));
	json_object_set_new(j, "ok", json_true());
	json_object_set_new(j, "vm", json_integer(f->te.ruby.vm));
	json_object_set_new(j, "locks", locks);
	json_object_set_new(j, "candidates", json_integer(f->te.nr_sites));
	return j;
}

static json_t *plans_json(const struct findings *f)
{
	json_t *all = json_object();

	for (enum part i = 0; i < PART_COUNT; i++) {
		const struct plan *p = &f->plans[i];
		json_t *j = json_pack("{s:s?, s:s*}", "method", p->method, "check", p->check);

		if (p->why.msg[0])
			json_object_set_new(j, "reason", why_json(&p->why));
		json_object_set_new(all, part_name(i), j);
	}
	return all;
}

static int print_json(const struct findings *f)
{
	json_t *j = json_pack("{s:s, s:o, s:o}", "schema", "gvlscope.doctor/1", "machine",
			      machine_json(f), "measurements", plans_json(f));
	int err;

	if (f->has_process)
		json_object_set_new(j, "process", process_json(f));
	if (f->selftested) {
		const struct selftest *s = &f->selftest;
		json_t *t = json_pack("{s:b, s:I, s:I, s:I, s:I, s:I}", "passed", s->passed,
				      "changes_made", (json_int_t)s->changes_made, "changes_seen",
				      (json_int_t)s->changes_seen, "entries_made",
				      (json_int_t)s->entries_made, "entries_seen",
				      (json_int_t)s->entries_seen, "lost", (json_int_t)s->lost);

		if (!s->passed)
			json_object_set_new(t, "reason", why_json(&s->why));
		json_object_set_new(j, "selftest", t);
	}
	err = json_dumpf(j, stdout, JSON_INDENT(2));
	printf("\n");
	json_decref(j);
	return err;
}

/* 77 when the process, or without one the machine, cannot be measured; 1 for a failed selftest. */
static int status(const struct findings *f)
{
	if (f->has_process && !f->process_ok)
		return reason_status(f->process_error.reason);
	if (!f->plans[PART_GVL].method)
		return EXIT_CANNOT;
	return f->selftested && !f->selftest.passed ? EXIT_RUNTIME : EXIT_DONE;
}

int cmd_doctor(int argc, char **argv)
{
	auto_free struct findings *f = calloc(1, sizeof(*f));
	struct options o;
	struct err e;
	int ret;

	if (!f || parse(&o, argc, argv, &e))
		return cmd_fail(&e);
	find(f, &o);
	if (o.json) {
		print_json(f);
	} else {
		print_machine(f);
		print_process(f);
		print_plans(f);
		print_selftest(f);
	}
	ret = status(f);
	if (o.pid)
		tracee_free(&f->te);
	return ret;
}
