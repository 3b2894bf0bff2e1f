#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its times are compared with the program's own clocks
#
# What is said of blocking regions is what tests/block/regions.rb says of itself, section by section.
# BLOCK_RUBIES lists the Rubies, by name or by path.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

# section NAME NUMBER FROM TO
section()
{
	if ! "$GVLSCOPE" report --from "$3" --to "$4" -f json "$trace" >"$report" 2>"$tmp/report.err"; then
		not_ok "$1: it is reported" "$(cat "$tmp/report.err")"
		return
	fi
	check "$1: so many regions of that kind" \
		"$repo/tests/tools/check-close" regions "$tmp/truth" "$report" "$2"
}

# sections RUBY
sections()
{
	sections_ruby=$1
	case $sections_ruby in
	/*) set -- "$sections_ruby" ;;
	*) set -- "$repo/scripts/rubies" run "$sections_ruby" ;;
	esac
	if ! "$GVLSCOPE" record -o "$trace" -- "$@" -W0 "$repo/tests/block/regions.rb" \
		>"$tmp/truth" 2>"$tmp/record.err" </dev/null; then
		not_ok "$sections_ruby: it is recorded" "$(cat "$tmp/record.err")"
		return
	fi
	json "$tmp/truth" '"\n".join("%d %d %d %s" % (i, s["t0_ns"], s["t1_ns"], s["name"])
		for i, s in enumerate(d["sections"]))' >"$tmp/sections"
	while read -r section_nr from to name; do
		section "$sections_ruby, $name" "$section_nr" "$from" "$to"
	done <"$tmp/sections"
	"$GVLSCOPE" report --by call "$trace" >"$tmp/by-call.txt" 2>"$tmp/report.err"
	has "$sections_ruby: report --by call has a row of each" "$tmp/by-call.txt" '\bflock\b.*\bfile\b'
}

for ruby in ${BLOCK_RUBIES:-3.1 3.3 3.4}; do
	case $ruby in
	/*) ;;
	*)
		if ! why=$("$repo/scripts/rubies" has "$ruby" 2>&1); then
			skip "ruby $ruby" "${why#*skipped: }"
			continue
		fi
		;;
	esac
	sections "$ruby"
done
done_testing
