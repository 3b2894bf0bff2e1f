#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its times are compared with the program's own clocks
# timeout: 300
#
# Programs whose answer is known, as they print it themselves: shared/cases, those on the lock. They
# run under record from their first line on. (45, exec, and 46, killed, are in gvl.t.)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

[ -n "$cases" ] || skip_all 'no shared/cases: set GVLSCOPE_SHARED'
export CASE_ATTACH_MS=0 CASE_N=20000000

# agrees NUMBER RUBY
# shellcheck disable=SC2317 # called by once_more
agrees()
{
	report_case "$@" || return
	check "$case_name: hold + free is the time seen, sums over threads are the totals" \
		"$repo/tests/tools/check-report" identities "$report"
	check "$case_name: what it says of itself is reported" \
		"$repo/tests/tools/check-case" "$1" "$tmp/truth.json" "$report"
}

for number in 22 25 27 36 38 40 47; do
	once_more agrees "$number" 3.1
done
for number in 23 26 28 37 39 41 51; do
	once_more agrees "$number" 3.4
done
done_testing
