# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# regions.rb [NAME...]: blocking regions of known number and kind, one section after the other, each with
# a window of its own. Unless it says otherwise the main thread does it all and is the only one.
#
# What must really block is let go by a peer, a process of its own: it waits until the kernel has the
# main thread asleep once more than before, and only then does its part.
require_relative "../close/common"
require "io/console"
require "io/nonblock"
require "io/wait"
require "pty"
require "socket"
require "tmpdir"
require "zlib"

COUNT = 20
NAP = 0.003

# What Ruby 3.1 sleeps in, with the descriptor it waits for signals at; from 3.2 on a condition variable.
# (3.1 only empties the eventfd where the wake-up has come already: thread_pthread.c, rb_sigwait_sleep.)
SLEEP = if RUBY_VERSION < "3.2"
          { call: %w[ppoll futex read], file: %w[eventfd none] }
        else
          { call: %w[futex], file: %w[none] }
        end

$sections = []
$peers = {}

# Starts a process that yields the numbers of the main thread's blocks to come, each when it has begun.
# @prepare is done before this returns.
def peer(prepare = nil)
  go_r, go_w = IO.pipe
  up_r, up_w = IO.pipe
  parent = $$
  pid = fork do
    $peers.each_value(&:close)
    go_w.close
    up_r.close
    held = prepare&.call
    up_w.close
    exit!(0) unless go_r.read(1)
    last = -1
    COUNT.times do |i|
      wait_until("block #{i}") do
        status = File.read("/proc/#{parent}/task/#{parent}/status")
        switches = status[/^voluntary_ctxt_switches:\s*(\d+)/, 1].to_i
        status =~ /^State:\s*S/ && switches > last && last = switches
      end
      yield i, held
    end
    go_r.read # not its end, which would be a signal: until the main thread has done all, or is gone
    exit!(0)
  rescue Exception => e
    $stderr.puts "#{$0}: peer: #{e.inspect}"
    exit!(1)
  end
  $peers[pid] = go_w
  up_w.close
  go_r.close
  up_r.read
  -> { go_w.syswrite("x") }
end

# @expect: so many regions, each kind with the calls and kinds of file it may be reported as
def section(name, *expect, go: nil, at_least_ns: 0)
  go&.call
  t0 = now_ns
  yield
  t1 = now_ns
  $sections << { name: name, t0_ns: t0, t1_ns: t1, at_least_ns: at_least_ns, expect: expect }
end

def regions(count, call, file)
  { count: count, call: Array(call), file: Array(file) }
end

def sleeps(count, *or_calls)
  { count: count, call: SLEEP[:call] + or_calls, file: SLEEP[:file] }
end

def pipe_that_blocks
  IO.pipe.each { |io| io.nonblock = false }
end

def read_pipe
  r, w = pipe_that_blocks
  go = peer { w.syswrite("x") }
  section("read from a pipe", regions(COUNT, "read", "pipe"), go: go) { COUNT.times { r.sysread(1) } }
end

# Ruby's pipes do not block: read says so, Ruby polls, and reads again, all in one region.
def poll_pipe
  r, w = IO.pipe
  go = peer { w.syswrite("x") }
  section("read from a pipe that does not block", regions(COUNT, %w[poll ppoll read], "pipe"), go: go) do
    COUNT.times { r.sysread(1) }
  end
end

def write_pipe
  r, w = pipe_that_blocks
  w.nonblock { loop { w.write_nonblock("x" * 4096) } } rescue IO::WaitWritable
  w.nonblock = false
  page = "x" * 4096
  go = peer { r.sysread(4096) }
  section("write to a full pipe", regions(COUNT, "write", "pipe"), go: go) do
    COUNT.times { w.syswrite(page) }
  end
end

def read_socket
  a, b = UNIXSocket.pair.each { |s| s.nonblock = false }
  go = peer { b.syswrite("x") }
  section("read from a socket", regions(COUNT, "read", "socket"), go: go) { COUNT.times { a.sysread(1) } }
end

def recv_socket
  a, b = UNIXSocket.pair.each { |s| s.nonblock = false }
  go = peer { b.syswrite("x") }
  section("receive from a socket", regions(COUNT, "recvfrom", "socket"), go: go) { COUNT.times { a.recv(1) } }
end

def accept_socket
  server = TCPServer.new("127.0.0.1", 0)
  server.nonblock = false
  kept = []
  go = peer { kept << TCPSocket.new("127.0.0.1", server.addr[1]) }
  section("accept", regions(COUNT, %w[accept4 accept], "socket"), go: go) do
    COUNT.times { kept << server.accept }
  end
end

def read_tty
  master, slave = PTY.open
  master.nonblock = false
  slave.raw!
  go = peer { slave.syswrite("x") }
  section("read from a terminal", regions(COUNT, "read", "tty"), go: go) { COUNT.times { master.sysread(1) } }
end

def in_folder
  folder = Dir.mktmpdir
  yield folder
