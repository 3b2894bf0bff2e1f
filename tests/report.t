#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The command line of gvlscope and of `gvlscope report`: statuses, formats, files good and bad.
. "$(dirname "$0")/lib.sh"

gen=$repo/.build/tools/trace-gen
for tool in "$GVLSCOPE" "$gen"; do
	[ -x "$tool" ] || skip_all "no $tool: run make check"
done
good=$tmp/good.gvs
"$gen" write "$good" 30000 40 >/dev/null || skip_all 'no trace could be made'

# says NAME PATTERN: the last command said so on stderr, with what to do about it in the next line
says()
{
	has "$1: one sentence" "$tmp/err" "^gvlscope: .*$2"
	is "$1: and a remedy" "$(sed -n '2s/^  [^ ].*/yes/p' "$tmp/err")" yes
	is "$1: nothing on stdout" "$(cat "$tmp/out")" ''
}

exits 'no command' 2 gvlscope
has 'no command: the usage is on stderr' "$tmp/err" '^usage: gvlscope COMMAND'
for option in --help -h; do
	exits "$option" 0 gvlscope "$option"
	has "$option lists the commands" "$tmp/out" '^  report '
done
for option in --version -V; do
	exits "$option" 0 gvlscope "$option"
	is "$option prints the version" "$(cat "$tmp/out")" "gvlscope $(cat "$repo/VERSION")"
done
exits 'an unknown command' 2 gvlscope frobnicate
says 'an unknown command' 'frobnicate: unknown command'

for command in doctor record report; do
	exits "$command --help" 0 gvlscope "$command" --help
	has "$command --help is its usage" "$tmp/out" "^usage: gvlscope $command"
done

# usage NAME PATTERN ARGS...
usage()
{
	usage_name=$1 usage_pattern=$2
	shift 2
	exits "$usage_name" 2 gvlscope report "$@"
	says "$usage_name" "$usage_pattern"
}

usage 'report without a file' 'give one trace file'
usage 'report of two files' 'give one trace file' "$good" "$good"
usage 'an unknown format lists those that are known' 'html: not one of text, json, markdown' \
	-f html "$good"
usage 'an unknown --by' 'frame: not one of thread, call' --by frame "$good"
usage 'an unknown option' '--frob: unknown option' --frob "$good"
usage 'an option without its value' 'missing value' "$good" --from
usage 'a time that is no number' '12x: not a number of nanoseconds' --from 12x "$good"
usage 'a negative time' '-5: not a number' --to -5 "$good"
usage 'a window that is none' '--from must be before --to' --from 5 --to 5 "$good"

# bad NAME PATTERN FILE
bad()
{
	exits "$1" 5 gvlscope report "$3"
	says "$1" "$2"
}

size=$(wc -c <"$good")
: >"$tmp/empty"
head -c 5000 /dev/urandom >"$tmp/random"
{ head -c 3000 "$good"; printf X; tail -c +3002 "$good"; } >"$tmp/flipped"
{ head -c 2 "$good"; printf XXXX; tail -c +7 "$good"; } >"$tmp/headless"
bad 'no such file' "$tmp/none: No such file" "$tmp/none"
bad 'a directory' "$tmp: Is a directory" "$tmp"
bad 'an empty file' "$tmp/empty" "$tmp/empty"
bad 'a file of something else' "$tmp/random" "$tmp/random"
bad 'a damaged head' "$tmp/headless" "$tmp/headless"
bad 'a flipped byte' "$tmp/flipped" "$tmp/flipped"
if [ "$(id -u)" = 0 ]; then
	skip 'an unreadable file' 'root reads everything'
else
	cp "$good" "$tmp/secret" && chmod 0 "$tmp/secret"
	bad 'an unreadable file' 'Permission denied' "$tmp/secret"
fi

for format in text json markdown; do
	exits "$format" 0 gvlscope report -f "$format" "$good"
	is "$format: nothing on stderr" "$(cat "$tmp/err")" ''
	cp "$tmp/out" "$tmp/good.$format"
	is "$format: no colour in a file" "$(grep -c "$(printf '\033')" "$tmp/out")" 0
	exits "$format: from a pipe" 0 sh -c "cat '$good' | '$GVLSCOPE' report --format=$format -"
	check "$format: a pipe says the same as the file" cmp "$tmp/out" "$tmp/good.$format"
	exits "$format: a full disk is a failure" 1 \
		sh -c "'$GVLSCOPE' report -f $format '$good' >/dev/full"
	has "$format: a full disk is named" "$tmp/err" '^gvlscope: standard output: No space left'
done
exits 'help on a full disk is a failure' 1 sh -c "'$GVLSCOPE' --help >/dev/full"
exits 'closed stdout is a failure where there is something to say' 1 \
	sh -c "'$GVLSCOPE' --version >&-"

