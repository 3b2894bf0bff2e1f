// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>

#include "cmd/gate.h"
#include "cmd/input.h"
#include "gate/baseline.h"
#include "util/scope.h"

static void scope_json(json_t **j)
{
	json_decref(*j);
}

int gate_read_trace(struct runs *r, const char *name, const char *path, struct err *e)
{
	static const struct lock_window everything = { 0, UINT64_MAX };
	auto_release(input_release) struct input in = { 0 };
	auto_release(scope_json) json_t *report = NULL;
	int err = input_read(&in, path, &everything, REPORT_BY_THREAD, e);

	if (err)
		return err;
	report = report_document(&in.report);
	return report ? runs_add(r, name, report, e) : err_nomem(e);
}

/* A trace begins with other bytes than a JSON text. */
static bool is_json(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char head[64];
	ssize_t nr = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0), at = 0;

	while (at < nr && isspace((unsigned char)head[at]))
		at++;
	return at < nr && head[at] == '{';
}

static bool is_report(const json_t *j)
{
	const char *schema = json_string_value(json_object_get(j, "schema"));

	return schema && strncmp(schema, "gvlscope.report/", strlen("gvlscope.report/")) == 0;
}

int gate_read(struct runs *r, const char *path, struct err *e)
{
	auto_release(scope_json) json_t *j = NULL;

	if (!is_json(path))
		return gate_read_trace(r, path, path, e);
	j = json_load_file(path, 0, NULL);
	return is_report(j) ? runs_add(r, path, j, e) : baseline_read(r, path, e);
}
