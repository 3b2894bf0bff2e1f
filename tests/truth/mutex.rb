# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Three threads share a Mutex, and compute inside it and outside.
require_relative "workload"

mutex = Mutex.new
3.times { |i| thread("mutex-#{i}") { loop { mutex.synchronize { spin(0.0003) }; spin(0.0002); sleep 0.003 } } }
run
