/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef GVL_UTIL_CAPS_H
#define GVL_UTIL_CAPS_H

#include <linux/capability.h>
#include <stdbool.h>

/* True if capability @cap (CAP_* of linux/capability.h) is in this process's effective set. */
bool caps_has(int cap);

#endif
