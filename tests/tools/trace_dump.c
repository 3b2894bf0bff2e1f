// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * trace_dump FILE
 *
 * Prints a trace for tests, fields apart by tabs: first "facts" and the JSON text, then a line for
 * each event
 *
 *	KIND ts_ns flags target lock thread tid seq text dur_ns fd count nr
 *
 * (text in hex, the last four 0 where the kind has none), last "totals" and the JSON text, or only "cut".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "trace/trace.h"
#include "util/scope.h"

static const char *const names[EVENT_KIND_END] = {
	[EVENT_OWNER] = "OWNER",
	[EVENT_QUEUE] = "QUEUE",
	[EVENT_ON_CPU] = "ON_CPU",
	[EVENT_OFF_CPU] = "OFF_CPU",
	[EVENT_EXIT] = "EXIT",
	[EVENT_NAME] = "NAME",
	[EVENT_LOCK] = "LOCK",
	[EVENT_STATE] = "STATE",
	[EVENT_STATE_QUEUED] = "STATE_QUEUED",
	[EVENT_STATE_END] = "STATE_END",
	[EVENT_FORK] = "FORK",
	[EVENT_EXEC] = "EXEC",
	[EVENT_GONE] = "GONE",
	[EVENT_CALL] = "CALL",
	[EVENT_LISTED] = "LISTED",
	[EVENT_MATCHED] = "MATCHED",
	[EVENT_SCAN] = "SCAN",
	[EVENT_CLOSE] = "CLOSE",
	[EVENT_CLOSER] = "CLOSER",
	[EVENT_FOREIGN] = "FOREIGN",
	[EVENT_SYMBOL] = "SYMBOL",
	[EVENT_FUNCTION] = "FUNCTION",
	[EVENT_COPY] = "COPY",
	[EVENT_TALLY] = "TALLY",
};

static void print_json(const char *name, const char *json)
{
	printf("%s\t", name);
	for (; *json; json++)
		putchar(*json == '\n' || *json == '\t' ? ' ' : *json);
	putchar('\n');
}

static void print_event(const struct event *ev)
{
	printf("%s\t%" PRIu64 "\t%u\t%u\t%u\t%" PRIu64 "\t%u\t%u\t", names[ev->kind], ev->ts_ns,
	       ev->flags, ev->target, ev->lock, ev->thread, ev->tid, ev->seq);
	for (int i = 0; i < ev->text_len; i++)
		printf("%02x", (uint8_t)ev->text[i]);
	printf("\t%" PRIu64 "\t%d\t%u\t%u\n", ev->dur_ns, ev->fd, ev->count, ev->nr);
}

int main(int argc, char **argv)
{
	struct trace_reader *r = NULL;
	auto_close int fd = -1;
	struct event ev;
	struct err e;
	int got;

	fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: trace_dump FILE\n");
		return 2;
	}
	if (trace_reader_open(&r, fd, argv[1], &e)) {
		fprintf(stderr, "trace_dump: %s\n", e.msg);
		return 5;
	}
	print_json("facts", trace_facts(r));
	while ((got = trace_read(r, &ev, &e)) == 1)
		print_event(&ev);
	if (got) {
		fprintf(stderr, "trace_dump: %s\n", e.msg);
		return 5;
	}
	if (trace_complete(r))
		print_json("totals", trace_totals(r));
	else
		puts("cut");
	trace_reader_free(r);
	return fflush(stdout) ? 1 : 0;
}
