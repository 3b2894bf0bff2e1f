#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# With a ring buffer made tiny events are lost: all of them are counted, and the report says so.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

dump=$repo/.build/tools/trace_dump
[ -x "$dump" ] || skip_all "no $dump: run make check"

# totals EXPRESSION: of the last chunk of the trace, and n, the events of a lock that are in the trace
totals()
{
	python3 - "$tmp/dump" "$1" <<-'PY'
		import collections, json, sys
		n, kinds, d = 0, collections.Counter(), None
		for line in open(sys.argv[1]):
		    kind, _, rest = line.partition("\t")
		    kinds[kind] += 1
		    if kind == "totals":
		        d = json.loads(rest)
		n = kinds["OWNER"] + kinds["QUEUE"]
		print(eval(sys.argv[2]))
	PY
}

for ruby in 3.1 3.4; do
	# shellcheck disable=SC2016
	start_ruby "$ruby" -W0 -e '
		r, w = IO.pipe
		Thread.new { loop { w.syswrite("x"); r.sysread(1) } }
		Thread.new { loop { sleep 0.0002 } }
		$stderr.puts "READY"
		sleep' || continue
	exits "$ruby: recorded through a ring of one page" 0 \
		"$GVLSCOPE" record -p "$PID" -d 2s --ring-size 4096 -o "$trace"
	cp "$trace" "$tmp/lossy.gvs"
	exits "$ruby: recorded through the usual ring" 0 \
		"$GVLSCOPE" record -p "$PID" -d 500ms -o "$tmp/whole.gvs"
	stop "$PID"

	"$dump" "$trace" >"$tmp/dump"
	is "$ruby: events were lost at all" "$(totals 'd["lost"]["ring"] > 100')" True
	make_report "$ruby, lossy" || continue
	is_sound "$ruby, lossy"
	gap=$(json "$report" 'd["lost"]["gap_events"]')
	is "$ruby: events stored + events lost = events hit" "$(totals "n + $gap")" "$(totals 'd["events"]')"
	is "$ruby: the recorder counts what it stored" "$(totals 'd["stored"]')" "$(totals 'n')"
	is "$ruby: and what it did not" "$(totals 'd["lost"]["events"]')" "$gap"
	is "$ruby: no more are missing than the ring refused" \
		"$(totals 'd["events"] - n <= d["lost"]["ring"]')" True
	has "$ruby: the text says that it is not all" "$tmp/report.txt" '^lost .*[1-9]'
	holds "$ruby: what is not known is not counted" '
		lock["seen_ns"] < 0.95 * d["capture"]["duration_ns"] and d["lost"]["gaps"] > 0'

	trace=$tmp/whole.gvs
	"$dump" "$trace" >"$tmp/dump"
	make_report "$ruby, whole" || continue
	is "$ruby: with the usual ring nothing is lost and all is stored" \
		"$(totals 'd["lost"]["ring"], d["lost"]["events"], d["events"] - n')" '(0, 0, 0)'
	has "$ruby: ... and the text says that" "$tmp/report.txt" '^lost +nothing'
	trace=$tmp/trace.gvs
done
done_testing
