# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two threads pass a byte back and forth: each release has somebody waiting in the kernel, not in line.
require_relative "workload"

here, there = IO.pipe, IO.pipe
thread("ping") { loop { here[1].syswrite("x"); spin(0.00003); there[0].sysread(1) } }
thread("pong") { loop { here[0].sysread(1); spin(0.00003); there[1].syswrite("x") } }
run
