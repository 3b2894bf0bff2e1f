#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 600
#
# What is said of closes is what the programs of tests/close say of themselves. CLOSE_RUBIES lists the
# Rubies, by name or by path; what takes long is done with the first only.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

programs=$repo/tests/close

# agrees RUBY NAME PROGRAM: the report on the trace and $tmp/truth agree. Status 2, of which nothing is
# said, if they do but for times that a busy machine stretches.
agrees()
{
	# shellcheck disable=SC2046 # two numbers
	make_report "$1, $2" $(json "$tmp/truth" '"--from %d --to %d" % (d["t0_ns"], d["t1_ns"])') || return 0
	"$repo/tests/tools/check-close" "$3" "$tmp/truth" "$report" "$tmp/report.txt" >"$tmp/compared" 2>&1
	case $? in
	0) ok "$1, $2: what it says of itself is reported" ;;
	2) return 2 ;;
	*) not_ok "$1, $2: what it says of itself is reported" "$(cat "$tmp/compared")" ;;
	esac
}

# close_of RUBY PROGRAM [ARGS...]: recorded from its first line on
close_of()
{
	close_ruby=$1 close_program=$2
	close_name=$2${3:+ $3}${4:+ $4}
	shift 2
	set -- -W0 "$programs/$close_program.rb" "$@"
	case $close_ruby in
	/*) set -- "$close_ruby" "$@" ;;
	*) set -- "$repo/scripts/rubies" run "$close_ruby" "$@" ;;
	esac
	for _ in 1 2 3; do
		if ! "$GVLSCOPE" record -o "$trace" -- "$@" >"$tmp/truth" 2>"$tmp/record.err" </dev/null; then
			not_ok "$close_ruby, $close_name: it is recorded" "$(cat "$tmp/record.err")"
			return
		fi
		agrees "$close_ruby" "$close_name" "$close_program" && return
		sed "s/^/# $close_ruby, $close_name: /" "$tmp/compared"
	done
	not_ok "$close_ruby, $close_name: what it says of itself is reported" "$(cat "$tmp/compared")"
}

# The same with a tool that attaches when all are parked, and so has to find them on the list.
attached()
{
	attached_ruby=$1 attached_program=$2
	attached_name="$2${3:+ $3}, parked before"
	shift 2
	export CLOSE_WAIT=1
	start_ruby "$attached_ruby" -W0 "$programs/$attached_program.rb" "$@"
	attached=$?
	unset CLOSE_WAIT
	[ "$attached" = 0 ] || return
	start_record -p "$PID" || return
	kill -USR1 "$PID"
	wait_record
	if [ "$RECORD_STATUS" != 0 ]; then
		not_ok "$attached_ruby, $attached_name: it is recorded" "$(cat "$tmp/record.err")"
		return
	fi
	tail -n 1 "$RUBY_OUT" >"$tmp/truth"
	agrees "$attached_ruby" "$attached_name" "$attached_program" ||
		not_ok "$attached_ruby, $attached_name: what it says of itself is reported" "$(cat "$tmp/compared")"
}

first=
for ruby in ${CLOSE_RUBIES:-3.1 3.3 3.4}; do
	case $ruby in
	/*) ;;
	*)
		if ! why=$("$repo/scripts/rubies" has "$ruby" 2>&1); then
			skip "ruby $ruby" "${why#*skipped: }"
			continue
		fi
		attached "$ruby" readers 100
		attached "$ruby" not_waiters 10
		;;
	esac
	for n in ${CLOSE_READERS:-10 100 1000}; do
		close_of "$ruby" readers "$n"
		close_of "$ruby" one_pipe "$n"
	done
	close_of "$ruby" not_waiters
	close_of "$ruby" not_waiters 10
	close_of "$ruby" timing 1000
	for kind in stubborn linger linger-held flush 'many 5000'; do
		# shellcheck disable=SC2086
		close_of "$ruby" slow $kind
	done
	for kind in threads same mixed ractors; do
		close_of "$ruby" foreign "$kind"
	done
	for kind in raise kill timeout; do
		close_of "$ruby" orphan "$kind"
	done
	if [ -z "$first" ]; then
		first=$ruby
		close_of "$ruby" readers 5000
		close_of "$ruby" one_pipe 5000
		close_of "$ruby" timing 10000
	fi
done
done_testing
