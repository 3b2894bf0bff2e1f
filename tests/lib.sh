# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For shell tests: TAP, waiting, and Rubies to trace. A test starts with
#
#	#!/bin/sh
#	. "$(dirname "$0")/lib.sh"
#
# and ends with `done_testing`. What it starts with start_ruby or notes with `started PID` is ended
# with it, whatever happens, and $tmp is removed.

set -u

repo=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
GVLSCOPE=${GVLSCOPE:-$repo/.build/gvlscope}
tmp=$(mktemp -d)
tests_run=0
tests_failed=0
started=

gvlscope()
{
	"$GVLSCOPE" "$@"
}

# ok NAME
ok()
{
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1"
}

# not_ok NAME [LINE...]: the lines say what was got and what was wanted
not_ok()
{
	tests_run=$((tests_run + 1))
	tests_failed=$((tests_failed + 1))
	echo "not ok $tests_run - $1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
}

# skip NAME REASON
skip()
{
	tests_run=$((tests_run + 1))
	echo "ok $tests_run - $1 # SKIP $2"
}

# skip_all REASON: ends the test; only before the first result
skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}

need_root()
{
	[ "$(id -u)" = 0 ] || skip_all 'needs root'
}

# check NAME COMMAND...: ok if the command succeeds; else its output is shown
check()
{
	check_name=$1
	shift
	if check_out=$("$@" 2>&1); then
		ok "$check_name"
	else
		not_ok "$check_name" "status $? of: $*" "$check_out"
	fi
}

# is NAME GOT WANT
is()
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "got:  $2" "want: $3"
	fi
}

# exits NAME STATUS COMMAND...: its output is left in $tmp/out and $tmp/err
exits()
{
	exits_name=$1 exits_want=$2
	shift 2
	"$@" >"$tmp/out" 2>"$tmp/err"
	exits_got=$?
	if [ "$exits_got" = "$exits_want" ]; then
		ok "$exits_name"
	else
		not_ok "$exits_name" "got status $exits_got, want $exits_want" "$(tail -n 20 "$tmp/err")"
	fi
}

# has NAME FILE PATTERN: a line of the file matches the extended regular expression
has()
{
	if grep -Eq -e "$3" "$2"; then
		ok "$1"
	else
		not_ok "$1" "want a line like: $3" "got:" "$(head -n 40 "$2")"
	fi
}

# json FILE EXPRESSION: prints the value of a Python expression on the document d
json()
{
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
		"$1" "$2"
}

# wait_for SECONDS COMMAND...: until the command succeeds; status 1 if it has not by then
wait_for()
{
	wait_end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -le "$wait_end" ] || return 1
		sleep 0.02
	done
}

# Whether a process runs; a zombie does not.
alive()
{
	case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
	'' | Z* | X*) return 1 ;;
	esac
}

gone()
{
	! alive "$1"
}

# started PID: end it with the test
started()
{
	started="$started $1"
}

is_ready()
{
	grep -qs '^READY' "$RUBY_OUT" "$RUBY_ERR"
}

is_ready_or_gone()
{
	is_ready || gone "$PID"
}

# start_ruby [-b] NAME ARGS...: starts that Ruby (3.1, 3.3, 3.4; -b: boxed, see scripts/rubies) and
# waits until it prints a line that starts with READY, on stdout or stderr. Sets PID, and RUBY_OUT
# and RUBY_ERR, the files it prints to. If it cannot be had that is skipped, if it dies or is silent
# that is a failure; both are reported here: start_ruby ... || continue
start_ruby()
{
	start_how=run
	[ "$1" != -b ] || { start_how=boxed; shift; }
	if ! start_why=$("$repo/scripts/rubies" has "$1" 2>&1); then
		skip "ruby $1" "${start_why#*skipped: }"
		return 1
	fi
	start_nr=$((${start_nr:-0} + 1))
	RUBY_OUT=$tmp/ruby-$start_nr.out
	RUBY_ERR=$tmp/ruby-$start_nr.err
	"$repo/scripts/rubies" "$start_how" "$@" >"$RUBY_OUT" 2>"$RUBY_ERR" </dev/null &
	PID=$!
	started "$PID"
	wait_for 30 is_ready_or_gone
	if ! is_ready; then
		not_ok "ruby $* starts" "no line READY" "$(tail -n 20 "$RUBY_ERR")"
		return 1
	fi
	if [ "$start_how" = boxed ]; then
		PID=$(cat "/proc/$PID/task/$PID/children")
		PID=${PID% }
	fi
}

# stop PID...: ends processes this test started, and waits until they are gone
stop()
{
	for stop_pid; do
		kill -TERM "$stop_pid" 2>/dev/null && kill -CONT "$stop_pid" 2>/dev/null
		wait_for 2 gone "$stop_pid" || kill -KILL "$stop_pid" 2>/dev/null
		wait_for 5 gone "$stop_pid"
	done
}

cleanup()
{
	for cleanup_pid in $started; do
		gone "$cleanup_pid" || stop "$cleanup_pid"
	done
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

done_testing()
{
	echo "1..$tests_run"
	[ "$tests_failed" = 0 ]
	exit
}
