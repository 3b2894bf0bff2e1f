# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scheduler.rb KIND: IO::Buffer#copy and #set_string in fibers of a scheduler whose blocking_operation_wait
#
#   none      is not there: rb_nogvl() goes on as without a scheduler
#   thread    has the work done in a thread
#   blocking  does it in place, in a fiber that blocks (in one that does not, the work calls the hook again)
#   ignore    does not do it: nothing is copied up to 3.4; 4.0 goes on as without a scheduler
#
# From 3.4 on, thread.c, rb_nogvl(): the work that the hook is given is rb_nogvl() itself, so that whoever
# calls it releases the lock; in whose frames there is no method of IO::Buffer (in 4.0's there is
# Fiber::Scheduler::BlockingOperation#call). Up to 3.3 nobody asks the hook, and the lock is kept.
require "json"

Warning[:experimental] = false

MIB = 1 << 20
RELEASES = RUBY_VERSION >= "3.4"
SMALL = [100, 65_536, MIB - 1].freeze
LARGE = [MIB, MIB + 1, 4 * MIB].freeze
ROUNDS = 3

# Resumes fibers that other threads wake.
class Scheduler
  attr_reader :taken

  def initialize
    @ready = Queue.new
    @blocked = 0
    @taken = 0
    @fibers = [] # Ruby keeps none that waits
  end

  def run
    @ready.pop.resume while @blocked.positive?
  end

  def close
    run
  end

  def block(_blocker, _timeout = nil)
    @blocked += 1
    Fiber.yield
    @blocked -= 1
    true
  end

  def unblock(_blocker, fiber)
    @ready << fiber
  end

  def kernel_sleep(*)
    raise NotImplementedError
  end

  def io_wait(*)
    raise NotImplementedError
  end

  def fiber_interrupt(*)
    raise NotImplementedError
  end

  def fiber(&block)
    @fibers << Fiber.new(blocking: false, &block)
    @fibers.last.tap(&:resume)
  end
end

class ThreadScheduler < Scheduler
  def blocking_operation_wait(work)
    @taken += 1
    Thread.new { work.call }.join
  end
end

class BlockingScheduler < Scheduler
  def blocking_operation_wait(work)
    @taken += 1
    Fiber.new(blocking: true) { work.call }.resume
  end
end

class IgnoringScheduler < Scheduler
  def blocking_operation_wait(_work)
    @taken += 1
  end
end

kinds = { "none" => Scheduler, "thread" => ThreadScheduler, "blocking" => BlockingScheduler,
          "ignore" => IgnoringScheduler }
kind = ARGV.fetch(0)
made = {}
source = IO::Buffer.new(4 * MIB)
target = IO::Buffer.new(4 * MIB)
source.clear(1)
target.clear(2)
string = "s" * (4 * MIB)
count = lambda do |method, bytes, scheduled|
  how = RELEASES && bytes >= MIB ? :released : :held
  next if how == :released && kind == "ignore" && RUBY_VERSION < "4.0"

  is_taken = how == :released && scheduled && %w[thread blocking].include?(kind)
  site = is_taken ? "IO::Buffer" : "IO::Buffer##{method}"
  sum = (made[site] ||= { move: { held: [0, 0], released: [0, 0] } })[:move][how]
  sum[0] += 1
  sum[1] += bytes
end
copy = lambda do |scheduled|
  (SMALL + LARGE).each do |n|
    next if !scheduled && kind == "ignore"

    target.copy(source, 0, n)
    count.call("copy", n, scheduled)
    target.set_string(string, 0, n)
    count.call("set_string", n, scheduled)
  end
end

scheduler = kinds.fetch(kind).new
thread = Thread.new do
  Fiber.set_scheduler(scheduler)
  ROUNDS.times { Fiber.schedule { copy.call(true) } }
end
thread.join
copy.call(false)

taken = RELEASES && kind != "none" ? ROUNDS * 2 * LARGE.size : 0
abort "scheduler.rb: #{scheduler.taken} calls of the hook, not #{taken}" if scheduler.taken != taken
made["IO::Buffer#clear"] = { set: { held: [2, 8 * MIB], released: [0, 0] } }
$stdout.puts JSON.generate({ script: "scheduler", ruby: RUBY_VERSION, pid: $$, kind: kind, taken: taken, made: made })
$stdout.flush
exit!(0)
