# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timing.rb N: 200 ends of pipes are closed while N threads read from others, and each close is timed
# by Ruby's own clock.
require_relative "common"

CLOSES = 200

def median(numbers)
  numbers.sort[numbers.size / 2]
end

n = Integer(ARGV.fetch(0))
per_pipe = n > 1000 ? 10 : 1
need_files(2 * (n / per_pipe + CLOSES) + 100)
busy = Array.new((n + per_pipe - 1) / per_pipe) { IO.pipe }
readers = Array.new(n) { |i| Thread.new { busy[i / per_pipe][0].read(1) } }
pipes = Array.new(CLOSES / 2) { IO.pipe }
settle(readers)
took = Array.new(CLOSES, 0)
clock = Array.new(1000) { a = now_ns; now_ns - a }
GC.start
GC.disable

t0 = ready
pipes.flatten.each_with_index do |io, i|
  a = now_ns
  io.close
  took[i] = now_ns - a
end
t1 = now_ns

# clock_ns: what the two clocks add to each. The reading ends keep the lock over close(2).
truth(t0, t1, closes: CLOSES, visited: VM_WIDE ? CLOSES * n : 0, visited_max: VM_WIDE ? n : 0, matched: 0,
              closes_that_match: 0, readers: n, close_ns: took.sum, close_ns_median: median(took),
              close_ns_max: took.max, clock_ns: median(clock))
