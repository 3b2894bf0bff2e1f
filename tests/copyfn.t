#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# IO::Buffer's methods and their copies are found without symbols, each call at the price of one
# trap.
. "$(dirname "$0")/lib.sh"

copyfn=$repo/.build/tools/copyfn
[ "$(uname -m)" = x86_64 ] || skip_all 'x86_64 only'
[ -x "$copyfn" ] || skip_all 'not built: make .build/tools/copyfn'
need_root

# Method, kind of its copy, where it runs, from which version on. A resize moves what does not grow
# in place, and clears what is new.
copies='copy move held 3.1
copy move released 3.4
set_string move held 3.1
set_string move released 3.4
get_string string held 3.1
initialize_copy move held 3.3
initialize_copy move released 3.4
clear set held 3.1
resize move held 3.1
resize set held 3.1
<=> compare held 3.1'

# The Rubies that are tested sort like text.
is_from()
{
	[ "$(printf '%s\n%s\n' "$1" "$2" | sort | head -n 1)" = "$1" ]
}

# The calls that cost more than one trap.
dear()
{
	grep '^site ' "$1" | grep -Ev '^site 0x[0-9a-f]+ 0x[0-9a-f]+ [a-z]+ emulated '
}

# Method, C function: these are exported.
exported='<< rb_ary_push
freeze rb_obj_freeze
succ rb_str_succ'

for ruby in 3.1 3.3 3.4; do
	# shellcheck disable=SC2016
	start_ruby "$ruby" -e '$stderr.puts "READY"; sleep' || continue
	exits "$ruby: the copies are found" 0 "$copyfn" "$PID"
	printf '%s\n' "$copies" >"$tmp/copies"
	while read -r method op lock from; do
		is_from "$from" "$ruby" || continue
		has "$ruby: $method comes by a $op, lock $lock" "$tmp/out" \
			"^site .* $op .* len_reg [0-9]+ $lock .*by.* $method( |$)"
	done <"$tmp/copies"
	is "$ruby: all methods are found" "$(grep -c '^method ' "$tmp/out")" \
		"$(is_from 3.3 "$ruby" && echo 7 || echo 6)"
	is "$ruby: no method has copies that cannot be probed" "$(grep '^unseen' "$tmp/out")" ''
	is "$ruby: all calls cost one trap" "$(dear "$tmp/out")" ''
	is "$ruby: nothing but the copies from 1 MiB up runs without the lock" \
		"$(grep -c ' released ' "$tmp/out")" "$(is_from 3.4 "$ruby" && echo 1 || echo 0)"

	exits "$ruby: other methods are listed" 0 "$copyfn" "$PID" methods
	check "$ruby: there are more than 1500" [ "$(wc -l <"$tmp/out")" -gt 1500 ]
	printf '%s\n' "$exported" >"$tmp/exported"
	while read -r method symbol; do
		has "$ruby: $method is $symbol" "$tmp/out" \
			"^0x[0-9a-f]+ 0x[0-9a-f]+ $method $symbol$"
	done <"$tmp/exported"
	stop "$PID"
done

sleep 60 &
started $!
exits 'what is no Ruby has none' 1 "$copyfn" $!

done_testing
