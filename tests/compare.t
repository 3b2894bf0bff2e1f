#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: what it predicts is compared with what is measured on a shared machine
# timeout: 400
#
# gvlscope compare: its command line, its JSON, and predictions for real Rubies.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

tools=$repo/.build/tools

# fails NAME STATUS PATTERN ARGS...: one sentence, and nothing on stdout
fails()
{
	fails_name=$1 fails_status=$2 fails_pattern=$3
	shift 3
	exits "$fails_name" "$fails_status" gvlscope compare -q "$@" </dev/null
	has "$fails_name: one sentence" "$tmp/err" "^gvlscope: .*$fails_pattern"
	is "$fails_name: nothing on stdout" "$(cat "$tmp/out")" ''
}

exits 'compare --help' 0 gvlscope compare --help
has 'compare --help is its usage' "$tmp/out" '^usage: gvlscope compare'
fails 'no file' 2 'give one trace file'
fails 'two files' 2 'give one trace file' a b
fails 'an unknown format' 2 'xml: not one of' -f xml a
fails 'a threshold that is none' 2 'much: not a size' --threshold much a
fails 'a threshold of nothing' 2 '0: not a size' --threshold 0 a
fails 'an unknown option' 2 '--frob: unknown option' --frob a
fails 'a file that is not there' 5 'No such file' "$tmp/none"
echo 'no trace' >"$tmp/text"
fails 'a file that is no trace' 5 "$tmp/text" "$tmp/text"

"$tools/trace-gen" write "$tmp/locks.gvs" 1000 >"$tmp/gen"
fails 'a trace without closes and copies' 4 'has no closes' "$tmp/locks.gvs"

# A million events, closes among them.
"$tools/trace-gen" write "$tmp/million.gvs" 350000 100 handoff 64 >"$tmp/gen"
is 'a million events are written' "$(($(sed 's/wrote \([0-9]*\) .*/\1/' "$tmp/gen") > 1000000))" 1
begin=$(date +%s)
exits 'a million events are compared' 0 gvlscope compare -q -f json "$tmp/million.gvs"
is '... in less than 30 s' "$(($(date +%s) - begin < 30))" 1
head -c 100000 "$tmp/million.gvs" >"$tmp/cut.gvs"
exits 'a trace that was cut is compared' 0 gvlscope compare -q "$tmp/cut.gvs"
has '... which it says' "$tmp/out" '^The trace has no end'
head -c 60 "$tmp/million.gvs" >"$tmp/begin.gvs"
fails 'a trace of which next to nothing is left' 4 'the trace, of which the end is missing, has no closes' "$tmp/begin.gvs"
exits 'a full disk is a failure' 1 sh -c "exec '$GVLSCOPE' compare -q '$tmp/cut.gvs' >/dev/full"

# compared NAME RUBY PROGRAM ARGS...: $report is what compare says of it, with a sweep
compared()
{
	compared_name="$1, Ruby $2" compared_ruby=$2
	shift 2
	if ! why=$("$repo/scripts/rubies" has "$compared_ruby" 2>&1); then
		skip "$compared_name" "${why#*skipped: }"
		return 1
	fi
	cp -R "$repo/scripts/ruby/." "$tmp/ruby"	# chrooted ones see no more
	program=$tmp/ruby/$1
	shift
	exits "$compared_name: recorded" 0 "$GVLSCOPE" record -q -o "$trace" -- \
		"$repo/scripts/rubies" run "$compared_ruby" -W0 "$program" "$@"
	exits "$compared_name: compared" 0 gvlscope compare -q --sweep -f json "$trace"
	mv "$tmp/out" "$report"
	check "$compared_name: the JSON fits its schema, which has all of its keys" \
		"$repo/tests/tools/check-schema" "$repo/tests/schema/findings.schema.json" "$report"
}

# finds NAME EXPRESSION: a Python expression on the findings d is true
finds()
{
	finds_got=$(json "$report" "$2" 2>&1)
	if [ "$finds_got" = True ]; then
		ok "$1"
	else
		not_ok "$1" "want: $2" "got:  $finds_got" "$(json "$report" 'd["facts"]')" \
			"$(json "$report" 'd["tables"]')"
	fi
}

mkdir "$tmp/ruby"
RUNS=3
export RUNS
if compared 'closes beside 1,000 readers' 3.3 close_beside.rb 1000; then
	finds 'the scan is most of such a close, and would vanish' \
		'd["facts"]["speedup_close"]["low"] > 2 and "would vanish" in d["summary"][0]'
	# a list is as much in order as the threads' starts and the machine's load left it
	finds 'the reference scans as Ruby does: in order at most as long, in no order at least' \
		'(lambda t, o, s: 0.75 * o < t < 1.25 * s)(*(d["tables"]["close_calibration"][i][k]["value"]
			for i, k in ((0, "traced_ns"), (0, "reference_ns"), (1, "reference_ns"))))'
	gvlscope report -f json "$trace" >"$tmp/traced"
	trap_ns=$(json "$tmp/traced" 'd["cost"]["uprobe_ns"]')
	finds 'it is trusted if the nearer of the two is near enough, and a probe takes no longer than a close' \
		'len({d["facts"]["close_error"]["value"] <= 0.25 and all('"$trap_ns"' <= d["tables"]["close_parts"][-1][k]["value"]
			for k in ("traced_ns", "predicted_ns")), d["facts"]["close_trusted"] == "yes",
			"not to be trusted" not in d["summary"][0]}) == 1'
	exits 'Ctrl-C is status 1' 1 timeout --foreground --preserve-status -s INT 0.4 \
		"$GVLSCOPE" compare "$trace"
	has '... and named' "$tmp/err" '^gvlscope: compare: interrupted'
fi
THREADS=4
export THREADS
if compared 'copies by four threads' 3.3 copy_table.rb 5; then
	finds 'with two CPUs they would be faster without the lock' \
		'd["facts"]["speedup_copy"]["value"] > 1 or d["host"]["cpus"] < 2'
	finds 'replayed unchanged, the waiting is what was traced' 'd["facts"]["replay_error"]["value"] <= 0.02'
	finds 'no copy holds the lock any more' \
		'[r["predicted_ns"]["value"] for r in d["tables"]["copy_lock"] if "owner copied" in r["what"]] == [0]'
	finds 'a threshold above all sizes changes nothing' \
		'd["tables"]["copy_sweep"][-1]["copies"] == 0'
fi
if compared 'copies by four threads' 3.4 copy_table.rb 5; then
	finds 'a Ruby that has the newer design is compared the other way round' \
		'"with the lock" in d["summary"][0]'
	finds 'replayed unchanged, the waiting is what was traced, 3.4' 'd["facts"]["replay_error"]["value"] <= 0.02'
	finds 'all copies would hold the lock' \
		'[r["predicted_ns"]["value"] > 0 for r in d["tables"]["copy_lock"] if "owner copied" in r["what"]] == [True]'
fi

done_testing
