#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: it compares times on a shared machine
# timeout: 300
#
# gvlscope bench: its command line, its JSON, and the shape of the published tables.

. "$(dirname "$0")/lib.sh"

# says NAME PATTERN: the last command said so on stderr, and nothing on stdout
says()
{
	has "$1: one sentence" "$tmp/err" "^gvlscope: .*$2"
	is "$1: nothing on stdout" "$(cat "$tmp/out")" ''
}

# usage NAME PATTERN ARGS...
usage()
{
	usage_name=$1 usage_pattern=$2
	shift 2
	exits "$usage_name" 2 gvlscope bench "$@"
	says "$usage_name" "$usage_pattern"
}

exits 'bench --help' 0 gvlscope bench --help
has 'bench --help is its usage' "$tmp/out" '^usage: gvlscope bench'
usage 'bench of nothing' 'give one of close, copy, gvl'
usage 'bench of two' 'give one of close, copy, gvl' close copy
usage 'bench of something else' 'frob: not one of close, copy, gvl' frob
usage 'an unknown format' 'html: not one of text, json, markdown' close -f html
usage 'an unknown option' '--frob: unknown option' --frob close
usage 'an option without its value' 'missing value' close --readers
usage 'readers that are no number' 'many: not a number of readers' close --readers many
usage 'no readers' '0: not a number of readers' close --readers 0
usage 'readers of a copy' '--readers is for close' copy --readers 10
usage 'a sweep of closes' '--sweep is for copy' close --sweep

# interrupted FORMAT: bench gvl in that format, ended soon after it began
interrupted()
{
	exits "$1: Ctrl-C is status 1" 1 timeout --foreground --preserve-status -s INT 0.5 \
		"$GVLSCOPE" bench gvl -f "$1"
	has "$1: Ctrl-C is named" "$tmp/err" '^gvlscope: bench gvl: interrupted'
}

interrupted text
has 'text: what was measured is there' "$tmp/out" ': bench gvl$'
interrupted markdown
has 'markdown: what was measured is there' "$tmp/out" '^# .*: bench gvl$'
interrupted json
is 'json: what was measured is there' "$(json "$tmp/out" 'd["name"]')" gvl
exits 'a full disk is a failure' 1 timeout --foreground --preserve-status -s INT 0.5 \
	sh -c "exec '$GVLSCOPE' bench gvl >/dev/full"
has 'a full disk is named' "$tmp/err" '^gvlscope: standard output: No space left'

exits 'no files for the first readers is a failure' 1 sh -c "ulimit -n 16; exec '$GVLSCOPE' bench close -q"
says 'no files for the first readers' 'Too many open files'

# measured NAME ARGS...: `gvlscope bench ARGS` once, into $tmp/NAME.json; $seconds and $kib are what it took
measured()
{
	measured_name=$1
	shift
	python3 -c '
import resource, subprocess, sys, time
begin = time.monotonic()
status = subprocess.run(sys.argv[1:]).returncode
print(int(time.monotonic() - begin), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)' "$GVLSCOPE" bench "$@" -q -f json >"$tmp/$measured_name.json" 2>"$tmp/err"
	is "bench $*: exit status" $? 0
	is "bench $*: -q is quiet" "$(sed '$d' "$tmp/err")" ''
	read -r seconds kib <<-END
		$(tail -n 1 "$tmp/err")
	END
	echo "# bench $*: $seconds s, $kib KiB"
	is "bench $*: says what it comes to" "$(json "$tmp/$measured_name.json" 'len(d["summary"]) > 0')" True
	if python3 -c 'import jsonschema' 2>/dev/null; then
		check "bench $*: the JSON fits its schema, which has all of its keys" \
			"$repo/tests/tools/check-schema" "$repo/tests/schema/findings.schema.json" \
			"$tmp/$measured_name.json"
	else
		skip "bench $*: the JSON fits its schema" 'no python3-jsonschema'
	fi
}

