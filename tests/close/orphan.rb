# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# orphan.rb KIND [TIMES]: closes that wait for an interrupted reader and are left by an exception, each
# followed by a close of the same thread that is not.
#
#   raise     Thread#raise by another thread
#   kill      Thread#kill
#   timeout   Timeout.timeout
#
# The exception comes while the closing thread waits: it gave the lock to the thread that raises,
# which was first in the queue; the reader has to queue behind it. Ruby does not clean up after such a
# close: the reader still takes its node off a list whose head was on the stack that was left, and from
# 3.3 the Mutex of the wait stays locked. So each closing thread closes deep down its stack and never
# gives up the lock down there again.
require_relative "common"
require "timeout"

DEPTH = 300
FOLLOWED_NS = 50_000_000

Stop = Class.new(StandardError)

# Yields so many calls of C further down.
def deep(levels, &block)
  return yield if levels.zero?

  instance_exec { deep(levels - 1, &block) }
end

# Uses the CPU for so long, without giving the lock up.
def spin(seconds)
  start = now_ns
  nil while now_ns - start < seconds * 1e9
end

# Closes @io and is interrupted by another thread, which by then is in the queue for the lock.
def close_at_once(io, log)
  deep(DEPTH) do
    log << :closing
    spin(0.03)
    io.close
  end
end

# Closes @io when it is about time: that of the timeout is up before, so its thread is first in the queue.
def close_too_late(io, log)
  Timeout.timeout(0.05) do
    # In 3.1 that thread has just been born.
    wait_until("others sleep") { (Thread.list - [Thread.current]).all?(&:stop?) }
    deep(DEPTH) do
      spin(0.08)
      log << :closing
      io.close
    end
  end
rescue Timeout::Error
  retry unless log.include?(:closing)
  raise
end

# A thread that closes @io and, when it was made to leave that, after a while @other.
def closer(kind, io, other, log, done)
  Thread.new do
    Thread.stop
    left = true
    begin
      kind == "timeout" ? close_too_late(io, log) : close_at_once(io, log)
      left = false
    rescue Stop, Timeout::Error
      nil
    ensure
      log << (left ? :left : :returned)
      begin
        sleep 0.1
        other.close
      ensure
        done << true
        sleep
      end
    end
  end
end

kind = ARGV.fetch(0)
times = Integer(ARGV.fetch(1, "3"))
pipes = Array.new(times) { IO.pipe }
others = Array.new(times) { IO.pipe }
readers = pipes.map do |r, _|
  Thread.new do
    r.read(1)
  rescue IOError
    sleep
  end
end
logs = Array.new(times) { [] }
done = Queue.new
closers = Array.new(times) { |i| closer(kind, pipes[i][0], others[i][0], logs[i], done) }
begin
  Timeout.timeout(0.01) { sleep } # from 3.3 this starts the one thread that does them all
rescue Timeout::Error
  nil
end
settle(readers + closers)
GC.start
GC.disable

t0 = ready
closers.each_with_index do |thread, i|
  thread.wakeup
  if kind != "timeout"
    # Runs when the closing thread gives the lock up, and that is in the close.
    Thread.pass until logs[i].include?(:closing)
    kind == "kill" ? thread.kill : thread.raise(Stop)
  end
  done.pop
end
t1 = now_ns

# On a busy machine the reader may be faster than the exception.
left = logs.count(%i[closing left])
abort "orphan.rb: no close was left: #{logs}" if left.zero?
truth(t0, t1, closes: 2 * times, orphans: left, visited: VM_WIDE ? times * times : times, matched: times,
              closes_that_match: times, followed_by_at_most_ns: FOLLOWED_NS)
