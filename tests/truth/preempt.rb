# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Threads that never give the lock up: only the timer takes it from them.
require_relative "workload"

3.times { |i| thread("counter-#{i}") { x = 0; x += 1 while true } }
run
