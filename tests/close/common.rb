# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the programs of tests/close and tests/block share. Each sets up, says READY on stderr, does
# what is known in the window t0..t1, prints one JSON line of its truth and is gone. With
# CLOSE_WAIT=1 it waits after READY for SIGUSR1, so that a tool can attach to what is parked already.

require "json"

Warning[:experimental] = false
Thread.report_on_exception = false

# Up to 3.4 a close walks one list of the whole VM, from 4.0 that of its own IO.
VM_WIDE = RUBY_VERSION < "4"

def now_ns
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def wait_until(what, seconds = 60, nap: 0.001)
  deadline = now_ns + seconds * 1_000_000_000
  until yield
    abort "#{$0}: #{what}: not within #{seconds} s" if now_ns > deadline
    sleep nap
  end
end

def need_files(count)
  soft, hard = Process.getrlimit(:NOFILE)
  Process.setrlimit(:NOFILE, count, [hard, count].max) if soft < count
rescue SystemCallError => e
  abort "#{$0}: #{count} files cannot be open here: #{e.message}"
end

# R or S: what the kernel says of a task.
def task_state(pid, tid)
  File.read("/proc/#{pid}/task/#{tid}/stat").rpartition(") ")[2][0]
rescue Errno::ENOENT, Errno::ESRCH
  "X"
end

# Waits until these threads are parked: Ruby calls them stopped, and the kernel has every task of the
# process but this one asleep. A child looks: what it opens and closes is not done in this process.
def settle(threads)
  wait_until("threads park") { threads.all?(&:stop?) }
  parent = $$
  Process.wait(fork do
    2.times do
      wait_until("tasks sleep") do
        others = Dir.children("/proc/#{parent}/task").map(&:to_i) - [parent]
        others.all? { |tid| task_state(parent, tid) == "S" }
      end
    end
    exit!(0)
  end)
  exit!(1) unless $?.success?
  ended = threads.find { |t| !t.alive? } or return
  abort "#{$0}: a thread has ended: #{begin; ended.value; rescue Exception => e; e.inspect; end}"
end

# Says READY; the window starts when it returns.
def ready
  go = !ENV["CLOSE_WAIT"]
  trap("USR1") { go = true }
  $stderr.puts "READY #{$$}"
  wait_until("SIGUSR1", 300, nap: 0.05) { go }
  now_ns
end

# The window ended at @t1; the end of the process.
def truth(t0, t1, facts)
  $stdout.puts JSON.generate({ script: File.basename($0, ".rb"), ruby: RUBY_VERSION, pid: $$,
                               t0_ns: t0, t1_ns: t1 }.merge(facts))
  $stdout.flush
  exit!(0)
end
