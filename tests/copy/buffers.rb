# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Known copies by every method of IO::Buffer that makes one, of sizes from 1 B to 64 MiB around the powers
# of two; those that raise make none. Prints {site: {op: {held: [count, bytes], released: [...], timed: [...]}}},
# the last one of those that record tells with their time.
#
# io_buffer.c: up to 3.3 all keep the lock; from 3.4 on what ends in io_buffer_memmove() releases it from
# IO_BUFFER_BLOCKING_SIZE (1 MiB) up. clear, get_string, <=> and resize keep it in every version.
require "json"

Warning[:experimental] = false

MIB = 1 << 20
LARGEST = 64 * MIB
COPY_MIN = 16_384 # of record --copy-min
RELEASES = RUBY_VERSION >= "3.4"
MOVES = %w[copy set_string initialize_copy].freeze
OP = { "clear" => "set", "resize" => "set", "get_string" => "string", "<=>" => "compare" }.tap { |h| h.default = "move" }

$made = {}
$raised = 0

# What is yielded to is one copy of so many bytes by @method.
def made(method, bytes)
  yield
  kind = RELEASES && MOVES.include?(method) && bytes >= MIB ? :released : :held
  sums = ($made["IO::Buffer##{method}"] ||= {})[OP[method]] ||= { held: [0, 0], released: [0, 0], timed: [0, 0] }
  [kind, *(:timed if bytes >= COPY_MIN)].each do |key|
    sums[key][0] += 1
    sums[key][1] += bytes
  end
end

# ... is none: it raises.
def refused(*errors)
  begin
    yield
  rescue *errors
    $raised += 1
    return
  end
  abort "#{$0}: line #{caller_locations(1, 1)[0].lineno} does not raise"
end

def around(exponents)
  exponents.flat_map { |n| [(1 << n) - 1, 1 << n, (1 << n) + 1] }.select { |n| n.between?(1, LARGEST) }.uniq
end

# The threshold, and what is far from it; each new buffer or string costs page faults.
NEW_SIZES = (around(0..17) + [MIB - 1, MIB, MIB + 1, 8 * MIB]).freeze
WARM_SIZES = around(0..26).freeze

source = IO::Buffer.new(LARGEST)
target = IO::Buffer.new(LARGEST + 4096)
made("clear", LARGEST) { source.clear(1) }
made("clear", LARGEST + 4096) { target.clear(2) }
string = ("s" * LARGEST).freeze

WARM_SIZES.each do |n|
  made("copy", n) { target.copy(source, 0, n) }
  made("set_string", n) { target.set_string(string, 0, n) }
  made("clear", n) { target.clear(n & 255, 0, n) }
  made("copy", n) { target.copy(source, 4095, n, LARGEST - n) }
  made("set_string", n) { target.set_string(string, 33, n, LARGEST - n) }
end
made("get_string", LARGEST) { source.get_string }

NEW_SIZES.each do |n|
  made("get_string", n) { source.get_string(0, n) }
  made("get_string", n) { source.get_string(n, n, Encoding::UTF_8) }
  made("<=>", n) { source.slice(0, n) <=> source.slice(n, n) }
  refused(ArgumentError) { source.slice(0, n).copy(target.slice(0, n + 1)) }
  refused(ArgumentError) { source.slice(0, n).get_string(1, n) }
end
# Of different sizes nothing is compared.
source.slice(0, MIB) <=> source.slice(0, MIB - 1)

# Slices write through; those of one buffer overlap.
[1, 100, 4096, 65_536, MIB - 1, MIB, MIB + 1, 8 * MIB].each do |n|
  one = target.slice(0, n + 64)
  two = target.slice(64, n)
  made("copy", n) { one.copy(two, 0) }
  made("copy", n) { two.copy(one, 0, n) }
  made("copy", n) { target.copy(target, 1, n, 0) }
  made("copy", n) { target.copy(target, 0, n, 0) }
  made("set_string", n) { two.set_string(string, 0, n) }
  made("clear", n) { two.clear }
  made("get_string", n) { two.get_string }
end

# A frozen string's buffer can only be read.
frozen = IO::Buffer.for(string)
abort "#{$0}: it is not read-only" unless frozen.readonly?
[1, 1000, 65_536, MIB - 1, MIB, MIB + 1].each do |n|
  made("copy", n) { target.copy(frozen, 0, n) }
  made("get_string", n) { frozen.get_string(0, n) }
  refused(IO::Buffer::AccessError) { frozen.copy(source, 0, n) }
  refused(IO::Buffer::AccessError) { frozen.set_string("x" * n) }
  refused(IO::Buffer::AccessError) { frozen.clear(0, 0, n) }
end

# Whether a locked buffer may be written to is Ruby's; where it may not, nothing is copied.
locked = IO::Buffer.new(2 * MIB)
made("clear", 2 * MIB) { locked.clear(3) }
locked.locked do
  [10, 65_536, MIB, 2 * MIB].each do |n|
    made("copy", n) { target.copy(locked, 0, n) }
    made("copy", n) { locked.copy(source, 0, n) }
    made("set_string", n) { locked.set_string(string, 0, n) }
    made("get_string", n) { locked.get_string(0, n) }
  rescue IO::Buffer::LockedError
    $raised += 1
  end
  refused(IO::Buffer::LockedError) { locked.resize(3 * MIB) }
end

# Ranges that there are not.
small = IO::Buffer.new(100)
refused(ArgumentError) { small.copy(source) }
refused(ArgumentError) { small.copy(source, 1, 100) }
refused(ArgumentError) { small.copy(small, 0, 100, 1) }
refused(ArgumentError) { small.copy(small, 0, nil, 101) }
refused(ArgumentError) { small.copy(source, 101, 1) }
refused(ArgumentError) { small.set_string("s" * 101) }
refused(ArgumentError) { small.set_string("s" * 10, 0, 11) }
refused(ArgumentError) { small.get_string(0, 101) }
refused(ArgumentError) { small.clear(0, 1, 100) }
refused(TypeError) { small.set_string(nil) }

if IO::Buffer.private_instance_methods(false).include?(:initialize_copy)
  (NEW_SIZES.select { |n| n >= 4000 } + [1, 100, 16 * MIB]).each do |n|
    part = source.slice(0, n)
    made("initialize_copy", n) { part.dup.free }
    made("initialize_copy", n) { part.clone.free }
  end
end

# A larger one has new bytes, which are cleared; the old ones are the C library's or the kernel's affair.
growing = IO::Buffer.new(100)
size = 100
[101, 1000, 900, 3 * MIB, 2 * MIB, 4 * MIB].each do |n|
  growing = IO::Buffer.new(size = 65_536) if n > MIB && size < 65_536
  if n > size
    made("resize", n - size) { growing.resize(n) }
  else
    growing.resize(n)
  end
  size = n
end
refused(IO::Buffer::AccessError) { frozen.resize(10) }

# Who copies does not matter.
Array.new(4) do |i|
  Thread.new do
    mine = IO::Buffer.new(MIB)
    25.times do
      made("copy", MIB) { mine.copy(source, 0, MIB, i) }
      made("copy", 1000 + i) { mine.copy(source, i, 1000 + i) }
    end
  end.join
end
Fiber.new { made("copy", 2 * MIB) { target.copy(source, 0, 2 * MIB) } }.resume

$stdout.puts JSON.generate({ script: "buffers", ruby: RUBY_VERSION, pid: $$, raised: $raised, made: $made })
$stdout.flush
exit!(0)