check 'the figures of a report are consistent' \
	"$repo/tests/tools/check-report" identities "$tmp/good.json"
check 'text and JSON agree' \
	"$repo/tests/tools/check-report" agrees "$tmp/good.json" "$tmp/good.text"
is 'no line is wider than a terminal' "$(awk 'length > 100' "$tmp/good.text")" ''
has 'more threads than fit are counted' "$tmp/good.text" '^And 20 more threads'

head -c $((size * 2 / 3)) "$good" >"$tmp/cut.gvs"
exits 'a cut file' 0 gvlscope report "$tmp/cut.gvs"
has 'a cut file says so' "$tmp/out" 'INCOMPLETE: the file ends early'
gvlscope report -f json "$tmp/cut.gvs" >"$tmp/cut.json"
is 'a cut file is not complete' "$(json "$tmp/cut.json" 'd["capture"]["complete"]')" False
is 'what a cut file lost is unknown' "$(json "$tmp/cut.json" 'd["lost"]["unknown"]')" True

"$gen" write "$tmp/none.gvs" 0 1 >/dev/null
exits 'a capture of nothing' 0 gvlscope report "$tmp/none.gvs"
has 'a capture of nothing says so' "$tmp/out" '^Nothing of it was seen|no event of a lock'
gvlscope report -f json "$tmp/none.gvs" >"$tmp/none.json"

"$gen" any "$tmp/any.gvs" 3000 >/dev/null
exits 'a capture of any events' 0 gvlscope report "$tmp/any.gvs"
gvlscope report -f json "$tmp/any.gvs" >"$tmp/any.json"

exits '--by call' 0 gvlscope report --by call "$tmp/any.gvs"
cp "$tmp/out" "$tmp/by_call"
is '--by call has no tables of threads' "$(grep -c '^thread .*holds' "$tmp/by_call")" 0
is '--by call has all calls' \
	"$(awk '/^call +file/ { on = 1; next } /^$/ { on = 0 } on { n++ } END { print n + 0 }' "$tmp/by_call")" \
	"$(json "$tmp/any.json" 'len(d["block"]["by"])')"
exits '--by thread' 0 gvlscope report --by thread "$good"
check '--by thread is the default' cmp "$tmp/out" "$tmp/good.text"

# The middle of the capture, by the clock of its events.
first=123456789012345
half=$(($(json "$tmp/good.json" 'd["capture"]["duration_ns"]') / 2))
window="--from $((first + half / 2)) --to $((first + half / 2 + half))"
# shellcheck disable=SC2086
gvlscope report $window "$good" -f json >"$tmp/window.json"
is 'a window has its length' "$(json "$tmp/window.json" 'd["capture"]["duration_ns"]')" "$half"
is 'a window is wholly seen' "$(json "$tmp/window.json" 'd["gvl"]["locks"][0]["seen_ns"]')" "$half"
check 'the figures of a window are consistent' \
	"$repo/tests/tools/check-report" identities "$tmp/window.json"
exits 'a window beyond the capture' 0 gvlscope report --from 999999999999999999 "$good"
has 'a window beyond the capture says so' "$tmp/out" 'Nothing of it was seen in this window'

if python3 -c 'import jsonschema' 2>/dev/null; then
	for report in good cut none any window; do
		check "$report: the JSON fits its schema, which has all of its keys" \
			"$repo/tests/tools/check-schema" "$repo/tests/schema/report.schema.json" \
			"$tmp/$report.json"
	done
	sed 's/"seen_ns"/"sene_ns"/' "$tmp/good.json" >"$tmp/wrong.json"
	exits 'a wrong key does not fit the schema' 1 "$repo/tests/tools/check-schema" \
		"$repo/tests/schema/report.schema.json" "$tmp/wrong.json"
else
	skip 'the JSON fits its schema' 'no python3-jsonschema'
fi

# on_terminal [VAR=VALUE...]: the report as a terminal gets it
on_terminal()
{
	script -qec "env TERM=xterm $* '$GVLSCOPE' report '$good'" /dev/null </dev/null
}

if command -v script >/dev/null; then
	on_terminal >"$tmp/tty"
	has 'titles are bold on a terminal' "$tmp/tty" "$(printf '\033\\[1m')gvlscope"
	on_terminal NO_COLOR=1 >"$tmp/tty"
	is 'but not with NO_COLOR' "$(grep -c "$(printf '\033')" "$tmp/tty")" 0
	on_terminal TERM=dumb >"$tmp/tty"
	is 'nor on a dumb one' "$(grep -c "$(printf '\033')" "$tmp/tty")" 0
else
	skip 'titles are bold on a terminal' 'no script(1)'
fi

done_testing
