# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For tests that record and report, after lib.sh:
#
#	. "$(dirname "$0")/record.sh"

# shellcheck disable=SC2034,SC2154 # shared with the test and with lib.sh
:

# Programs whose answer is known; a copy in /tmp, where chrooted Rubies see it. Empty: there are none.
cases=
if [ -d "${GVLSCOPE_SHARED:-$repo/../shared}/cases" ]; then
	cp -R "${GVLSCOPE_SHARED:-$repo/../shared}/cases" "$tmp/cases"
	cases=$tmp/cases
fi

trace=$tmp/trace.gvs
report=$tmp/report.json

need_root
[ -x "$GVLSCOPE" ] || skip_all "no $GVLSCOPE: run make check"

# shellcheck disable=SC2317 # called by wait_for
is_tracing_or_gone()
{
	grep -q '^Tracing' "$tmp/record.err" || gone "$RECORD"
}

# start_record ARGS...: records to $trace in the background, from the return on. Its words are in
# $tmp/record.err. Status 1, reported, if it does not start. End it with end_record.
start_record()
{
	"$GVLSCOPE" record -o "$trace" "$@" >"$tmp/record.out" 2>"$tmp/record.err" </dev/null &
	RECORD=$!
	started "$RECORD"
	wait_for 30 is_tracing_or_gone
	grep -q '^Tracing' "$tmp/record.err" && return
	not_ok "record $* starts" "$(cat "$tmp/record.err")"
	return 1
}

# Ends it as Ctrl-C does, or waits for its end. Sets RECORD_STATUS. (A shell has its background
# commands ignore SIGINT.)
end_record()
{
	kill -TERM "$RECORD" 2>/dev/null
	wait_record
}

wait_record()
{
	wait_for 60 gone "$RECORD"
	wait "$RECORD"
	RECORD_STATUS=$?
}

# make_report NAME [ARGS...]: $report; status 1, reported, if it cannot be had
make_report()
{
	make_report_name=$1
	shift
	if "$GVLSCOPE" report "$@" -f json "$trace" >"$report" 2>"$tmp/report.err" &&
	   "$GVLSCOPE" report "$@" "$trace" >"$tmp/report.txt" 2>>"$tmp/report.err"; then
		return
	fi
	not_ok "$make_report_name: it is reported" "$(cat "$tmp/report.err" "$tmp/record.err")"
	return 1
}

# holds NAME EXPRESSION: a Python expression on the report d, its locks and its threads is true
holds()
{
	check "$1" "$repo/tests/tools/check-report" that "$report" "$2"
}

# What must hold of any report.
is_sound()
{
	check "$1: hold + free is the time seen, sums over threads are the totals" \
		"$repo/tests/tools/check-report" identities "$report"
	check "$1: text and JSON agree" \
		"$repo/tests/tools/check-report" agrees "$report" "$tmp/report.txt"
}

# The reason why watchpoints do not work here, or nothing.
why_no_watch()
{
	"$GVLSCOPE" doctor -f json >"$tmp/doctor.json" 2>/dev/null
	json "$tmp/doctor.json" '"".join("%s: %s" % (f["reason"]["id"], f["reason"]["text"])
		for f in d["machine"]["facts"] if f["id"] == "watchpoint" and not f["ok"])'
}

# report_case NUMBER RUBY [ARGS...]: runs that program of shared/cases under record ARGS; $case_name,
# $tmp/truth.json, and $report on its window. Status 1, reported or skipped, if it cannot be had.
report_case()
{
	case_ruby=$2
	case_file=$(basename "$cases/$1"-*.rb)
	case_name="${case_file%.rb}, ruby $2"
	shift 2
	if ! why=$("$repo/scripts/rubies" has "$case_ruby" 2>&1); then
		skip "$case_name" "${why#*skipped: }"
		return 1
	fi
	if ! "$GVLSCOPE" record -o "$trace" "$@" -- "$repo/scripts/rubies" run "$case_ruby" -W0 \
		"$cases/$case_file" >"$tmp/out" 2>"$tmp/record.err" </dev/null; then
		not_ok "$case_name: it is recorded" "$(cat "$tmp/record.err")"
		return 1
	fi
	tail -n 1 "$tmp/out" >"$tmp/truth.json"
	# shellcheck disable=SC2046 # two numbers
	make_report "$case_name" $(json "$tmp/truth.json" '"--from %d --to %d" % (d["t0_ns"], d["t1_ns"])')
}

# once_more FUNCTION ARGS...: a test that compares times with a program's own clocks, which a stall of the
# machine splits differently: what fails is said, and tried once more.
once_more()
{
	before=$tests_failed
	"$@" >"$tmp/first"
	if [ "$tests_failed" = "$before" ]; then
		cat "$tmp/first"
		return
	fi
	sed 's/^\(not \)\{0,1\}ok [0-9]* - /# first try: &/' "$tmp/first"
	tests_run=$((tests_run - $(grep -cE '^(not )?ok ' "$tmp/first")))
	tests_failed=$before
	"$@"
}
