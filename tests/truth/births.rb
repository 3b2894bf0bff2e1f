# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Threads that are born, do a little and die, beside one that computes.
require_relative "workload"

thread("parent") { loop { Array.new(4) { |i| thread("child-#{i}") { spin(0.0002); sleep 0.0005 } }.each(&:join) } }
thread("worker") { loop { spin(0.002); sleep 0.003 } }
run
