/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A traced process as DESIGN's "target" object. */
#ifndef GVL_CMD_TARGET_JSON_H
#define GVL_CMD_TARGET_JSON_H

#include <jansson.h>

#include "probe/tracee.h"

json_t *target_json(const struct tracee *te);

/* A JSON string of text from outside, which may hold any bytes. */
json_t *text_json(const char *s);

#endif
