# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# foreign.rb KIND: a reader is interrupted by a close
#
#   threads   of another IO object on its descriptor, in another thread
#   same      of the object it reads from
#   ractors   of another IO object on its descriptor, in another Ractor
#   mixed     threads and same, both readers on one descriptor
require_relative "common"

ROUNDS = 5

kind = ARGV.fetch(0)
$lines = {}

def read_from(io)
  $lines[:waiter] = __LINE__ + 1
  io.readpartial(1)
rescue IOError, SystemCallError
  :interrupted
end

def read_own(io)
  io.readpartial(1)
rescue IOError, SystemCallError
  :interrupted
end

# A Ractor has no tasks of its own to ask for: all but this thread are asleep, and one more than before.
def wait_asleep(count)
  wait_until("#{count} tasks sleep") do
    tids = Dir.children("/proc/#{$$}/task").map(&:to_i) - [$$]
    tids.size >= count && tids.all? { |tid| task_state($$, tid) == "S" }
  end
end

def tasks
  Dir.children("/proc/#{$$}/task").size - 1
end

pipes = Array.new(ROUNDS) { IO.pipe }
waiters = pipes.map do |r, _|
  case kind
  when "threads"
    twin = IO.for_fd(r.fileno, autoclose: false)
    [Thread.new { read_from(twin) }]
  when "same"
    [Thread.new { read_own(r) }]
  when "mixed"
    twin = IO.for_fd(r.fileno, autoclose: false)
    [Thread.new { read_from(twin) }, Thread.new { read_own(r) }]
  when "ractors"
    before = tasks
    ractor = Ractor.new(r.fileno) do |fd|
      io = IO.for_fd(fd, autoclose: false)
      begin
        io.readpartial(1) # waiter
      rescue IOError, SystemCallError
        :interrupted
      end
    end
    wait_asleep(before + 1)
    [ractor]
  else
    abort "foreign.rb: no such kind: #{kind}"
  end
end
waiters.flatten!
if kind == "ractors"
  # From 3.3 on a close that waits for a thread of another Ractor is taken for a deadlock of its own one
  # unless this one has a thread that lives, and now and then misses that it is woken.
  Thread.new do
    loop do
      sleep 0.05
      Thread.main.wakeup
    end
  end
  $lines[:waiter] = File.readlines(__FILE__).index { |line| line.include?("# waiter") } + 1
else
  settle(waiters)
end

t0 = ready
pipes.each do |r, w|
  $lines[:closer] = __LINE__ + 1
  r.close
  w.close if VM_WIDE # else it would end the other one's reading
end
t1 = now_ns

if VM_WIDE || kind == "same"
  results = waiters.map { |t| t.respond_to?(:value) ? t.value : t.take }
  abort "foreign.rb: #{results}" unless results.all?(:interrupted)
end
list = kind == "mixed" ? 2 * ROUNDS : ROUNDS
foreign = kind == "same" ? 0 : ROUNDS
own = list - foreign
# A tool reads who was where from a process that is there still. (Others wake this thread: above.)
stays_until = now_ns + 500_000_000
sleep 0.1 while now_ns < stays_until
# Each pair of closes finds the list shorter by one round: by its reading end, before its writing end.
truth(t0, t1, closes: VM_WIDE ? 2 * ROUNDS : ROUNDS, visited: VM_WIDE ? list * ROUNDS : own,
              matched: VM_WIDE ? list : own, foreign: VM_WIDE ? foreign : 0, file: File.expand_path(__FILE__),
              closer_line: $lines[:closer], waiter_line: $lines[:waiter])