# holds NAME FILE EXPRESSION DETAIL: both Python, on the document d. Throughputs are of all sizes.
holds()
{
	if python3 - "$2" "$3" "$4" >"$tmp/holds" 2>&1 <<-'END'
		import json, statistics, sys
		d = json.load(open(sys.argv[1]))
		v = lambda cell: cell["value"] if isinstance(cell, dict) else cell
		def of(table, key, **where):
		    return [v(row[key]) for row in d["tables"][table]
		            if all(row[k] == w for k, w in where.items())]
		def fact(key):
		    return v(d["facts"][key])
		def throughput(lock, threads):
		    return statistics.geometric_mean(of("copy", "throughput", lock=lock, threads=threads))
		def scaling(lock, few, many):
		    return throughput(lock, many) / throughput(lock, few)
		scope = dict(d=d, of=of, fact=fact, scaling=scaling, throughput=throughput)
		print(eval(sys.argv[3], scope))
		sys.exit(not eval(f"({sys.argv[2]})", scope))
	END
	then
		ok "$1"
	else
		not_ok "$1" "want: $3" "got:  $4 = $(cat "$tmp/holds")"
	fi
}

measured close close --readers 10000
is 'bench close of 10,000 readers takes less than 60 s' "$((seconds < 60))" 1
is 'bench close of 10,000 readers takes less than 4 GB' "$((kib < 4000000))" 1
holds 'with a global list a scan visits all that wait, on average half of those that were there' \
	"$tmp/close.json" 'all(2 * a >= r for a, r in zip(of("close", "visited", design="global"),
		of("close", "readers", design="global")))' 'of("close", "visited", design="global")'
holds 'with a list for each IO a scan visits no others' "$tmp/close.json" \
	'max(of("close", "visited", design="per-io")) <= 1' 'of("close", "visited", design="per-io")'
# Ten times the waiters: not quite ten times, as interrupting one of them costs what it costs, or more than
# that, as the nodes of 10,000 stacks do not fit the caches.
holds 'with a global list the scan grows with the waiters' "$tmp/close.json" \
	'4 < of("close", "scan_ns", design="global", readers=10000)[0] /
		of("close", "scan_ns", design="global", readers=1000)[0] < 100' \
	'of("close", "scan_ns", design="global")'
holds 'with a list for each IO a close grows by less than 2 % of that' "$tmp/close.json" \
	'abs(fact("slope_share")) < 0.02' 'd["facts"]'

measured copy copy
if [ "$(nproc)" -ge 2 ]; then
	holds 'copies without the lock scale with threads' "$tmp/copy.json" \
		'scaling("released", 1, 2) > 1.3' 'scaling("released", 1, 2)'
	holds '... and with two are faster than with it' "$tmp/copy.json" \
		'throughput("released", 2) > 1.2 * throughput("held", 2)' \
		'throughput("released", 2) / throughput("held", 2)'
else
	skip 'copies without the lock scale with threads' 'one processor'
fi
# From two threads on: one alone lets the other processor sleep, and is some 20 % slower for it here.
holds 'copies with the lock do not' "$tmp/copy.json" 'scaling("held", 2, 8) < 1.2' 'scaling("held", 2, 8)'

measured sweep copy --sweep
holds 'a threshold is recommended, or it is said that none can be' "$tmp/sweep.json" \
	'any("threshold" in s for s in d["summary"]) and d["facts"].get("recommended_threshold", {"value": 1})["value"] > 0' \
	'd["summary"], d["facts"]'
holds 'the sweep knows a copier alone, with waiters and with a rival' "$tmp/sweep.json" \
	'len(set(of("sweep", "situation"))) >= 4' 'set(of("sweep", "situation"))'

measured gvl gvl
holds 'a lock that is always handed on takes longer contended than alone' "$tmp/gvl.json" \
	'of("transition", "ns", design="3.3", threads=1)[0] < of("transition", "ns", design="3.3", threads=8)[0]' \
	'd["tables"]'

done_testing
