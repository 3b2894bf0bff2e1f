#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: it compares times of programs
# timeout: 300
#
# The programs of scripts/ruby under Debian's Rubies: what they print, and that it shows what each design is
# known for. scripts/ruby/side-by-side puts the reference beside them.
. "$(dirname "$0")/lib.sh"

programs=$repo/scripts/ruby

# run_program RUBY PROGRAM [ARGS...]: $tmp/PROGRAM-RUBY, an array of what it printed; status 1, reported, if
# it fails
run_program()
{
	run_out=$tmp/$2-$1
	run_ruby=$1 run_name=$2
	shift 2
	if "$repo/scripts/rubies" run "$run_ruby" -W0 "$programs/$run_name.rb" "$@" \
		>"$tmp/lines" 2>"$tmp/err" </dev/null &&
	   python3 -c 'import json, sys; print(json.dumps([json.loads(line) for line in sys.stdin]))' \
		<"$tmp/lines" >"$run_out" 2>>"$tmp/err"; then
		return
	fi
	not_ok "$run_ruby, $run_name: runs" "$(tail -n 20 "$tmp/err")"
	return 1
}

# prints RUBY PROGRAM KEY CELLS [ARGS...]: a line for each of CELLS, with the median of RUNS positive runs
prints()
{
	prints_ruby=$1 prints_program=$2 prints_key=$3 prints_cells=$4
	shift 4
	run_program "$prints_ruby" "$prints_program" "$@" || return
	is "$prints_ruby, $prints_program: a line for each cell" "$(json "$run_out" \
		'[{k: v for k, v in x.items() if k not in ("runs", "'"$prints_key"'")} for x in d]')" \
		"$prints_cells"
	is "$prints_ruby, $prints_program: the median of $RUNS runs" "$(json "$run_out" \
		'all(len(x["runs"]) == '"$RUNS"' and min(x["runs"]) > 0
		     and sorted(x["runs"])[1] == x["'"$prints_key"'"] for x in d)')" True
}

# tries NAME FUNCTION ARGS...: what compares times is tried five times, as a machine may be busy
tries()
{
	tries_name=$1
	shift
	for _ in 1 2 3 4 5; do
		if tries_got=$("$@"); then
			ok "$tries_name"
			return
		fi
		echo "# $tries_name: $tries_got"
	done
	not_ok "$tries_name" "$tries_got"
}

# shellcheck disable=SC2317 # called by tries
# compares EXPRESSION 'RUBY PROGRAM [ARGS...]'...: a Python expression on v, the least run of each line that
# these programs print, as that is the least disturbed one. Prints v.
compares()
{
	compares_what=$1 compares_got=
	shift
	for compares_run; do
		# shellcheck disable=SC2086 # Ruby, program, arguments
		run_program $compares_run || return
		compares_got="$compares_got $(json "$run_out" '" ".join(str(min(x["runs"])) for x in d)')"
	done
	echo "$compares_got"
	python3 -c 'import sys; v = [float(x) for x in sys.argv[2].split()]; sys.exit(not eval(sys.argv[1]))' \
		"$compares_what" "$compares_got"
}

export RUNS=3
found=
for ruby in 3.3 3.4; do
	if ! why=$("$repo/scripts/rubies" has "$ruby" 2>&1); then
		skip "ruby $ruby" "${why#*skipped: }"
		continue
	fi
	found="$found $ruby"
	prints "$ruby" close_table close_ns \
		"[{'program': 'close', 'readers': 5}, {'program': 'close', 'readers': 50}]" 5 50
	prints "$ruby" close_beside close_ns "[{'program': 'close_beside', 'readers': 5}]" 5
	THREADS=2 prints "$ruby" copy_table total_ns \
		"[{'program': 'copy', 'threads': 2, 'bytes': 1048576}, {'program': 'copy', 'threads': 2, 'bytes': 2097152}]" 1 2
done

case $found in
*3.3*)
	tries '3.3: a close takes longer among 1,000 readers than among 10' \
		compares 'v[1] > 1.2 * v[0]' '3.3 close_table 10 1000'
	tries '3.3: a close of what nobody reads takes longer, too' \
		compares 'v[1] > 1.5 * v[0]' '3.3 close_beside 10 1000'
	RUNS=41 THREADS=1,2 tries '3.3: two threads take twice as long to copy as one' \
		compares 'v[1] > 1.7 * v[0]' '3.3 copy_table 5'
	;;
esac
case $found:$(nproc) in
*:1) skip '3.4: two threads copy faster than with 3.3' 'needs two CPUs' ;;
*3.3*3.4:*)
	RUNS=41 THREADS=2 tries '3.4: two threads copy faster than with 3.3' \
		compares 'v[1] < 0.85 * v[0]' '3.3 copy_table 5' '3.4 copy_table 5'
	;;
esac

side()
{
	"$programs/side-by-side" "$@"
}

exits 'side-by-side explains itself' 0 side --help
has 'side-by-side says what its environment means' "$tmp/out" 'READERS='
exits 'side-by-side: a wrong option is wrong usage' 2 side --wrong
exits 'side-by-side: a Ruby that is not there' 1 side copy /none
exits 'validate-compare explains itself' 0 "$repo/scripts/validate-compare" --help
exits 'validate-compare: one Ruby is too few' 2 "$repo/scripts/validate-compare" /none

if [ -z "$found" ]; then
	done_testing
fi
both_closes='direct global per-io'
both_rates="$both_closes; $both_closes"
# shellcheck disable=SC2086 # Rubies
if RUNS=1 READERS=10 MIB=1 THREADS=1,2 side -f json all $found >"$tmp/side.json" 2>"$tmp/err"; then
	is 'side-by-side: each cell has a figure of each Ruby' "$(json "$tmp/side.json" \
		'all(r["rubies"][x["name"]]["value"] > 0 for p in ("close", "copy") for r in d[p] for x in d["rubies"])')" True
	is 'side-by-side: each cell that the reference has too, with each design' "$(json "$tmp/side.json" \
		'"; ".join(" ".join(sorted(r["reference"])) for p in ("close", "copy") for r in d[p])')" \
		"$both_closes; ; $both_rates; held released; held released"
	is 'side-by-side: times is the Ruby over its own design' "$(json "$tmp/side.json" \
		'all(abs(r["times"][n] * r["reference"]["global"]["value"] / r["rubies"][n]["value"] - 1) < 1e-9
		     for r in d["close"] if r["program"] == "close" for n in r["times"])')" True
else
	not_ok 'side-by-side runs' "$(tail -n 20 "$tmp/err")"
fi
# shellcheck disable=SC2086
RUNS=1 MIB=1 THREADS=2 side copy $found >"$tmp/side.txt" 2>"$tmp/err"
has 'side-by-side: a table with a column for each Ruby and each design' "$tmp/side.txt" \
	"^2 x 1 MiB(  +[0-9.,]+ ms){$(($(echo "$found" | wc -w) + 2))}(  +[0-9.]+x)+\$"
done_testing