ensure
  Dir.children(folder).each { |name| File.unlink(File.join(folder, name)) }
  Dir.rmdir(folder)
end

def lock_files
  in_folder do |folder|
    paths = Array.new(COUNT) { |i| File.join(folder, i.to_s) }
    files = paths.map { |path| File.open(path, "w") }
    held = -> { paths.map { |path| File.open(path, "w").tap { |f| f.flock(File::LOCK_EX) } } }
    go = peer(held) { |i, theirs| theirs[i].flock(File::LOCK_UN) }
    section("flock that another process has", regions(COUNT, "flock", "file"), go: go) do
      files.each { |f| f.flock(File::LOCK_EX) }
    end
  end
end

def open_fifos
  in_folder do |folder|
    paths = Array.new(COUNT) { |i| File.join(folder, i.to_s) }
    paths.each { |path| File.mkfifo(path) }
    go = peer { |i| File.open(paths[i], "w") }
    kept = []
    section("open of a FIFO", regions(COUNT, %w[openat open], "none"), go: go) do
      paths.each { |path| kept << File.open(path, "r") }
    end
  end
end

def wait_child
  children = Array.new(COUNT) { fork { sleep } }
  go = peer { |i| Process.kill(:KILL, children[i]) }
  kind = RUBY_VERSION < "3.2" ? sleeps(COUNT) : regions(COUNT, "wait4", "none")
  section("wait for a child", kind, go: go) { children.each { |pid| Process.wait(pid) } }
ensure
  children.each { |pid| Process.kill(:KILL, pid) rescue Errno::ESRCH }
end

def naps
  section("sleep", sleeps(COUNT), at_least_ns: NAP * 1e9) { COUNT.times { sleep NAP } }
end

def condition
  mutex = Mutex.new
  never = ConditionVariable.new
  section("wait for a condition variable, in vain", sleeps(COUNT), at_least_ns: NAP * 0.9e9) do
    COUNT.times { mutex.synchronize { never.wait(mutex, NAP) } }
  end
end

# The second thread is born here; it gets its first item without waiting, and dies. Who is woken before he
# sleeps has not left the CPU.
def queues
  there = Queue.new
  back = Queue.new
  other = nil
  section("two threads and two queues", sleeps(2 * COUNT - 1, "cpu")) do
    other = Thread.new { COUNT.times { there.pop; back << 1 } }
    COUNT.times { there << 1; back.pop }
  end
  other.join
end

def joins
  section("join of a thread that has yet to run", sleeps(COUNT, "cpu")) do
    COUNT.times { Thread.new { nil }.join }
  end
end

def selects
  r, _w = IO.pipe
  section("IO.select, in vain", regions(COUNT, %w[pselect6 select], "none"), at_least_ns: NAP * 0.9e9) do
    COUNT.times { IO.select([r], nil, nil, NAP) }
  end
end

def waits_readable
  r, _w = IO.pipe
  section("wait_readable, in vain", regions(COUNT, %w[ppoll poll], "pipe"), at_least_ns: NAP * 0.9e9) do
    COUNT.times { r.wait_readable(NAP) }
  end
end

# It is not said what the resolver does, only how often Ruby gives the lock up for it: until 3.3 it has the
# address named, too.
def resolves
  Addrinfo.getaddrinfo("localhost", 80, :INET, :STREAM)
  section("getaddrinfo", { count: RUBY_VERSION < "3.4" ? 2 * COUNT : COUNT }) do
    COUNT.times { Addrinfo.getaddrinfo("localhost", 80, :INET, :STREAM) }
  end
end

# The memory it works in may make it wait.
def deflates
  data = "gvlscope " * 20_000
  Zlib.deflate(data)
  section("Zlib.deflate", regions(COUNT, %w[cpu brk mmap munmap mprotect madvise], "none")) do
    COUNT.times { Zlib.deflate(data) }
  end
end

# What does not block is a region all the same, for nothing.
def short_ones
  r, w = pipe_that_blocks
  section("write to and read from a pipe that is ready", regions(COUNT, "write", "pipe"),
          regions(COUNT, "read", "pipe")) { COUNT.times { w.syswrite("x"); r.sysread(1) } }
  File.open(__FILE__) do |f|
    f.sysread(4096)
    section("read from a file in memory", regions(COUNT, "read", "file")) { COUNT.times { f.sysread(16) } }
  end
end

ALL = %i[read_pipe poll_pipe write_pipe read_socket recv_socket accept_socket read_tty lock_files open_fifos
         wait_child naps condition queues joins selects waits_readable resolves deflates short_ones].freeze

t0 = ready
GC.start
GC.disable
(ARGV.empty? ? ALL : ARGV).each { |name| send(name) }
t1 = now_ns
$peers.each do |pid, go_w|
  go_w.close
  Process.wait(pid)
  abort "regions.rb: a peer failed" unless $?.success?
end
truth(t0, t1, sections: $sections)
