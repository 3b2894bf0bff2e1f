# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What all workloads share: TRUTH_EXT=EXTENSION ruby NAME.rb LOG runs until SIGTERM, then writes LOG
# and prints DONE.

require ENV.fetch("TRUTH_EXT")

$stop = false
trap("TERM") { $stop = true }
Thread.report_on_exception = false

def thread(name)
  Thread.new do
    Thread.current.name = name
    yield
  end
end

# Uses the CPU for so long.
def spin(seconds)
  start = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
  nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - start < seconds
end

# Yields until it is told to stop; work that outlives that is left to die with the process.
def run
  $stderr.puts "READY #{$$}"
  sleep 0.05 until $stop
  Truth.dump(ARGV.fetch(0))
  puts "DONE"
  $stdout.flush
  exit!(0)
end
