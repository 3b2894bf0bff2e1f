#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its times are compared with the program's own clocks
# timeout: 600
#
# What the trace says of the lock is what Ruby itself says of it: tests/truth/compare.py.
. "$(dirname "$0")/lib.sh"

need_root
truth=$repo/tests/truth
tools=$repo/.build/tools
for tool in "$GVLSCOPE" "$tools/trace_dump" "$tools/switches"; do
	[ -x "$tool" ] || skip_all "no $tool: run make check"
done

# shellcheck disable=SC2317 # called by wait_for
listens()
{
	grep -qs '^READY' "$tmp/switches.err"
}

# record_truth RUBY WORKLOAD: leaves log, switches, dump in $tmp; status 1 (reported) if it cannot
record_truth()
{
	start_ruby "$1" -W0 "$truth/$2.rb" "$tmp/log" || return
	"$tools/switches" "$PID" >"$tmp/switches" 2>"$tmp/switches.err" &
	switches=$!
	started "$switches"
	if ! wait_for 10 listens; then
		skip "$1, $2" "perf cannot tell of switches: $(cat "$tmp/switches.err")"
		stop "$PID"
		return 1
	fi
	gvlscope record --only gvl -p "$PID" -d 1s -o "$tmp/gvs" 2>"$tmp/record.err"
	recorded=$?
	kill -TERM "$PID" "$switches"
	wait "$switches"
	whole=$?
	wait_for 20 gone "$PID"
	if [ "$recorded" != 0 ] || ! grep -q '^DONE' "$RUBY_OUT" ||
	   ! "$tools/trace_dump" "$tmp/gvs" >"$tmp/dump"; then
		not_ok "$1, $2: it is recorded" "record: status $recorded" "$(cat "$tmp/record.err")" \
			"ruby:" "$(tail -n 5 "$RUBY_OUT" "$RUBY_ERR")"
		return 1
	fi
	# Without all switches there is no excuse to be had for what was preempted.
	[ "$whole" = 0 ] || echo "# perf lost some switches"
}

# agrees RUBY WORKLOAD. Where times are imprecise and nothing else is wrong, the machine may have been
# busy: once more.
agrees()
{
	for _ in 1 2 3 4 5; do
		record_truth "$1" "$2" || return
		"$truth/compare.py" "$tmp/log" "$tmp/dump" "$tmp/switches" >"$tmp/compared" 2>&1
		agrees=$?
		sed "s/^/# $1, $2: /" "$tmp/compared"
		[ "$agrees" = 2 ] || break
	done
	if [ "$agrees" = 0 ]; then
		ok "$1, $2: the trace says what Ruby says"
	else
		not_ok "$1, $2: the trace says what Ruby says" "$(cat "$tmp/compared")"
	fi
}

for ruby in ${TRUTH_RUBIES:-3.3 3.4}; do
	if ! why=$("$repo/scripts/rubies" has "$ruby" 2>&1); then
		skip "ruby $ruby" "${why#*skipped: }"
		continue
	fi
	mkdir "$tmp/$ruby"
	export TRUTH_EXT="$tmp/$ruby/truth.so"
	if ! why=$("$repo/scripts/rubies" cext "$ruby" "$truth/truth_ext.c" "$TRUTH_EXT" 2>&1); then
		not_ok "$ruby: truth_ext.c compiles" "$why"
		continue
	fi
	for workload in ${TRUTH_WORKLOADS:-pingpong mutex queue sleep pass preempt births}; do
		agrees "$ruby" "$workload"
	done
done
done_testing
