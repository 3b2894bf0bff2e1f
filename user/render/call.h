/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a blocking region did, in words. */
#ifndef GVL_RENDER_CALL_H
#define GVL_RENDER_CALL_H

#include <stdint.h>

struct call_name {
	char text[32];
};

/*
 * System call @call as architecture @arch ("x86_64") numbers it; "cpu" for BLOCK_NO_CALL, and its
 * number where it has no name that is known here.
 */
struct call_name call_name(uint32_t call, const char *arch);

const char *file_kind_name(uint8_t kind);	/* enum file_kind; never NULL */

#endif
