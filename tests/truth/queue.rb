# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Producers and consumers over a SizedQueue: threads that wake each other.
require_relative "workload"

queue = SizedQueue.new(3)
2.times { |i| thread("producer-#{i}") { loop { spin(0.0001); queue << 1 } } }
2.times { |i| thread("consumer-#{i}") { loop { queue.pop; spin(0.0002) } } }
run
