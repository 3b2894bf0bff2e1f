// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "util/caps.h"

#include <sys/syscall.h>
#include <unistd.h>

bool caps_has(int cap)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &hdr, data))
		return false;
	return data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}
