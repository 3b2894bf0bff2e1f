# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A small mixed load for scripts/demo: threads that compute, threads that pass a byte back and forth,
# threads that share a Mutex, one that mostly sleeps. Prints READY on stderr when all of them run.
# Ends after so many seconds (15), or when told with SIGTERM.

seconds = (ARGV[0] || 15).to_f
trap("TERM") { exit }
Thread.report_on_exception = false

def worker(name)
  Thread.new do
    Thread.current.name = name
    yield
  end
end

2.times do |i|
  worker("compute-#{i + 1}") { loop { (1..1000).inject(:*) } }
end

here, there = IO.pipe, IO.pipe
worker("ping") { loop { here[1].write("x"); there[0].read(1) } }
worker("pong") { loop { here[0].read(1); there[1].write("x") } }

account = Mutex.new
balance = 0
2.times do |i|
  worker("teller-#{i + 1}") do
    loop do
      account.synchronize { 2000.times { balance += 1 } }
      sleep 0.001
    end
  end
end

worker("sleeper") { loop { sleep 0.05 } }

$stderr.puts "READY #{$$}"
sleep seconds
