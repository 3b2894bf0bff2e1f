// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "render/call.h"

#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>

#include "event/block.h"
#include "util/scope.h"

struct call_name call_name(uint32_t call, const char *arch)
{
	uint32_t token = seccomp_arch_resolve_name(arch);	/* 0 where it is unknown */
	struct call_name out = { "cpu" };
	auto_free char *name = NULL;

	if (call == BLOCK_NO_CALL)
		return out;
	name = token ? seccomp_syscall_resolve_num_arch(token, call) : NULL;
	if (name)
		snprintf(out.text, sizeof(out.text), "%s", name);
	else
		snprintf(out.text, sizeof(out.text), "call %u", call);
	return out;
}

const char *file_kind_name(uint8_t kind)
{
	static const char *const names[FILE_KIND_END] = {
		"none", "pipe", "socket", "file", "tty", "eventfd",
	};

	return kind < FILE_KIND_END ? names[kind] : "none";
}
