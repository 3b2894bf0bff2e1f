#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 240
#
# What goes wrong gives one clear sentence and the right exit status, and does the target no harm.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

# Works until it is told to stop, then says how much of it was done, and that nothing was wrong.
# shellcheck disable=SC2016
worker='
r, w = IO.pipe
$stop = false
trap("TERM") { $stop = true }
ths = 2.times.map { n = 0; Thread.new { until $stop; w.syswrite("x"); n += 1; r.sysread(1) == "x" or abort "wrong"; end; n } }
sum = Thread.new { n = 0; until $stop; (1..500).sum == 125_250 or abort "wrong"; n += 1; sleep 0.001; end; n }
$stderr.puts "READY"
sleep 0.01 until $stop
puts "RESULT #{(ths + [sum]).all? { |t| t.value > 10 } ? "well" : "too little"}"
'

# fault NAME STATUS PATTERN COMMAND...: that status, and one sentence (and its remedy) on stderr
fault()
{
	fault_name=$1 fault_want=$2 fault_pattern=$3
	shift 3
	"$@" >"$tmp/out" 2>"$tmp/err"
	fault_got=$?
	if [ "$fault_got" = "$fault_want" ] && [ "$(wc -l <"$tmp/err")" -le 2 ] && [ ! -s "$tmp/out" ] &&
	   head -n 1 "$tmp/err" | grep -Eq "^gvlscope: .*$fault_pattern"; then
		ok "$fault_name"
	else
		not_ok "$fault_name" "got status $fault_got, want $fault_want; want one line like $fault_pattern" \
			"stderr:" "$(cat "$tmp/err")" "stdout:" "$(head -n 5 "$tmp/out")"
	fi
}

# is_well NAME: the worker $PID goes on working, ends when told to, and its result is right
is_well()
{
	kill -CONT "$PID" 2>/dev/null
	kill -TERM "$PID" 2>/dev/null
	wait_for 10 gone "$PID"
	wait "$PID"
	is_well_status=$?
	is "$1" "status $is_well_status, $(cat "$RUBY_OUT")" "status 0, RESULT well"
}

# shellcheck disable=SC2317 # called by fault
record_it()
{
	"$GVLSCOPE" record -p "$PID" -d 300ms -o "$trace" "$@"
}

wrong_targets()
{
	fault 'no such process' 1 'no such process' "$GVLSCOPE" record -p 4194304 -o "$trace"
	fault 'what is no process id' 2 'not a process id' "$GVLSCOPE" record -p 12x -o "$trace"
	fault 'neither process nor command' 2 'give ' "$GVLSCOPE" record -o "$trace"
	fault 'no such method' 2 'method' "$GVLSCOPE" record -p 1 --method guess -o "$trace"

	sleep 60 &
	not_ruby=$!
	started "$not_ruby"
	fault 'not a Ruby' 77 'no CRuby' "$GVLSCOPE" record -p "$not_ruby" -o "$trace"
	exits 'doctor: not a Ruby' 77 "$GVLSCOPE" doctor -p "$not_ruby"
	check 'not a Ruby: it goes on' alive "$not_ruby"

	cp "$(command -v sleep)" "$tmp/truffleruby"
	"$tmp/truffleruby" 60 &
	truffle=$!
	started "$truffle"
	fault 'TruffleRuby' 77 'TruffleRuby' "$GVLSCOPE" record -p "$truffle" -o "$trace"
	if libm=$(ldd "$GVLSCOPE" | awk '/libm\.so/ { print $3 }') && [ -n "$libm" ]; then
		cp "$libm" "$tmp/libjvm.so"
		LD_PRELOAD=$tmp/libjvm.so sleep 60 &
		jruby=$!
		started "$jruby"
		wait_for 5 grep -q libjvm "/proc/$jruby/maps"
		fault 'JRuby' 77 'JVM' "$GVLSCOPE" record -p "$jruby" -o "$trace"
	fi

	fault 'a command that cannot be run: as a shell says it' 127 'No such file' \
		"$GVLSCOPE" record -o "$trace" -- /nonexistent
	fault 'a command that is no Ruby' 77 '' "$GVLSCOPE" record -o "$trace" -- true
}

# without CAPABILITY[,...] NAME: it is named
without()
{
	drop=$(echo "$1" | sed 's/[a-z_]*/-&/g')
	if ! command -v setpriv >/dev/null; then
		skip "without $1" 'no setpriv'
		return
	fi
	fault "without $1: $2 is named" 77 "$2" setpriv --bounding-set "$drop" --inh-caps "$drop" \
		"$GVLSCOPE" record -p "$PID" -d 300ms -o "$trace"
}

