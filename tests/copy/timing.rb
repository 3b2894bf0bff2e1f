# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Copies of 1 to 32 MiB between buffers whose memory is there already, each timed by Ruby's own clock. What
# the call, the clock and the tracing add is measured by small copies, and taken off; so is, where the lock
# is given up for a copy, what that adds to a call that does nothing else.
require "json"

Warning[:experimental] = false

MIB = 1 << 20
SIZES = { 1 => 40, 4 => 20, 32 => 5 }.freeze

def now_ns
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

source = IO::Buffer.new(32 * MIB)
target = IO::Buffer.new(32 * MIB)
source.clear(1)
target.clear(2)
string = "s" * (32 * MIB)

METHODS = {
  "copy" => ->(n) { target.copy(source, 0, n) },
  "set_string" => ->(n) { target.set_string(string, 0, n) },
  "clear" => ->(n) { target.clear(3, 0, n) },
}.freeze

def time(work, bytes)
  a = now_ns
  work.call(bytes)
  now_ns - a
end

def median(work)
  Array.new(101) { time(work, 16_384) }.sort[50]
end

# Of 16 KiB: record tells each with its time.
small = METHODS.transform_values { |work| median(work) }
if RUBY_VERSION >= "3.4"
  file = File.open(__FILE__)
  released = median(->(_) { file.flock(File::LOCK_UN) }) - median(->(_) {})
  %w[copy set_string].each { |name| small[name] += released }
end
took = METHODS.transform_values { 0 }
count = SIZES.values.sum
GC.start
GC.disable

t0 = now_ns
SIZES.each do |mib, times|
  times.times do
    METHODS.each { |name, work| took[name] += time(work, mib * MIB) - small[name] }
  end
end
t1 = now_ns

bytes = SIZES.sum { |mib, times| mib * MIB * times }
$stdout.puts JSON.generate({ script: "timing", ruby: RUBY_VERSION, pid: $$, t0_ns: t0, t1_ns: t1, count: count,
                             bytes: bytes, small_ns: small, ns: took.transform_keys { |k| "IO::Buffer##{k}" } })
$stdout.flush
exit!(0)
