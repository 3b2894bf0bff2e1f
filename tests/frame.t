#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The line that frame_line reads out of a sleeping Ruby is the one it sleeps in.
. "$(dirname "$0")/lib.sh"

need_root
tool=$repo/.build/tools/frame_line
[ -x "$tool" ] || skip_all "no $tool: run make check"

# A program that stops in each way named by its argument. It prints READY, the line it stops in and
# the receiver's address just before it does. Its path is longer than an embedded String holds.
long=$tmp/a-path-that-is-longer-than-what-rubys-strings-embed.rb
cat >"$long" <<'RUBY'
def ready(line, object)
  address = Kernel.instance_method(:to_s).bind_call(object)[/0x\h+/]
  $stderr.puts "READY #{line} #{address}"
end

$read, $write = IO.pipe
case ARGV[0]
when "sleep"
  ready(__LINE__ + 1, self)
  sleep
when "join"
  thread = Thread.new { sleep }
  ready(__LINE__ + 1, thread)
  thread.join
when "read"
  ready(__LINE__ + 1, $read)
  $read.read
when "block"
  [1].each do |x|
    [x].map do
      ready(__LINE__ + 2, $read)
      1 + [2,
        $read.read(x)].size
    end
  end
when "cblock"
  # in a block, called by a C function that a C block calls
  %w[b a].each_entry.sort_by do
    ready(__LINE__ + 1, $read)
    $read.getc
  end
when "method"
  # the index of lines of a long body has several blocks
  lines = Array.new(400) { |i| "  a = [#{i}, a.class]" }
  lines[350] = "  ready(__LINE__ + 1, $read); a = 1\n  $read.read; p a; p a; p a; p a"
  eval "def long_method\n  a = nil\n#{lines.join("\n")}\nend", nil, __FILE__, 1000
  long_method
when "eval"
  eval "ready(__LINE__ + 1, $read)\n$read.read", nil, "x", 7
when "spin"
  Signal.trap("TERM") { exit! }
  ready(__LINE__ + 1, self)
  nil while true
end
RUBY
short=$tmp/s.rb
cp "$long" "$short"

# shows LINE: the tool prints that
# shellcheck disable=SC2317 # called by wait_for
shows()
{
	got=$("$tool" "$PID" 2>&1)
	[ "$got" = "$1" ]
}

# line_is RUBY FILE WAY STATUS [PATH]: STATUS is the main thread's then (enum rb_thread_status)
line_is()
{
	start_ruby "$1" -W0 "$2" "$3" || return
	read -r _ nr self <<-END
		$(grep '^READY' "$RUBY_ERR")
	END
	want="$PID ${5:-$2}:$nr $self $4"
	wait_for 5 shows "$want"
	is "$1: line, receiver and status of $3" "$got" "$want"
	stop "$PID"
}

for ruby in 3.1 3.3 3.4; do
	line_is "$ruby" "$long" sleep 1 || continue
	line_is "$ruby" "$long" join 2
	line_is "$ruby" "$long" read 1
	line_is "$ruby" "$long" block 1
	line_is "$ruby" "$short" cblock 1
	line_is "$ruby" "$short" method 1
	line_is "$ruby" "$short" eval 1 x
	line_is "$ruby" "$short" spin 0
done
done_testing
