#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its times are compared with the program's own clocks
# timeout: 600
#
# What is said of closes is what the programs of tests/close say of themselves. CLOSE_RUBIES lists the
# Rubies, by name or by path; what takes long, and what all do alike, is done with the first only.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

programs=$repo/tests/close

# agrees NAME PROGRAM: the report on the window of $tmp/truth agrees with it. Status 2, of which nothing is
# said, if it does but for times that a busy machine stretches.
agrees()
{
	# shellcheck disable=SC2046 # two numbers
	make_report "$1" $(json "$tmp/truth" '"--from %d --to %d" % (d["t0_ns"], d["t1_ns"])') || return 0
	"$repo/tests/tools/check-close" "$2" "$tmp/truth" "$report" "$tmp/report.txt" >"$tmp/compared" 2>&1
	case $? in
	0) ok "$1: what it says of itself is reported" ;;
	2) return 2 ;;
	*) not_ok "$1: what it says of itself is reported" "$(cat "$tmp/compared")" ;;
	esac
}

# alone RUBY PROGRAM [ARGS...]: recorded on its own from its first line on; three times at most if times
# are imprecise
alone()
{
	alone_name="$1, $2${3:+ $3}${4:+ $4}, from its first line on" alone_program=$2
	case $1 in
	/*) alone_ruby=$1 ;;
	*) alone_ruby="$repo/scripts/rubies run $1" ;;
	esac
	shift 2
	for _ in 1 2 3; do
		# shellcheck disable=SC2086
		if ! "$GVLSCOPE" record -o "$trace" -- $alone_ruby -W0 "$programs/$alone_program.rb" "$@" \
			>"$tmp/truth" 2>"$tmp/record.err" </dev/null; then
			not_ok "$alone_name: it is recorded" "$(cat "$tmp/record.err")"
			return
		fi
		agrees "$alone_name" "$alone_program" && return
		sed "s/^/# $alone_name: /" "$tmp/compared"
	done
	not_ok "$alone_name: what it says of itself is reported" "$(cat "$tmp/compared")"
}

# together RUBY PROGRAM[:ARG...]...: the tool attaches to all of them when their threads are parked already;
# then one after the other does its part. What is imprecise is done again, alone.
together()
{
	together_ruby=$1
	shift
	export CLOSE_WAIT=1
	pids=
	: >"$tmp/programs"
	for run; do
		# shellcheck disable=SC2046 # program and arguments
		set -- $(echo "$run" | tr : ' ')
		program=$1
		shift
		start_ruby "$together_ruby" -W0 "$programs/$program.rb" "$@" || continue
		pids=$pids${pids:+,}$PID
		echo "$PID $RUBY_OUT $program $*" >>"$tmp/programs"
	done
	unset CLOSE_WAIT
	start_record -p "$pids" || return
	while read -r pid _; do
		kill -USR1 "$pid"
		wait_for 60 gone "$pid"
	done <"$tmp/programs"
	wait_record
	if [ "$RECORD_STATUS" != 0 ]; then
		not_ok "$together_ruby: they are recorded" "$(cat "$tmp/record.err")"
		return
	fi
	: >"$tmp/again"
	while read -r _ out program arguments; do
		tail -n 1 "$out" >"$tmp/truth"
		agrees "$together_ruby, $program${arguments:+ $arguments}" "$program" && continue
		sed "s/^/# $together_ruby, $program${arguments:+ $arguments}: /" "$tmp/compared"
		echo "$program $arguments" >>"$tmp/again"
	done <"$tmp/programs"
	while read -r program arguments; do
		# shellcheck disable=SC2086
		alone "$together_ruby" "$program" $arguments
	done <"$tmp/again"
}

some='readers:100 readers:1000 one_pipe:1000 not_waiters:10 timing:1000 slow:stubborn slow:linger
	foreign:threads foreign:same foreign:ractors orphan:kill orphan:timeout'
more='not_waiters slow:linger-held slow:flush foreign:mixed orphan:raise'
first=
for ruby in ${CLOSE_RUBIES:-3.1 3.3 3.4}; do
	case $ruby in
	/*)
		for run in $some $more; do
			# shellcheck disable=SC2046 # program and arguments
			alone "$ruby" $(echo "$run" | tr : ' ')
		done
		continue
		;;
	esac
	if ! why=$("$repo/scripts/rubies" has "$ruby" 2>&1); then
		skip "ruby $ruby" "${why#*skipped: }"
		continue
	fi
	[ -z "$first" ] || more=
	# shellcheck disable=SC2086
	together "$ruby" $some $more
	alone "$ruby" readers 10
	alone "$ruby" foreign threads
	if [ -z "$first" ]; then
		first=$ruby
		alone "$ruby" readers 5000
		alone "$ruby" timing 10000
		alone "$ruby" slow many 5000
	fi
done
done_testing
