# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# one_pipe.rb N: N threads read from one pipe, both ends of which are closed.
require_relative "common"

n = Integer(ARGV.fetch(0))
r, w = IO.pipe
readers = Array.new(n) do
  Thread.new do
    r.read(1)
  rescue IOError
    :interrupted
  end
end
settle(readers)

t0 = ready
r.close
interrupted = readers.count { |t| t.value == :interrupted }
w.close
t1 = now_ns

abort "one_pipe.rb: #{interrupted} of #{n} readers were interrupted" if interrupted != n
truth(t0, t1, closes: 2, visited: n, visited_max: n, matched: n, closes_that_match: 1)