privileges()
{
	without sys_admin,bpf CAP_BPF
	without sys_admin,perfmon CAP_PERFMON
	without sys_ptrace CAP_SYS_PTRACE
	fault 'as nobody: a capability is named' 77 'CAP_' setpriv --reuid 65534 --clear-groups \
		"$GVLSCOPE" record -p "$PID" -d 300ms -o "$trace"
}

stopped()
{
	kill -STOP "$PID"
	timeout 30 "$GVLSCOPE" record -p "$PID" -d 300ms -o "$trace" >"$tmp/out" 2>"$tmp/err"
	stopped_status=$?
	case $stopped_status in
	0 | 1) has "stopped: it is said (status $stopped_status)" "$tmp/err" 'stopped' ;;
	*) not_ok 'stopped: it is said' "got status $stopped_status, want 0 or 1" "$(cat "$tmp/err")" ;;
	esac
	kill -CONT "$PID"

	start_record -p "$PID" || return
	kill -STOP "$PID"
	wait_for 5 is_stopped
	end_record
	is 'stopped while traced: record ends well' "$RECORD_STATUS" 0
	kill -CONT "$PID"
	make_report 'stopped while traced' && is_sound 'stopped while traced'

	command -v gdb >/dev/null || { skip 'held by a debugger' 'no gdb'; return; }
	# shellcheck disable=SC2016
	gdb -q -batch -p "$PID" -ex 'shell touch "$HELD"; while [ -e "$HELD" ]; do sleep 0.1; done' \
		>/dev/null 2>&1 </dev/null &
	gdb=$!
	started "$gdb"
	if ! wait_for 30 test -e "$HELD"; then
		skip 'held by a debugger' 'gdb cannot hold it'
		return
	fi
	timeout 30 "$GVLSCOPE" record -p "$PID" -d 300ms -o "$trace" >"$tmp/out" 2>"$tmp/err"
	stopped_status=$?
	case $stopped_status in
	0 | 1) has "held by a debugger: it is said (status $stopped_status)" "$tmp/err" 'debugger' ;;
	*) not_ok 'held by a debugger: it is said' "got status $stopped_status, want 0 or 1" \
		"$(cat "$tmp/err")" ;;
	esac
	rm -f "$HELD"
	wait "$gdb"
}
export HELD="$tmp/held"

# shellcheck disable=SC2317 # called by wait_for
is_stopped()
{
	grep -q '^State:.*stopped' "/proc/$PID/status"
}

# Processes that end or become something else at any moment of being attached.
short_lives()
{
	bad=
	for ms in 0 60 120 180 240 300 400 500 700; do
		for ends in 'exit!(0)' 'exec("/bin/true")' 'Process.kill(:KILL, $$)'; do
			ruby3.1 -e "sleep $ms / 1000.0; $ends" >/dev/null 2>&1 &
			short=$!
			timeout 30 "$GVLSCOPE" record -p "$short" -d 5s -o "$trace" >"$tmp/out" 2>"$tmp/err"
			short_status=$?
			wait "$short" 2>/dev/null
			case $short_status in
			0 | 1 | 77) ;;
			*) bad="$bad $ends after $ms ms: status $short_status: $(cat "$tmp/err");" ;;
			esac
			[ "$short_status" = 0 ] || [ "$(wc -l <"$tmp/err")" -le 2 ] ||
				bad="$bad $ends after $ms ms: more than a sentence: $(cat "$tmp/err");"
		done
	done
	is 'ended, became another program, was killed while being attached: a sentence or a trace' "$bad" ''
}

# copied_ruby SED-SCRIPT: Ruby 3.1 with a changed libruby, working
copied_ruby()
{
	libruby=$(ldd "$(command -v ruby3.1)" | awk '/libruby/ { print $3 }')
	[ -n "$libruby" ] || return
	rm -rf "${tmp:?}/lib"
	mkdir "$tmp/lib"
	python3 - "$libruby" "$tmp/lib/$(basename "$libruby")" "$1" <<-PY
		import re, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		exec(sys.argv[3])
		open(sys.argv[2], "wb").write(data)
	PY
	export LD_LIBRARY_PATH="$tmp/lib"
	start_ruby 3.1 --disable=gems -W0 -e "$worker"
	copied=$?
	unset LD_LIBRARY_PATH
	return $copied
}

