#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: it compares times of many processes on few CPUs
#
# Many threads, many events.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

tools=$repo/.build/tools

# Counts what it does itself: each of the threads wakes up once, in the window.
# shellcheck disable=SC2016
ten_thousand='
n = 10_000
q = Queue.new
done = 0
go = false
trap("USR1") { go = true }
trap("TERM") { exit!(0) }
n.times { Thread.new { q.pop; done += 1; Thread.stop } }
sleep 0.01 until q.num_waiting == n
$stderr.puts "READY"
sleep 0.01 until go
t0 = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
n.times { q << 1 }
sleep 0.01 until done == n
puts "WINDOW #{t0} #{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}"
$stdout.flush
sleep
'

# attach_seconds: from the start of record until it says that it traces; recording then goes on
attach_seconds()
{
	python3 - "$GVLSCOPE" "$PID" "$trace" "$tmp/record.err" <<-'PY'
		import subprocess, sys, time
		start = time.monotonic()
		with open(sys.argv[4], "w") as log:
		    child = subprocess.Popen([sys.argv[1], "record", "-p", sys.argv[2], "-o", sys.argv[3]],
		                             stderr=log, stdout=subprocess.DEVNULL,
		                             stdin=subprocess.DEVNULL, start_new_session=True)
		while "Tracing" not in open(sys.argv[4]).read() and child.poll() is None:
		    time.sleep(0.005)
		print(child.pid, round(time.monotonic() - start, 2))
	PY
}

many_threads()
{
	if ! start_ruby "$1" -W0 -e "$ten_thousand"; then
		return
	fi
	nr=$(find "/proc/$PID/task" -mindepth 1 -maxdepth 1 | wc -l)
	attach_seconds >"$tmp/attached"
	read -r RECORD seconds <"$tmp/attached"
	started "$RECORD"
	check "$1: attached to $nr tasks in $seconds s, want less than 3" \
		awk "BEGIN { exit !($seconds < 3 && $nr >= 10000) }"
	kill -USR1 "$PID"
	wait_for 60 grep -q '^WINDOW' "$RUBY_OUT"
	kill -TERM "$RECORD"
	wait_for 30 gone "$RECORD"
	stop "$PID"
	read -r _ from to <"$RUBY_OUT"
	make_report "$1, 10,000 threads" --from "$from" --to "$to" || return
	check "$1, 10,000 threads: hold + free is the time seen, sums over threads are the totals" \
		"$repo/tests/tools/check-report" identities "$report"
	holds "$1, 10,000 threads: each is seen to wake up; nothing is lost" '
		sum(t["holds"] >= 1 for t in threads) == 10_001 and not any(d["lost"].values())'
}

many_events()
{
	for tool in trace-gen measure; do
		[ -x "$tools/$tool" ] || { skip 'ten million changes' "no $tools/$tool: run make check"; return; }
	done
	check 'a trace of ten million owner changes is made' "$tools/trace-gen" write "$trace" 10000000
	"$tools/measure" "$GVLSCOPE" report -f json "$trace" >"$report" 2>"$tmp/measured"
	is 'it is reported' $? 0
	holds 'it is reported: all of it' '9_300_000 < lock["hold_ns"]["count"] <= 10_000_000'
	used=$(tail -n 1 "$tmp/measured")
	check "ten million owner changes are reported in $used: want less than 5 s and 100 MB" \
		awk "BEGIN { split(\"$used\", w, /[ ,]+/); exit !(w[1] < 5 && w[5] * 1024 < 100e6) }"
}

for ruby in 3.1 3.4; do
	many_threads "$ruby"
done
many_events
done_testing
