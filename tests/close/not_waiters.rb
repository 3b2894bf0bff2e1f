# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# not_waiters.rb [SINGLE]: pipes are closed while threads sleep, join, and wait for a Mutex, a Queue, a
# ConditionVariable, a child and IO.select: none of them is on the list. SINGLE threads (none) wait
# until a single IO is ready, and so are on it.
require_relative "common"
require "io/wait"

PER_KIND = 20
CLOSES = 100
single = Integer(ARGV.fetch(0, "0"))

held = Mutex.new
held.lock
mutex = Mutex.new
ready_never = ConditionVariable.new
queue = Queue.new
quiet, writer = IO.pipe
child = fork do
  writer.close
  quiet.read(1) # until this process is gone
  exit!(0)
end

sleeper = Thread.new { sleep }
kinds = {
  sleep: -> { sleep },
  mutex: -> { held.lock },
  condition: -> { mutex.synchronize { ready_never.wait(mutex) } },
  queue: -> { queue.pop },
  select: -> { IO.select([quiet]) },
  join: -> { sleeper.join },
}
threads = kinds.values.flat_map { |work| Array.new(PER_KIND) { Thread.new(&work) } }
threads << sleeper << Thread.new { Process.wait(child) }
threads += Array.new(single) { |i| Thread.new { i.even? ? quiet.wait_readable : quiet.wait_readable(1000) } }
pipes = Array.new(CLOSES / 2) { IO.pipe }
settle(threads)

t0 = ready
pipes.flatten.each(&:close)
t1 = now_ns

threads.each { |t| abort "not_waiters.rb: a thread has ended" unless t.alive? }
Process.kill(:KILL, child)
truth(t0, t1, closes: CLOSES, visited: VM_WIDE ? CLOSES * single : 0, visited_max: VM_WIDE ? single : 0,
              matched: 0, closes_that_match: 0, threads: threads.size)