odd_objects()
{
	copied_ruby 'data[:] = re.sub(rb"(?<=\0)3\.1\.2(?=\0)", b"3.9.7", data)' || return
	fault 'an unknown version without symbols: it is named' 77 '3\.9\.7' record_it
	exits 'an unknown version, --layout-from: it is tried, under the same checks' 0 \
		record_it --layout-from 3.1.2
	exits 'an unknown version, --layout-from another one: refused or traced' 77 \
		record_it --layout-from 3.4.9
	is_well 'an unknown version: the target is well'

	copied_ruby 'data[0x28:0x30] = b"\xff" * 7 + b"\x7f"; data[0x3c:0x3e] = b"\xff\xff"' || return
	timeout 30 "$GVLSCOPE" record -p "$PID" -d 300ms -o "$trace" >"$tmp/out" 2>"$tmp/err"
	is 'an ELF header that lies about its sections: a sentence or a trace' \
		"$(case $? in 0 | 77) echo fine ;; *) echo "status $?: $(cat "$tmp/err")" ;; esac)" fine
	is_well 'an ELF header that lies: the target is well'

	copied_ruby '' || return
	echo 'not an ELF file' >"$tmp/lib/new"
	mv "$tmp/lib/new" "$tmp/lib/$(basename "$libruby")"
	timeout 30 "$GVLSCOPE" record -p "$PID" -d 300ms -o "$trace" >"$tmp/out" 2>"$tmp/err"
	is 'libruby was replaced on the disk: a sentence or a trace' \
		"$(case $? in 0 | 77) echo fine ;; *) echo "status $?: $(cat "$tmp/err")" ;; esac)" fine
	is_well 'libruby was replaced: the target is well'
}

disk_full()
{
	fault 'no room for the first byte' 1 'No space left' \
		"$GVLSCOPE" record -p "$PID" -d 10s -o /dev/full
	mkdir -p "$tmp/small"
	# shellcheck disable=SC2016
	fault 'a disk that becomes full' 1 'No space left' unshare --mount sh -c '
		mount -t tmpfs -o size=64k tmpfs "$1" || exit 99
		"$2" record -q -p "$3" -d 60s -o "$1/trace.gvs"
		status=$?
		cp "$1/trace.gvs" "$4"
		exit "$status"' sh "$tmp/small" "$GVLSCOPE" "$PID" "$trace"
	[ "$fault_got" != 99 ] || return
	make_report 'a disk that became full' || return
	is_sound 'a disk that became full'
	holds 'a disk that became full: what came before is there, and known to be cut' '
		lock["hold_ns"]["count"] > 100 and not d["capture"]["complete"]'
	# shellcheck disable=SC2016
	exits 'a report that cannot be written' 1 \
		sh -c '"$1" report "$2" >/dev/full' sh "$GVLSCOPE" "$trace"
	head -c 1000 "$trace" >"$tmp/short.gvs"
	exits 'a trace that was cut is reported' 0 "$GVLSCOPE" report "$tmp/short.gvs"
	echo 'no trace' >"$tmp/no.gvs"
	fault 'what is no trace' 5 'not a trace' "$GVLSCOPE" report "$tmp/no.gvs"
	fault 'no such file' 5 'No such file' "$GVLSCOPE" report "$tmp/none.gvs"
}

# probes_in: how many bytes of libruby's code are not those of its file
probes_in()
{
	python3 - "$PID" <<-'PY'
		import sys
		pid, n = sys.argv[1], 0
		for line in open(f"/proc/{pid}/maps"):
		    part = line.split()
		    if "x" in part[1] and "libruby" in line:
		        start, end = (int(x, 16) for x in part[0].split("-"))
		        with open(f"/proc/{pid}/mem", "rb") as mem, open(part[5], "rb") as f:
		            mem.seek(start)
		            f.seek(int(part[2], 16))
		            n += sum(a != b for a, b in zip(mem.read(end - start), f.read(end - start)))
		print(n)
	PY
}

# shellcheck disable=SC2317 # called by wait_for
no_probes()
{
	[ "$(probes_in)" = 0 ]
}

killed()
{
	start_record -p "$PID" || return
	is 'while it is traced there are probes in it' "$([ "$(probes_in)" -gt 0 ] && echo yes)" yes
	kill -KILL "$RECORD"
	wait "$RECORD" 2>/dev/null
	wait_for 10 no_probes
	is 'SIGKILL of gvlscope leaves no probe behind' "$(probes_in)" 0
	exits 'after it one can attach again' 0 record_it
	make_report 'after SIGKILL' && holds 'after it one sees as much as ever' '
		lock["hold_ns"]["count"] > 10 and not any(d["lost"].values())'
}

wrong_targets
if start_ruby 3.1 -W0 -e "$worker"; then
	privileges
	stopped
	disk_full
	killed
	is_well 'after all that the target has done its work'
	short_lives
	odd_objects
fi
done_testing
