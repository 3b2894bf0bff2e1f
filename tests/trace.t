#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# docs/trace.md is exact: a second reader that was written from it alone reads the same events.
. "$(dirname "$0")/lib.sh"

gen=$repo/.build/tools/trace-gen
[ -x "$gen" ] || skip_all "no $gen: run make check"

# reads_the_same NAME FILE
reads_the_same()
{
	"$gen" dump "$2" >"$tmp/want"
	check "$1: the second reader reads it" "$repo/tests/tools/read-trace" "$2" "$tmp/got"
	check "$1: all events are the same" cmp "$tmp/want" "$tmp/got"
}

check 'a trace of any events is written' "$gen" any "$tmp/any.gvs" 9000
reads_the_same 'any events' "$tmp/any.gvs"
is 'any events: all are there' "$(wc -l <"$tmp/got")" 9000

for style in handoff release; do
	check "$style: a trace is written" "$gen" write "$tmp/$style.gvs" 7000 20 "$style"
	reads_the_same "$style" "$tmp/$style.gvs"
done

done_testing
