#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its times are compared with the program's own clocks
# timeout: 600
#
# What is said of copies is what the programs of tests/copy say of themselves. COPY_RUBIES lists the Rubies,
# by name or by path; COPY_RUNS says how often a share is sampled, with the first of them only.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

programs=$repo/tests/copy
runs=${COPY_RUNS:-5}

# record_copies RUBY RECORD-ARGS -- PROGRAM [ARGS...]: leaves $tmp/truth; status 1, reported, if it cannot be
record_copies()
{
	record_ruby=$1 record_how=$2
	shift 3
	record_name=$*
	record_program=$1
	shift
	set -- -W0 "$programs/$record_program.rb" "$@"
	case $record_ruby in
	/*) set -- "$record_ruby" "$@" ;;
	*) set -- "$repo/scripts/rubies" run "$record_ruby" "$@" ;;
	esac
	# shellcheck disable=SC2086
	"$GVLSCOPE" record $record_how -o "$trace" -- "$@" >"$tmp/truth" 2>"$tmp/record.err" </dev/null && return
	not_ok "$record_ruby, $record_name: it is recorded" "$(cat "$tmp/record.err")"
	return 1
}

# counted RUBY PROGRAM [ARGS...]: a report on all of it, as small copies have no time
counted()
{
	counted_ruby=$1
	shift
	record_copies "$counted_ruby" '--copies exact' -- "$@" || return
	make_report "$counted_ruby, $*" || return
	check "$counted_ruby, $*: its copies, by site, size and lock" \
		"$repo/tests/tools/check-copy" "$1" "$tmp/truth" "$report"
}

# timed RUBY: times are compared with the script's own clock, which a stall of the machine splits
# differently: what fails is said, and tried again.
timed()
{
	for _ in 1 2 3; do
		record_copies "$1" '--copies exact' -- timing || return
		# shellcheck disable=SC2046 # two numbers
		make_report "$1, timing" $(json "$tmp/truth" '"--from %d --to %d" % (d["t0_ns"], d["t1_ns"])') || return
		"$repo/tests/tools/check-copy" timing "$tmp/truth" "$report" >"$tmp/compared" 2>&1
		case $? in
		0) ok "$1: copies take as long as Ruby's clock says"; return ;;
		2) sed -n "s|^!|# $1, timing: &|p" "$tmp/compared" ;;
		*) break ;;
		esac
	done
	not_ok "$1: copies take as long as Ruby's clock says" "$(cat "$tmp/compared")"
}

# shared RUBY: of each share the interval tells it, but for one in ten
shared()
{
	: >"$tmp/truths"
	: >"$tmp/reports"
	for run in $(seq "$runs"); do
		# 0.1, 0.25, ... 0.7
		share=$(awk -v n="$run" 'BEGIN { print 0.1 + 0.15 * (n % 5) }')
		record_copies "$1" '--only copy' -- share "$share" || return
		make_report "$1, share $share" || return
		tail -n 1 "$tmp/truth" >>"$tmp/truths"
		tr -d '\n' <"$report" >>"$tmp/reports"
		echo >>"$tmp/reports"
	done
	need=$((runs * 9 / 10))
	check "$1: the share of time in copies is in its interval, $need times of $runs" \
		"$repo/tests/tools/check-copy" shares "$need" "$tmp/truths" "$tmp/reports"
}

# placed RUBY: each copy is told with its processor, plus 1
placed()
{
	cpus=$(taskset -cp $$ | sed 's/.*: //')
	cpu=${cpus##*[,-]}
	taskset -cp "$cpu" $$ >/dev/null
	record_copies "$1" '--only copy' -- timing
	taskset -cp "$cpus" $$ >/dev/null
	is "$1: copies are told with their processor" \
		"$("$repo/.build/tools/trace_dump" "$trace" | awk -F'\t' '$1 == "COPY" { print $11 }' | sort -u)" "$((cpu + 1))"
}

first=
for ruby in ${COPY_RUBIES:-3.1 3.3 3.4}; do
	case $ruby in
	/*) ;;
	*)
		if ! why=$("$repo/scripts/rubies" has "$ruby" 2>&1); then
			skip "ruby $ruby" "${why#*skipped: }"
			continue
		fi
		;;
	esac
	counted "$ruby" buffers
	# Up to 3.3 nobody asks a scheduler.
	case $ruby in
	3.1 | 3.3) kinds=thread ;;
	*) kinds='none thread blocking ignore' ;;
	esac
	for kind in $kinds; do
		counted "$ruby" scheduler "$kind"
	done
	counted "$ruby" small
	timed "$ruby"
	if [ -z "$first" ]; then
		first=$ruby
		placed "$ruby"
		shared "$ruby"
	fi
done
done_testing
