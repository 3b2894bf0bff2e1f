# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# copy_table.rb [MIB...]      1, 5, 10 and 20 if none are given
#
# The table of Ruby's feature 20902: so many threads, each of which copies one IO::Buffer of its own into
# another, at the same time. A run lasts from the first thread's beginning to the last one's end. The memory
# is there before: page faults are not measured. The environment's THREADS says how many threads, by commas.
# Each run begins with an idle process: where the kernel puts new threads depends on what it just ran.
require_relative "measure"

Warning[:experimental] = false

MIB = 1 << 20
PAGE = 4096
PAUSE_S = 0.002

# Page by page, as a trace has clear() among its copies.
def touched(bytes)
  buffer = IO::Buffer.new(bytes)
  0.step(bytes - 1, PAGE) { |offset| buffer.set_value(:U8, offset, 1) }
  buffer
end

def span_ns(pairs)
  sleep PAUSE_S
  gate = Queue.new
  threads = pairs.map do |target, source|
    Thread.new do
      gate.pop
      start = Measure.now_ns
      target.copy(source)
      [start, Measure.now_ns]
    end
  end
  sleep 0.001 until threads.all?(&:stop?)
  threads.size.times { gate << true }
  starts, ends = threads.map(&:value).transpose
  ends.max - starts.min
end

numbers = ENV.fetch("THREADS", "1,2,4,8,16,32").split(",").map { |arg| Integer(arg) }
(ARGV.empty? ? %w[1 5 10 20] : ARGV).map { |arg| Integer(arg) * MIB }.each do |bytes|
  pairs = Array.new(numbers.max) { [touched(bytes), touched(bytes)] }
  numbers.each do |threads|
    runs = Measure.runs(11) { span_ns(pairs.first(threads)) }
    Measure.report({ "program" => "copy", "threads" => threads, "bytes" => bytes }, "total_ns", runs)
  end
  pairs.flatten.each(&:free)
end
