# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Thread.pass among threads that all want to run: every pass is a hand-off through the queue.
require_relative "workload"

4.times { |i| thread("passer-#{i}") { loop { spin(0.0002); Thread.pass } } }
run
