# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# close_table.rb [READERS...]      10, 100 and 1000 if none are given
#
# The table of Ruby's bug 18455: what closing an IO takes while so many threads are blocked, each reading a
# pipe of its own. One thread closes the IO of one reader after the other, so that the second close finds a
# reader less. What counts is the mean close of a run: looking for the reader, interrupting it, and waiting
# until it has left.
#
# The writing ends are left to the garbage collector, which looks for nobody: a trace of this program has no
# closes among the readers but those that are timed.
require_relative "measure"

def mean_close(readers)
  pipes = Measure.blocked(readers)
  start = Measure.now_ns
  pipes.each { |r, _, _| r.close }
  took = Measure.now_ns - start
  pipes.each { |_, _, thread| thread.join }
  took.fdiv(readers)
end

Measure.allow_files
(ARGV.empty? ? %w[10 100 1000] : ARGV).map { |arg| Integer(arg) }.each do |readers|
  runs = Measure.runs(readers < 1000 ? 25 : 7) do
    GC.start
    mean_close(readers)
  end
  Measure.report({ "program" => "close", "readers" => readers }, "close_ns", runs)
end
