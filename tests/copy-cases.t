#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its times are compared with the program's own clocks
# timeout: 600
#
# Programs whose answer is known, as they print it themselves: shared/cases, what they say of copies. They
# run under record from their first line on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

[ -n "$cases" ] || skip_all 'no shared/cases: set GVLSCOPE_SHARED'
export CASE_ATTACH_MS=0

# agrees NUMBER RUBY [large]: large, if it takes copies that are not IO::Buffer's
agrees()
{
	name=$(basename "$cases/$1"-*.rb .rb)
	if ! why=$("$repo/scripts/rubies" has "$2" 2>&1); then
		skip "$name, ruby $2" "${why#*skipped: }"
		return
	fi
	if ! "$GVLSCOPE" record -o "$trace" --copies exact -- "$repo/scripts/rubies" run "$2" -W0 \
		"$cases/$name.rb" >"$tmp/out" 2>"$tmp/record.err" </dev/null; then
		not_ok "$name, ruby $2: it is recorded" "$(cat "$tmp/record.err")"
		return
	fi
	tail -n 1 "$tmp/out" >"$tmp/truth.json"
	# shellcheck disable=SC2046 # two numbers
	make_report "$name, ruby $2" $(json "$tmp/truth.json" \
		'"--from %d --to %d" % (d["t0_ns"], d["t1_ns"])') || return
	how=$(json "$report" 'd["capture"]["methods"].get("copy", "not at all")')
	case ${3:-}:$how in
	large:*large*) ;;
	large:*)
		skip "$name, ruby $2" "large copies are not told one by one here: $how"
		return
		;;
	esac
	check "$name, ruby $2: what it says of itself is reported" \
		"$repo/tests/tools/check-copy-case" "$1" "$tmp/truth.json" "$report"
}

for ruby in 3.1 3.4; do
	for number in 31 33; do
		agrees "$number" "$ruby"
	done
done
for number in 29 30 34 35; do
	agrees "$number" 3.1 large
done
agrees 35 3.4 large
done_testing
