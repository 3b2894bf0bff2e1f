# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# work.rb KEY=N...: a little of all that a gate looks at, and more of one thing if told so.
#
#   readers=N   N threads read, each from a pipe of its own, while 20 other pipes are closed: up to
#               Ruby 3.4 each of these 40 closes visits N waiters
#   copies=N,M  copies of N and of M bytes, ten times each, with the lock held (from 1 MiB on
#               without it, from Ruby 3.4 on)
#   hold_ms=N   20 times the lock is held for N ms, and then released to sleep
#   releases=N  N times the lock is released for nothing: a byte goes into a pipe, and comes out
require_relative "../close/common"

def close_among(readers)
  need_files(2 * readers + 100)
  pipes = Array.new(readers) { IO.pipe }
  settle(pipes.map { |r, _| Thread.new { r.read(1) } })
  20.times { IO.pipe.each(&:close) }
end

def copy(sizes)
  source = IO::Buffer.new(sizes.max)
  target = IO::Buffer.new(sizes.max)
  sizes.each { |n| 10.times { target.copy(source, 0, n) } }
end

def hold(milliseconds)
  20.times do
    deadline = now_ns + milliseconds * 1_000_000
    nil while now_ns < deadline
    sleep 0.002
  end
end

def release(times)
  r, w = IO.pipe
  times.times do
    w.syswrite("x")
    r.sysread(1)
  end
end

work = { "readers" => "5", "copies" => "65536", "hold_ms" => "1", "releases" => "100" }
work.update(ARGV.to_h { |arg| arg.split("=", 2) })

copy(work["copies"].split(",").map { |n| Integer(n) })
hold(Float(work["hold_ms"]))
release(Integer(work["releases"]))
close_among(Integer(work["readers"]))
exit!(0)
