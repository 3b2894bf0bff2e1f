#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its times are compared with the program's own clocks
# timeout: 600
#
# Programs whose answer is known, as they print it themselves: shared/cases, what they say of closes and
# of blocking regions. They run under record from their first line on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

[ -n "$cases" ] || skip_all 'no shared/cases: set GVLSCOPE_SHARED'
export CASE_ATTACH_MS=0

# agrees NUMBER RUBY [RECORD ARGS...]
agrees()
{
	report_case "$@" || return
	check "$case_name: what it says of itself is reported" \
		"$repo/tests/tools/check-close-case" "$1" "$tmp/truth.json" "$report"
}

# Closes: counts, which are exact. (48 hangs on 3.3 and 3.4, Ruby bug 22456.)
for number in 01 02 03 08 09 11 13 14 16 20 42 49 50; do
	agrees "$number" 3.1
	agrees "$number" 3.4
done
for number in 04 06 07 10 48; do
	agrees "$number" 3.1
done
for number in 12 18 38 47; do
	agrees "$number" 3.3
done
for ruby in 3.1 3.4; do
	agrees 17 "$ruby" --children
done

# Blocking regions: times, too.
for number in 19 22 25 57; do
	once_more agrees "$number" 3.1
done
for number in 21 23 24 29 37; do
	once_more agrees "$number" 3.4
done
done_testing
