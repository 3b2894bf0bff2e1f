#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its times are compared with the program's own clocks
# timeout: 300
#
# What is said of the lock of real Rubies whose answer is known from outside.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

# Threads that only compute. $1: how many
computing="Thread.report_on_exception = false
\$ths = Array.new(%d) { |i| Thread.new { Thread.current.name = \"compute-#{i}\"; x = 0; x += 1 while true } }
\$ths.each { |t| sleep 0.01 until t.status == 'run' }
\$stderr.puts 'READY'
\$ths.each(&:join)
"

# Must hold 3. A thread runs for 100 ms, found out at a tick of 10 ms.
fair_shares()
{
	# shellcheck disable=SC2059
	start_ruby "$1" -W0 -e "$(printf "$computing" 4)" || return
	exits "$1: 4 threads compute for 5 s: recorded" 0 \
		"$GVLSCOPE" record -p "$PID" -d 5s -o "$trace"
	stop "$PID"
	make_report "$1, 4 threads" || return
	is_sound "$1, 4 threads"
	holds "$1, 4 threads: one lock, seen for 5 s, nothing lost" '
		len(locks) == 1 and 4.9e9 < lock["seen_ns"] < 5.5e9 and d["capture"]["complete"]
		and not any(d["lost"].values())'
	holds "$1, 4 threads: held all the time" 'lock["free_ns"] < 0.005 * lock["seen_ns"]'
	holds "$1, 4 threads: it is switched at the quantum of 100 ms" '
		lock["seen_ns"] / 125e6 - 2 <= lock["switches"] <= lock["seen_ns"] / 100e6 + 2'
	holds "$1, 4 threads: each has its name and a quarter of the time, give or take a slice" '
		sorted(t["name"] for t in threads if t["hold_ns"] > 1e6) == ["compute-%d" % i for i in range(4)]
		and all(abs(t["hold_ns"] - lock["seen_ns"] / 4) < 150e6
			for t in threads if t["hold_ns"] > 1e6)'
	# In 3.1 a thread that gave the lock up first waits for the next one to run, then queues.
	holds "$1, 4 threads: three wait all the time" "
		abs(sum(t['wait_ns'] for t in threads if t['hold_ns'] > 1e8) - 3 * lock['seen_ns']) <
		(0.15 if '$1' == '3.1' else 0.02) * lock['seen_ns']"
	holds "$1, 4 threads: who holds is blamed for the waiting of the others" '
		lock["blame_ns"] + lock["unowned_wait_ns"] == total(threads, "wait_ns") and
		all(abs(t["blame_ns"] - 3 * t["hold_ns"]) < 0.05 * lock["seen_ns"] for t in threads)'
	has "$1, 4 threads: the text names the threads" "$tmp/report.txt" '^compute-3 '
}

mixed_load()
{
	start_ruby "$1" "$repo/scripts/demo.rb" 60 || return
	exits "$1, mixed load: recorded" 0 "$GVLSCOPE" record -p "$PID" -d 1s -o "$trace"
	stop "$PID"
	make_report "$1, mixed load" || return
	is_sound "$1, mixed load"
	holds "$1, mixed load: every thread is there under its name" '
		{"compute-1", "compute-2", "ping", "pong", "teller-1", "teller-2", "sleeper"} <=
		{t["name"] for t in threads}'
	half=$(json "$report" 'd["gvl"]["locks"][0]["seen_ns"] // 2')
	from=$("$repo/.build/tools/trace_dump" "$trace" | awk '$1 == "STATE" { print $2; exit }')
	make_report "$1, half of it" --from "$((from + half / 2))" --to "$((from + half / 2 + half))" || return
	is_sound "$1, half of it"
	is "$1, half of it: so much is counted, to the ns" \
		"$(json "$report" 'd["gvl"]["locks"][0]["seen_ns"]')" "$half"
}

# The same run each time: so many releases of each kind, and nobody else.
# shellcheck disable=SC2016
same_run='
def work
  r, w = IO.pipe
  a = Thread.new { Thread.current.name = "a"; 1000.times { w.syswrite("x"); r.sysread(1) } }
  a.join
  b = 2.times.map { Thread.new { c = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - c < 0.5 } }
  b.each(&:join)
end
go = false
trap("USR1") { go = true }
trap("TERM") { exit!(0) }
$stderr.puts "READY"
sleep 0.01 until go
t0 = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
work
puts "WINDOW #{t0} #{Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)}"
$stdout.flush
sleep
'

# run_of RUBY METHOD: its report
run_of()
{
	start_ruby "$1" -W0 -e "$same_run" || return
	start_record -p "$PID" --method "$2" || return
	kill -USR1 "$PID"
	wait_for 30 grep -q '^WINDOW' "$RUBY_OUT"
	end_record
	stop "$PID"
	read -r _ run_from run_to <"$RUBY_OUT"
	make_report "$1, $2" --from "$run_from" --to "$run_to"
}

both_methods()
{
	reason=$(why_no_watch)
	if [ -n "$reason" ]; then
		skip "$1: both methods agree" "$reason"
		return
	fi
	run_of "$1" sites || return
	cp "$report" "$tmp/sites.json"
	run_of "$1" watch || return
	for what in 'lock["switches"]' 'lock["hold_ns"]["sum"]'; do
		sites=$(json "$tmp/sites.json" "[lock for lock in d['gvl']['locks']][0]${what#lock}")
		watch=$(json "$report" "[lock for lock in d['gvl']['locks']][0]${what#lock}")
		check "$1: both methods agree on $what: $sites and $watch" \
			python3 -c "exit(abs($sites - $watch) > 0.01 * $watch)"
	done
}

# What is printed of the run itself: 2000 releases by a.
exact_count()
{
	run_of "$1" sites || return
	is_sound "$1, 1000 round trips"
	holds "$1, 1000 round trips: 2000 releases, 2001 holds of one thread" '
		[t["holds"] for t in threads if t["name"] == "a"] == [2001]'
	holds "$1, 1000 round trips: as much is held as was computed, at least" \
		'lock["hold_ns"]["sum"] >= 1e9'
}

ractors()
{
	# shellcheck disable=SC2016
	start_ruby "$1" -W0 -e '
		rs = [Ractor.new { x = 0; x += 1 while true }, Ractor.new { Ractor.receive }]
		sleep 0.3
		go = false
		trap("USR1") { go = true }
		$stderr.puts "READY"
		sleep 0.01 until go
		3.times { |i| r = Ractor.new(i) { |n| x = 0; 2_000_000.times { x += 1 }; n }
		  r.respond_to?(:value) ? r.value : r.take }
		puts "BORN"
		$stdout.flush
		sleep' || return
	start_record -p "$PID" || return
	kill -USR1 "$PID"
	wait_for 60 grep -q '^BORN' "$RUBY_OUT"
	end_record
	stop "$PID"
	make_report "$1, Ractors" || return
	is_sound "$1, Ractors"
	holds "$1, Ractors: one lock for each, born before or while it was traced" \
		'len(locks) == 6 and len({l["ractor"] for l in locks}) == 6'
	holds "$1, Ractors: one that computes holds its lock, one that waits does not" '
		any(l["free_ns"] == 0 and l["seen_ns"] > 0 for l in locks) and
		any(l["hold_ns"]["sum"] == 0 and l["seen_ns"] > 0 for l in locks)'
	holds "$1, Ractors: the three that were born computed" '
		all(sum(1 for l in locks if l["ractor"] == n and l["hold_ns"]["sum"] > 5e6) == 1
		    for n in sorted(l["ractor"] for l in locks)[-3:])'
}

mn_threads()
{
	export RUBY_MN_THREADS=1
	# shellcheck disable=SC2059
	start_ruby "$1" -W0 -e "$(printf "$computing" 3)"
	mn_started=$?
	unset RUBY_MN_THREADS
	[ "$mn_started" = 0 ] || return
	exits "$1, M:N threads: recorded" 0 "$GVLSCOPE" record -p "$PID" -d 2s -o "$trace"
	stop "$PID"
	make_report "$1, M:N threads" || return
	is_sound "$1, M:N threads"
	holds "$1, M:N threads: each thread has a third of the time" '
		len([t for t in threads if abs(t["hold_ns"] - lock["seen_ns"] / 3) < 150e6]) == 3'
	holds "$1, M:N threads: each has its name" '
		sorted(t["name"] for t in threads if t["hold_ns"] > 1e8) == ["compute-%d" % i for i in range(3)]'
}

children()
{
	# shellcheck disable=SC2016
	start_ruby "$1" -W0 -e '
		go = false
		trap("USR1") { go = true }
		$stderr.puts "READY"
		sleep 0.01 until go
		pids = 3.times.map { |i| fork { trap("USR1", "DEFAULT")
		  sleep 0.5
		  ths = 2.times.map { |n| Thread.new { Thread.current.name = "w#{i}-#{n}"
		    c = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
		    nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) - c < 0.3 } }
		  ths.each(&:join)
		  exit!(0) } }
		pids.each { |p| Process.wait(p) }
		puts "PIDS #{pids.join(",")}"' || return
	start_record -p "$PID" --children || return
	kill -USR1 "$PID"
	wait_record
	is "$1, forked workers: it ends when all have ended" "$RECORD_STATUS" 0
	make_report "$1, forked workers" || return
	is_sound "$1, forked workers"
	pids=$(sed -n 's/^PIDS //p' "$RUBY_OUT")
	holds "$1, forked workers: each has a lock of its own that was held as long as it computed" "
		all(sum(l['hold_ns']['sum'] for l in locks if l['pid'] == pid) > 500e6
		    for pid in [${pids:-0}])"
	holds "$1, forked workers: each one's threads are named" "
		{'w%d-%d' % (i, n) for i in range(3) for n in range(2)} <= {t['name'] for t in threads}"
	holds "$1, forked workers: each one's main thread is its own task" "
		all(any(t['tid'] == l['pid'] and t['holds'] for t in l['threads']) for l in locks)"
	holds "$1, forked workers: the parent forked three times" '
		sum(l["what"] == "fork" for l in d["capture"]["life"]) == 3'
}

several_pids()
{
	first=
	for ruby in 3.1 3.3 3.4; do
		# shellcheck disable=SC2059
		start_ruby "$ruby" -W0 -e "$(printf "$computing" 2)" || continue
		first=$first${first:+,}$PID
	done
	case $first in *,*) ;; *) return ;; esac
	exits "several processes: recorded" 0 "$GVLSCOPE" record -p "$first" -d 1500ms -o "$trace"
	# shellcheck disable=SC2046
	stop $(echo "$first" | tr , ' ')
	make_report "several processes" || return
	is_sound "several processes"
	holds "several processes: each has its lock, and it was held" "
		sorted(l['pid'] for l in locks if l['hold_ns']['sum'] > 1e9) == sorted([$first])"
	holds "several processes: each one's version is told" "
		len({t['ruby'][:3] for t in d['target']}) == len([$first])"
}

