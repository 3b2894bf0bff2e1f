#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: runs of two programs are compared by their times
# timeout: 400
#
# `gvlscope gate`: its command line, bad files, its formats, and regressions of real programs.
. "$(dirname "$0")/lib.sh"

gen=$repo/.build/tools/trace-gen
for tool in "$GVLSCOPE" "$gen"; do
	[ -x "$tool" ] || skip_all "no $tool: run make check"
done
cd "$tmp" || exit 1
formats='text json markdown junit github benchmark-action bencher'

# says NAME PATTERN: the last command said so on stderr, with what to do about it in the next line
says()
{
	has "$1: one sentence" err "^gvlscope: .*$2"
	is "$1: and a remedy" "$(sed -n '2s/^  [^ ].*/yes/p' err)" yes
	is "$1: nothing on stdout" "$(cat out)" ''
}

# usage NAME PATTERN ARGS...
usage()
{
	usage_name=$1 usage_pattern=$2
	shift 2
	exits "$usage_name" 2 gvlscope gate "$@"
	says "$usage_name" "$usage_pattern"
}

# verdict METRIC: of the last JSON, its verdicts, those of a comparison and of bounds
verdict()
{
	awk -v metric="\"$1\"," '$1 == "\"metric\":" { on = $2 == metric }
		on && $1 == "\"verdict\":" { gsub(/[",]/, "", $2); printf "%s%s", sep, $2; sep = " " }' now.json
}

# gates NAME STATUS ARGS...: a gate whose JSON is in now.json; @status as everywhere in it
gates()
{
	gates_name=$1 gates_want=$2
	shift 2
	exits "$gates_name" "$gates_want" gvlscope gate "$@" -f json
	cp out now.json
	has "$gates_name: the JSON has the exit status" now.json "^  \"exit_status\": $gates_want,"
}

"$gen" write good.gvs 30000 40 >/dev/null || skip_all 'no trace could be made'
gvlscope report -f json good.gvs >good.json

usage 'no candidate' 'give --candidate FILE... or --run-candidate'
usage 'a baseline alone' 'give --candidate' --baseline good.gvs
usage 'an unknown format lists those that are known' 'xml: not one of text, json, junit, .*bencher' \
	--candidate good.gvs -f xml
usage 'a file of neither side' 'say whose file it is' good.gvs --candidate good.gvs
usage 'an unknown option' 'unknown option' --candidate good.gvs --frob
usage 'one file as two runs' 'good.gvs: given twice' --candidate good.gvs ./good.gvs
usage 'an option without its value' 'missing value' --candidate
usage 'a part that cannot differ' 'weather: not one of cpu, ' --candidate good.gvs --may-differ weather
usage 'no name' 'must not be empty' --candidate good.gvs --name ''
usage 'no runs' '-n 0: not a number from 1' --run-candidate true -n 0
usage 'runs that are no number' '-n many: not a number' --run-candidate true -n many
usage 'a seed without a schedule' 'are for --run-candidate' --candidate good.gvs --seed 1
usage 'both a file and a command' 'either --baseline FILE... or --run-baseline' \
	--baseline good.gvs --run-baseline true --run-candidate true
usage 'a baseline to run for a candidate of files' 'nothing is run' --candidate good.gvs --run-baseline true

exits 'the built-in policy is printed' 0 gvlscope gate --print-policy
cp out policy
exits '--help' 0 gvlscope gate --help
has '--help tells of the exit status' out '3 regression, 4 inconclusive'
gvlscope --help >out
has 'and so does that of all commands' out '^ *3 regression, 4 inconclusive'

# bad NAME PATTERN FILE: as a baseline and as a candidate; what was to be saved is not
bad()
{
	echo kept >saved
	exits "$1" 5 gvlscope gate --baseline "$3" --candidate good.gvs --save-baseline saved
	says "$1" "$2"
	exits "$1, as a candidate" 5 gvlscope gate --candidate good.gvs "$3" --save-baseline saved
	is "$1: nothing is overwritten" "$(cat saved)" kept
}

: >empty
head -c 5000 /dev/urandom >random
{ head -c 3000 good.gvs; printf X; tail -c +3002 good.gvs; } >flipped
echo '{}' >no-schema.json
echo '{"schema": "gvlscope.doctor/1"}' >other.json
sed 's/gvlscope.report.1/gvlscope.report\/2/' good.json >later.json
head -c 1000 good.json >cut.json
bad 'no such file' 'none: No such file' none
bad 'a directory' "$tmp: Is a directory" "$tmp"
bad 'an empty file' 'empty' empty
bad 'a file of something else' 'random' random
bad 'a trace with a flipped byte' 'flipped' flipped
bad 'JSON without a schema' 'no-schema.json' no-schema.json
bad 'JSON of another schema' 'other.json' other.json
bad 'a report of another version' 'later.json' later.json
bad 'a report that is cut' 'cut.json' cut.json

exits 'a policy that is not there' 5 gvlscope gate --candidate good.gvs --policy none
says 'a policy that is not there' 'none: No such file'
echo 'gvl.hold_ns.mean lower 10% 5%' >wrong
echo 'gvl.frobs lower 10% 5%' >>wrong
exits 'a policy with a metric that does not exist' 5 gvlscope gate --candidate good.gvs --policy wrong
says 'a policy with a metric that does not exist' 'wrong:2: gvl.frobs'

# shellcheck disable=SC2016 # not for the shell
sed -n '/^```policy/,/^```$/{/^```/!p}' "$repo/docs/gate.md" >puma.policy
exits 'the policy of docs/gate.md for a web application can be used' 0 \
	gvlscope gate --candidate good.gvs --policy puma.policy
has 'the policy of docs/gate.md: all of its rules' out '^policy .* 10 rules'

# Runs whose difference is known, made of one report.
make=$repo/tests/tools/make-runs
"$make" good.json old 20 1
"$make" good.json same 20 2
"$make" good.json slow 20 3 'gvl.locks.hold_ns*1.3' 'close.visited.sum+1' 'copy.held.bytes+1' \
	'gvl.locks.wait_ns*0.5'
cat >rules <<-'END'
	gvl.hold_ns.mean     lower  10%  5%
	gvl.wait_ns.mean     lower  10%  5%
	close.visited.mean   lower  5%   0%
	copy.held.bytes      lower  5%   0%  warn
	close.foreign        lower  5%   0%
	gvl.hold_ns.p99 < 20ms
	gvl.hold_ns.p99 < 1ns
	close.count == 3 warn
END
gates 'a change that made things worse' 3 --baseline old-*.json --candidate slow-*.json --policy rules
is 'a slower hold is a regression' "$(verdict gvl.hold_ns.mean)" regression
is 'one waiter more in 40 closes is one' "$(verdict close.visited.mean)" regression
is 'one byte more is one' "$(verdict copy.held.bytes)" regression
is 'less waiting is an improvement' "$(verdict gvl.wait_ns.mean)" improved
is 'a bound is kept or broken' "$(verdict gvl.hold_ns.p99)" 'pass broken'
gates 'what cannot be told from noise' 4 --baseline old-[123].json --candidate same-[123].json
is 'what cannot be told from noise is left open' "$(verdict gvl.hold_ns.mean)" inconclusive
is 'and it says how many runs would do' \
	"$(json now.json 'all(v["runs_needed"] > 3 for v in d["verdicts"] if v["verdict"] == "inconclusive")')" True

gates 'several formats at once' 3 --baseline old-1.json --candidate slow-1.json -f junit=one.xml -f github=one.gh
exits 'a file for a format, and text for people' 3 \
	gvlscope gate --baseline old-1.json --candidate slow-1.json -f json=one.json
check 'a file for a format has what is printed otherwise' cmp one.json now.json
has 'a file for a format, and text for people: both' out '^result    regression'
has 'several formats at once: each in its file' one.xml '^<testsuites '
has 'several formats at once: and in its' one.gh '^::error '
exits 'a file for a format that cannot be written' 1 \
	gvlscope gate --baseline old-1.json --candidate slow-1.json -f json=/dev/full
has 'a file for a format that cannot be written: it is named' err '^gvlscope: /dev/full: No space left'
usage 'two formats for one output' 'one of them to standard output' --candidate old-1.json -f json -f text

# check_formats NAME ARGS...: all formats of a gate are valid, and agree
check_formats()
{
	formats_name=$1
	shift
	for format in $formats; do
		gvlscope gate "$@" -f "$format" >"all.$format" 2>err
		echo "$?" >>statuses
	done
	is "$formats_name: all formats have one exit status" "$(sort -u statuses | wc -l)" 1
	rm statuses
	check "$formats_name: all formats agree" "$repo/tests/tools/check-gate" all
	check "$formats_name: no line is wider than a terminal" sh -c '! grep -E "^.{101}" all.text'
	if python3 -c 'import jsonschema' 2>/dev/null; then
		check "$formats_name: the JSON fits its schema, which has all of its keys" \
			"$repo/tests/tools/check-schema" "$repo/tests/schema/gate.schema.json" all.json
		for format in benchmark-action bencher; do
			check "$formats_name: $format fits its schema" "$repo/tests/tools/check-schema" \
				"$repo/tests/schema/$format.schema.json" "all.$format"
		done
	else
		skip "$formats_name: the JSON fits its schema" 'no python3-jsonschema'
	fi
	if command -v xmllint >/dev/null; then
		check "$formats_name: JUnit XML fits its schema" \
			xmllint --noout --schema "$repo/tests/schema/junit.xsd" all.junit
	else
		skip "$formats_name: JUnit XML fits its schema" 'no libxml2-utils'
	fi
}

odd='a<b>&"c": 100%, d	|e'
check_formats 'everything at once' --baseline old-*.json --candidate slow-*.json --policy rules --name "$odd"
check_formats 'no change' --baseline old-*.json --candidate same-*.json
check_formats 'no baseline' --candidate same-1.json
check_formats 'a single pair' --baseline old-1.json --candidate slow-1.json
has 'too few runs are never a pass: it says how many would do' all.text '^to decide about [0-9]+ runs'
gates 'a wrong key does not fit the schema' 3 --baseline old-1.json --candidate slow-1.json
if python3 -c 'import jsonschema' 2>/dev/null; then
	sed 's/"runs_needed"/"runs_neded"/' now.json >typo.json
	exits 'a wrong key does not fit the schema' 1 "$repo/tests/tools/check-schema" \
		"$repo/tests/schema/gate.schema.json" typo.json
fi
for format in $formats; do
	exits "$format: a full disk is a failure, whatever the verdict" 1 \
		sh -c "'$GVLSCOPE' gate --baseline old-1.json --candidate slow-1.json -f $format >/dev/full"
	has "$format: a full disk is named" err '^gvlscope: standard output: No space left'
done

# Baseline files.
gates 'the first baseline' 0 --candidate old-*.json --save-baseline kept.json
if python3 -c 'import jsonschema' 2>/dev/null; then
	check 'a baseline fits its schema, which has all of its keys' \
		"$repo/tests/tools/check-schema" "$repo/tests/schema/baseline.schema.json" kept.json
fi
gvlscope gate --candidate old-*.json --save-baseline again.json >/dev/null
check 'the same runs make the same file' cmp kept.json again.json
gvlscope gate --candidate kept.json --save-baseline again.json >/dev/null
check 'and so does the file itself' cmp kept.json again.json
gvlscope gate --baseline old-*.json --candidate slow-*.json -f json >from-runs.json
gates 'a baseline file says what its runs say' 3 --baseline kept.json --candidate slow-*.json
is 'a baseline file says what its runs say, exactly' "$(json now.json 'd["verdicts"]')" \
	"$(json from-runs.json 'd["verdicts"]')"
cp kept.json before.json
exits 'an output that cannot be written' 1 gvlscope gate --candidate old-1.json -f json=none/o.json -f text
has '... is named' err '^gvlscope: none/o.json: No such file'
has '... and the others are there' out '^gvlscope .*gate'
mkfifo pipe
exits 'a baseline into what is no file' 1 gvlscope gate --candidate old-1.json --save-baseline pipe
has '... is refused' err '^gvlscope: pipe: not a regular file'
is '... and the pipe is still there' "$(test -p pipe && echo yes)" yes
cp kept.json linked.json
ln -s linked.json link
exits 'a baseline through a link' 0 gvlscope gate --candidate old-*.json --save-baseline link
is '... leaves the link' "$(readlink link)" linked.json
exits 'what is worse' 3 gvlscope gate --baseline kept.json --candidate slow-*.json --save-baseline kept.json
has 'what is worse does not become the baseline' err 'kept.json: not written'
check 'which stays as it was' cmp kept.json before.json
head -c 300 kept.json >cut-baseline.json
sed 's/baseline.1/baseline\/9/' kept.json >later-baseline.json
bad 'a baseline that is cut' 'cut-baseline.json' cut-baseline.json
bad 'a baseline of another schema' 'later-baseline.json' later-baseline.json
exits 'a baseline that cannot be written' 1 \
	gvlscope gate --candidate old-1.json --save-baseline none/kept.json
has 'a baseline that cannot be written: one sentence' err '^gvlscope: none/kept.json'

grep -v '"copy.held.bytes"' kept.json >fewer.json
gates 'a baseline without a metric' 4 --baseline fewer.json --candidate same-*.json
is 'that metric is incomparable' "$(verdict copy.held.bytes)" incomparable
is 'the others are compared' "$(verdict close.visited.mean)" pass
sed 's/"close.count":/"close.frobs":/' kept.json >foreign.json
gates 'a baseline with a metric that is not known here' 0 --baseline foreign.json --candidate same-*.json
is 'what it does not have is incomparable' "$(verdict close.count)" incomparable

sed 's/"kernel": *"[^"]*"/"kernel": "other"/' kept.json >elsewhere.json
gates 'a baseline of another kernel' 4 --baseline elsewhere.json --candidate same-*.json
is 'its times are incomparable' "$(verdict gvl.hold_ns.mean)" incomparable
is 'its counts are compared' "$(verdict close.visited.mean)" pass
has 'and it says what differs' now.json 'kernel differs'
gates 'a kernel may differ if that is said' 0 --baseline elsewhere.json --candidate same-*.json \
	--may-differ kernel

head -c $(($(wc -c <good.gvs) * 2 / 3)) good.gvs >cut.gvs
gates 'a trace that was cut' 4 --baseline good.gvs --candidate cut.gvs
has 'a trace that was cut: it says which and why' now.json 'cut.gvs.* cannot be used'
gvlscope report -f json good.gvs | sed 's/"ring": 0/"ring": 7/' >lossy.json
if grep -q '"ring": 7' lossy.json; then
	gates 'a run that lost events' 4 --baseline good.json --candidate lossy.json
	has 'a run that lost events: it says which and why' now.json 'lossy.json.*ring 7'
fi

# Real runs.
if [ "$(id -u)" != 0 ]; then
	skip 'regressions of real programs' 'needs root'
	done_testing
fi
why=$("$repo/scripts/rubies" has 3.1 2>&1) || { skip 'real programs' "${why#*skipped: }"; done_testing; }
work="$repo/scripts/rubies run 3.1 -W0 $repo/tests/gate/work.rb"

# record_run FILE ARGS...
record_run()
{
	run_file=$1
	shift
	# shellcheck disable=SC2086
	gvlscope record -q -o "$run_file" -- $work "$@" >/dev/null 2>record.err </dev/null ||
		not_ok "$run_file is recorded" "$(cat record.err)"
}

# Interleaved. With fewer pairs than nine nothing is told from chance.
pairs=10
i=0
while [ "$i" -lt "$pairs" ]; do
	i=$((i + 1))
	record_run "base-$i.gvs"
	record_run "hold-$i.gvs" hold_ms=6
	record_run "release-$i.gvs" releases=600
done
record_run close.gvs readers=105
record_run copy.gvs copies=65536,1048576

# worse NAME METRIC BASELINE... -- CANDIDATE...: a regression of that metric
worse()
{
	worse_name=$1 worse_metric=$2
	shift 2
	gates "$worse_name is a regression" 3 --baseline "$@"
	is "$worse_name is found in $worse_metric" "$(verdict "$worse_metric")" regression
}

worse '100 more blocked readers' close.visited.mean base-1.gvs --candidate close.gvs
is 'and no copy is blamed for it' "$(verdict copy.held.bytes)" pass
worse '1 MiB copied with the lock held' copy.held.bytes base-1.gvs --candidate copy.gvs
is 'and no close is blamed for it' "$(verdict close.visited.mean)" pass
worse 'the lock held 5 ms longer' gvl.hold_ns.mean base-*.gvs --candidate hold-*.gvs
is 'and no count is blamed for it' "$(verdict close.visited.mean) $(verdict copy.held.bytes)" 'pass pass'
worse 'the lock released for nothing' block.short base-*.gvs --candidate release-*.gvs
is 'and the number of releases tells it too' "$(verdict block.count)" regression
check_formats 'real runs' --baseline base-*.gvs --candidate hold-*.gvs

# It runs both sides itself.
exits 'it runs both sides' 3 gvlscope gate -n 1 --seed 7 -f json \
	--run-baseline "$work" --run-candidate "$work readers=105"
cp out now.json
is 'it runs both sides, and names the metric' "$(verdict close.visited.mean)" regression
has 'the seed is printed' err 'seed 7$'
is 'the seed is in the JSON' "$(json now.json 'd["seed"]')" 7
exits 'a command that fails' 1 gvlscope gate -q -n 1 --run-candidate \
	"$repo/scripts/rubies run 3.1 -e 'exit 9'"
has 'a command that fails: one sentence' err '^gvlscope: candidate run 1: the command ended with status 9'
usage 'a command that needs a shell' 'not words of one command' --run-candidate 'cd / && ruby -e 1'
exits 'a command that is no Ruby' 77 gvlscope gate -q -n 1 --run-candidate true
has 'a command that is no Ruby: one sentence' err '^gvlscope: candidate run 1: it cannot be traced'
exits 'a command that does not exist' 1 gvlscope gate -q -n 1 --run-candidate ./none
has 'a command that does not exist: it is named' err '^gvlscope: ./none: No such file'
exits 'a shell that becomes a Ruby' 4 gvlscope gate -q -n 1 -f json --run-candidate \
	"sh -c 'cd /tmp; exec $repo/scripts/rubies run 3.1 -e 1'"

mkdir tmpdir
TMPDIR=$tmp/tmpdir "$GVLSCOPE" gate -n 5 --run-candidate "$repo/scripts/rubies run 3.1 -e '
	File.write(%q($tmp/ruby.pid), \$\$.to_s); sleep'" >out 2>err </dev/null &
gate=$!
started "$gate"
wait_for 30 test -s ruby.pid
kill -TERM "$gate"
wait_for 10 gone "$gate"
wait "$gate"
is 'an interrupted gate is a failure' "$?" 1
has 'an interrupted gate says so' err '^gvlscope: candidate run 1: interrupted'
check 'no process of it is left' wait_for 5 gone "$(cat ruby.pid)"
is 'no file of it is left' "$(ls tmpdir)" ''

# 3.3 copies with the lock held, 3.4 without it from 1 MiB on.
for ruby in 3.3 3.4; do
	why=$("$repo/scripts/rubies" has $ruby 2>&1) || { skip "Ruby $ruby" "${why#*skipped: }"; done_testing; }
	work="$repo/scripts/rubies run $ruby -W0 $repo/tests/gate/work.rb"
	record_run "$ruby.gvs" copies=65536,1048576,4194304
done
cat >rules <<-'END'
	copy.held.bytes  lower  5%  0%
	copy.held.count  lower  5%  0%
END
gates 'Ruby 3.4 in place of 3.3' 0 --baseline 3.3.gvs --candidate 3.4.gvs --may-differ ruby --policy rules
is 'copies without the lock are an improvement' "$(verdict copy.held.bytes)" improved
is 'which only the small ones are not' \
	"$(json now.json '[v["new"] for v in d["verdicts"] if v["metric"] == "copy.held.bytes"]')" '[655360]'
done_testing
