# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Threads that mostly sleep and now and then meet.
require_relative "workload"

6.times { |i| thread("sleeper-#{i}") { loop { sleep 0.001 * (i + 1); spin(0.0002) } } }
run