# shellcheck disable=SC2016
mostly_asleep='$stderr.puts "READY"; loop { sleep 0.005 }'

by_comm()
{
	for _ in 1 2; do
		start_ruby "$1" -W0 -e "File.write('/proc/self/comm', 'gvl-comm-$$')
			$(printf '%s' "$mostly_asleep")" || return
		comm_pids=${comm_pids:-}${comm_pids:+,}$PID
	done
	exits "--comm: recorded" 0 "$GVLSCOPE" record --comm "gvl-comm-$$" -d 500ms -o "$trace"
	# shellcheck disable=SC2046
	stop $(echo "$comm_pids" | tr , ' ')
	make_report "--comm" || return
	holds "--comm: all processes of that name" "
		sorted({l['pid'] for l in locks if l['hold_ns']['count'] > 5}) == sorted([$comm_pids])"
	exits "--comm: nobody is called so" 1 \
		"$GVLSCOPE" record --comm "nobody-$$" -d 500ms -o "$tmp/none.gvs"
}

boxed()
{
	# shellcheck disable=SC2059
	start_ruby -b "$1" -W0 -e "$(printf "$computing" 2)" || return
	exits "$1, in a namespace of its own: recorded" 0 \
		"$GVLSCOPE" record -p "$PID" -d 1s -o "$trace"
	boxed_tids=$(awk '/^NSpid/ { printf "%s, ", $NF }' "/proc/$PID/task"/*/status)
	stop "$PID"
	make_report "$1, in a namespace of its own" || return
	is_sound "$1, in a namespace of its own"
	holds "$1, in a namespace of its own: its threads, named, share the lock" '
		sorted(t["name"] for t in threads if t["hold_ns"] > 200e6) == ["compute-0", "compute-1"]'
	holds "$1, in a namespace of its own: tids are those of that namespace" "
		{t['tid'] for t in threads} <= {${boxed_tids}0} and len(threads) >= 2"
}

# What DESIGN section 3 says of a command.
with_command()
{
	# shellcheck disable=SC2016
	exits "$1: with a command its exit status is passed on" 7 \
		"$GVLSCOPE" record -o "$trace" -- "$repo/scripts/rubies" run "$1" -W0 -e '
			Thread.new { sleep 0.2; 3.times { sleep 0.01 } }.join
			puts "said: #{ARGV.inspect} #{$stdin.read.inspect}"; exit 7' a 'b c' <<-IN
		from here
	IN
	has "$1: with a command its arguments, stdin and stdout are its own" "$tmp/out" \
		'^said: \["a", "b c"\] "from here\\n"$'
	make_report "$1, a command" || return
	is_sound "$1, a command"
	holds "$1: with a command all of its life is seen, from before its first line" '
		lock["seen_ns"] > 200e6 and d["capture"]["complete"] and d["capture"]["stop"] == "target-exit"'
	exits "$1: with a command that a signal kills, status 128 + signal" 143 \
		"$GVLSCOPE" record -o "$trace" -- "$repo/scripts/rubies" run "$1" -e \
		'Process.kill(:TERM, $$); sleep'
}

dies()
{
	if [ -z "$cases" ]; then
		skip "a process that dies" "no shared/cases: set GVLSCOPE_SHARED"
		return
	fi
	CASE_ATTACH_MS=2500 start_ruby "$1" -W0 "$cases/46-dies-mid-measurement.rb" || return
	start_record -p "$PID" || return
	wait_record
	is "$1, killed while traced: record ends well" "$RECORD_STATUS" 0
	make_report "$1, killed while traced" || return
	is_sound "$1, killed while traced"
	holds "$1, killed while traced: what was seen is told, and that it ended" '
		lock["hold_ns"]["sum"] > 300e6 and d["capture"]["complete"] and
		[l["what"] for l in d["capture"]["life"]] == ["end"]'
}

execs()
{
	[ -n "$cases" ] || return
	CASE_ATTACH_MS=3000 CASE_RESTART_MS=1500 start_ruby "$1" -W0 "$cases/45-exec-in-target.rb" ||
		return
	start_record -p "$PID" || return
	wait_record
	is "$1, exec: record goes on under the same pid, to the end" "$RECORD_STATUS" 0
	make_report "$1, exec" || return
	is_sound "$1, exec"
	holds "$1, exec: two are told" \
		'[l["what"] for l in d["capture"]["life"]] == ["exec", "exec", "end"]'
	for stage in 0 1 2; do
		from=$(tail -n 1 "$RUBY_OUT" | python3 -c \
			"import json; s = json.loads(input())['stages'][$stage]; print(s['t0_ns'], s['t1_ns'])")
		make_report "$1, exec" --from "${from% *}" --to "${from#* }" || continue
		holds "$1, exec: program $((stage + 1)) is seen while it closes" \
			"sum(l['seen_ns'] for l in locks) >= 0.99 * (${from#* } - ${from% *}) and
			 sum(l['hold_ns']['sum'] for l in locks) > 0"
	done
}

for ruby in 3.1 3.3 3.4; do
	fair_shares "$ruby"
	both_methods "$ruby"
done
for ruby in 3.1 3.4; do
	mixed_load "$ruby"
	exact_count "$ruby"
	ractors "$ruby"
	with_command "$ruby"
	children "$ruby"
done
for ruby in 3.3 3.4; do
	mn_threads "$ruby"
	boxed "$ruby"
done
dies 3.1
execs 3.4
several_pids
by_comm 3.1
done_testing
