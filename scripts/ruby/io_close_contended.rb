# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# io_close_contended.rb
#
# What benchmark/io_close_contended.yml of Ruby measures: 1,000 pipes, each with a thread that is blocked
# reading it. An iteration closes both ends of 10 of them, a run is 10 iterations; the rate is iterations per
# second. After each run there are as many readers again.
require_relative "measure"

READERS = 1000
PIPES = 10
ITERATIONS = 10

def close_both(pipes)
  start = Measure.now_ns
  pipes.each do |r, w|
    r.close
    w.close
  end
  took = Measure.now_ns - start
  pipes.each { |_, _, thread| thread.join }
  took
end

Measure.allow_files
pipes = Measure.blocked(READERS)
runs = Measure.runs(11) do
  took = Array.new(ITERATIONS) { close_both(pipes.pop(PIPES)) }.sum
  pipes.unshift(*Measure.blocked(READERS - pipes.size))
  ITERATIONS * 1e9 / took
end
Measure.report({ "program" => "io_close_contended" }, "rate", runs)
