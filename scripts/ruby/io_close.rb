# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# io_close.rb
#
# What benchmark/io_close.yml of Ruby measures: nobody waits anywhere. An iteration closes both ends of 100
# pipes, a run is 100 of them; the rate is iterations per second. Pipes are made before each iteration and not
# timed.
require_relative "measure"

PIPES = 100
ITERATIONS = 100

def iteration_ns
  pipes = Array.new(PIPES) { IO.pipe }
  start = Measure.now_ns
  pipes.each do |r, w|
    r.close
    w.close
  end
  Measure.now_ns - start
end

Measure.allow_files
runs = Measure.runs(11) { ITERATIONS * 1e9 / Array.new(ITERATIONS) { iteration_ns }.sum }
Measure.report({ "program" => "io_close" }, "rate", runs)
