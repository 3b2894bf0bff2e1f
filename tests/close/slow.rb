# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# slow.rb KIND: closes that are slow for a known reason.
#
#   stubborn     a reader is interrupted that cannot leave: threads that compute have the lock
#   linger       close(2) of a socket with SO_LINGER and what its peer does not read; without the lock
#   linger-held  the same of an IO that only reads: Ruby keeps the lock
#   flush        what was written is still in Ruby's buffer and the pipe is full
#   many [N]     N threads (5000) read from other pipes
require_relative "common"
require "socket"

LINGER_S = 1
SLOW_NS = 200_000_000

kind = ARGV.fetch(0)

def fill(writer)
  loop { writer.write_nonblock("x" * 65_536) }
rescue IO::WaitWritable
  writer
end

# A socket that has more to send than its peer takes.
def lingering
  server = TCPServer.new("127.0.0.1", 0)
  socket = TCPSocket.new("127.0.0.1", server.addr[1])
  $peer = server.accept
  socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, LINGER_S].pack("ii"))
  fill(socket)
end

# Closes these and prints the truth. What is yielded to is done first, in the window.
def close_all(ios, facts)
  t0 = ready
  yield if block_given?
  took = ios.map do |io|
    a = now_ns
    io.close
    now_ns - a
  end
  t1 = now_ns
  truth(t0, t1, { closes: ios.size, close_ns: took.sum, close_ns_max: took.max }.merge(facts))
end

case kind
when "stubborn"
  pipes = Array.new(2) { IO.pipe }
  readers = pipes.map do |r, _|
    Thread.new do
      r.read(1)
    rescue IOError
      :interrupted
    end
  end
  settle(readers)
  computing = 0
  facts = { cost_is: "wait", at_least_ns: SLOW_NS, visited: VM_WIDE ? 3 : 2, matched: 2 }
  close_all(pipes.map(&:first), facts) do
    3.times do
      Thread.new do
        computing += 1
        x = 0
        x += 1 while true
      end
    end
    wait_until("threads compute") { computing == 3 }
  end
when "linger"
  close_all([lingering], cost_is: "syscall", at_least_ns: 900_000_000, held: false, visited: 0, matched: 0)
when "linger-held"
  socket = lingering
  socket.autoclose = false
  reading = IO.for_fd(socket.fileno, "r")
  close_all([reading], cost_is: "syscall", at_least_ns: 900_000_000, held: true, visited: 0, matched: 0)
when "flush"
  r, w = IO.pipe
  fill(w)
  go_r, go_w = IO.pipe
  fork do
    w.close
    go_w.close
    go_r.read(1)
    sleep 0.3
    r.read
    exit!(0)
  end
  w.sync = false
  w.write("buffered")
  close_all([w], cost_is: "other", at_least_ns: SLOW_NS, visited: 0, matched: 0) { go_w.syswrite("x") }
when "many"
  n = Integer(ARGV.fetch(1, "5000"))
  need_files(2 * n / 10 + 200)
  busy = Array.new((n + 9) / 10) { IO.pipe }
  readers = Array.new(n) { |i| Thread.new { busy[i / 10][0].read(1) } }
  pipes = Array.new(20) { IO.pipe }
  settle(readers)
  close_all(pipes.flatten, cost_is: "scan", at_least_ns: 0, visited: VM_WIDE ? 40 * n : 0, matched: 0)
else
  abort "slow.rb: no such kind: #{kind}"
end
