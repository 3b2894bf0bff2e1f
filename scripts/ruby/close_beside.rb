# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# close_beside.rb [READERS...]      10, 100 and 1000 if none are given
#
# What closing an IO that nobody waits on takes while so many threads are blocked in others: looking for
# waiters that are not there, and close(2). A run closes the reading ends of 100 pipes; what counts is its
# mean. The writing ends are left to the garbage collector, as in close_table.rb.
require_relative "measure"

PIPES = 100

def mean_close
  pipes = Array.new(PIPES) { IO.pipe }
  start = Measure.now_ns
  pipes.each { |r, _| r.close }
  (Measure.now_ns - start).fdiv(PIPES)
end

Measure.allow_files
(ARGV.empty? ? %w[10 100 1000] : ARGV).map { |arg| Integer(arg) }.each do |readers|
  pipes = Measure.blocked(readers)
  runs = Measure.runs(25) do
    GC.start
    mean_close
  end
  Measure.report({ "program" => "close_beside", "readers" => readers }, "close_ns", runs)
  pipes.each { |_, w, _| w.syswrite("x") }
  pipes.each { |_, _, thread| thread.join }
end
