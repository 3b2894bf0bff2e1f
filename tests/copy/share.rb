# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# share.rb SHARE [SECONDS]: one thread, which always has the lock, spends SHARE of its time on the CPU in
# copies of a large String into memory that is there, and computes between them. Prints the share that it
# was, by the thread's own clock around each copy.
#
# Many are made between two looks at the clock, which takes long when all that was in the caches is copies.
# How long it computes varies, so that nothing keeps step with the clock tick.
start = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)

def cpu_ns
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end

want = Float(ARGV.fetch(0))
seconds = Float(ARGV.fetch(1, "1"))
random = Random.new(18_455)

SIZE = 1 << 20
TIMES = 400
clock = Array.new(1000) { a = cpu_ns; cpu_ns - a }.sort[500] # what is around a copy and not in it
copying = 0
a = cpu_ns
source = "s".b * SIZE
target = "t".b * SIZE
copying += cpu_ns - a
copies = 0
last = start + (seconds * 1e9).to_i
while (now = cpu_ns) < last
  i = TIMES
  target[0, SIZE] = source while (i -= 1) >= 0 # memmove() in place
  copying += cpu_ns - now - clock
  copies += TIMES
  pause = start + copying / want + random.rand(10_000_000)
  x = 0
  while cpu_ns < pause
    2000.times { |i| x ^= i }
  end
end
total = cpu_ns - start
puts %({"script": "share", "ruby": "#{RUBY_VERSION}", "pid": #{$$}, "copies": #{copies},) +
     %( "clock_ns": #{clock}, "copying_ns": #{copying}, "total_ns": #{total}, "share": #{copying.fdiv(total)}})
$stdout.flush
exit!(0)
