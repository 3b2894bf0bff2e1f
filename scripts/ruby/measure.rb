# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the programs beside this one share: a clock, repetition, readers that block, a line of JSON a result.
# The environment's RUNS says how often each cell is measured; what is printed as its value is the median.
# Nothing is required, so that a Ruby that was built without its extensions will do.

Thread.report_on_exception = false

module Measure
  module_function

  def now_ns
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  end

  # A run that is thrown away, as the first one meets cold code; then so many that count.
  def runs(default)
    yield
    Array.new(Integer(ENV.fetch("RUNS", default))) { yield }
  end

  def median(values)
    sorted = values.sort
    (sorted[(sorted.size - 1) / 2] + sorted[sorted.size / 2]) / 2.0
  end

  def report(cell, name, runs)
    members = cell.merge(name => median(runs).round(3), "runs" => runs.map { |value| value.round(3) })
    puts "{#{members.map { |key, value| "#{key.inspect}: #{value.inspect}" }.join(", ")}}"
    $stdout.flush
  end

  # As many open files as the system allows without asking.
  def allow_files
    Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE)[1])
  end

  # So many [reader, writer, thread]; each thread is blocked in a read of its own pipe.
  def blocked(count)
    pipes = Array.new(count) do
      r, w = IO.pipe
      [r, w, Thread.new { read_until_closed(r) }]
    end
    sleep 0.001 until pipes.all? { |_, _, thread| thread.stop? }
    pipes
  end

  def read_until_closed(io)
    io.read(1)
  rescue IOError
    nil
  end
end
