# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# readers.rb N: N threads read, each from its own pipe; one after the other the reading end is closed,
# the thread ends by IOError, the writing end is closed. So each list there is gets shorter by one.
require_relative "common"

n = Integer(ARGV.fetch(0))
need_files(2 * n + 100)
pipes = Array.new(n) { IO.pipe }
readers = pipes.map do |r, _|
  Thread.new do
    r.read(1)
  rescue IOError
    :interrupted
  end
end
settle(readers)

t0 = ready
interrupted = 0
pipes.each_with_index do |(r, w), i|
  r.close
  interrupted += 1 if readers[i].value == :interrupted
  w.close
end
t1 = now_ns

abort "readers.rb: #{interrupted} of #{n} readers were interrupted" if interrupted != n
# n + (n - 1) + ... + 1 by the reading ends, (n - 1) + ... + 0 by the writing ends.
truth(t0, t1, closes: 2 * n, visited: VM_WIDE ? n * n : n, visited_max: VM_WIDE ? n : [n, 1].min,
              matched: n, closes_that_match: n)
