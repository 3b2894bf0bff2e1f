#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 300
#
# Programs whose answer is known, as they print it themselves: shared/cases, those on the lock. They
# run under record from their first line on. (45, exec, and 46, killed, are in gvl.t.)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

[ -n "$cases" ] || skip_all 'no shared/cases: set GVLSCOPE_SHARED'
export CASE_ATTACH_MS=0 CASE_N=20000000

# agrees NUMBER RUBY
agrees()
{
	name=$(basename "$cases/$1"-*.rb .rb)
	if ! why=$("$repo/scripts/rubies" has "$2" 2>&1); then
		skip "$name, ruby $2" "${why#*skipped: }"
		return
	fi
	if ! "$GVLSCOPE" record -o "$trace" -- "$repo/scripts/rubies" run "$2" -W0 "$cases/$name.rb" \
		>"$tmp/out" 2>"$tmp/record.err" </dev/null; then
		not_ok "$name, ruby $2: it is recorded" "$(cat "$tmp/record.err")"
		return
	fi
	tail -n 1 "$tmp/out" >"$tmp/truth.json"
	# shellcheck disable=SC2046 # two numbers
	make_report "$name, ruby $2" $(json "$tmp/truth.json" \
		'"--from %d --to %d" % (d["t0_ns"], d["t1_ns"])') || return
	check "$name, ruby $2: hold + free is the time seen, sums over threads are the totals" \
		"$repo/tests/tools/check-report" identities "$report"
	check "$name, ruby $2: what it says of itself is reported" \
		"$repo/tests/tools/check-case" "$1" "$tmp/truth.json" "$report"
}

# Times are compared with the script's own clocks, which a stall of the machine splits differently: what
# fails is said, and tried once more.
once_more()
{
	before=$tests_failed
	agrees "$1" "$2" >"$tmp/first"
	if [ "$tests_failed" = "$before" ]; then
		cat "$tmp/first"
		return
	fi
	sed 's/^\(not \)\{0,1\}ok [0-9]* - /# first try: &/' "$tmp/first"
	tests_run=$((tests_run - $(grep -cE '^(not )?ok ' "$tmp/first")))
	tests_failed=$before
	agrees "$1" "$2"
}

for number in 22 25 27 36 38 40 47; do
	once_more "$number" 3.1
done
for number in 23 26 28 37 39 41 51; do
	once_more "$number" 3.4
done
done_testing
