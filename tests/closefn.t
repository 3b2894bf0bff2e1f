#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Where IO#close scans for waiters is found without symbols, and can be probed at the price of one
# trap.
. "$(dirname "$0")/lib.sh"

closefn=$repo/.build/tools/closefn
[ "$(uname -m)" = x86_64 ] || skip_all 'x86_64 only'
[ -x "$closefn" ] || skip_all 'not built: make .build/tools/closefn'
need_root

# A line for each thing to check: name, pattern of a line.
found='it is found without symbols|how recovered
it takes a descriptor|argument fd
its entry costs one trap|entry 0x[0-9a-f]+ 0x[0-9a-f]+ emulated.*
a close by rb_thread_fd_close can be told|fdclose 0x[0-9a-f]+ 0x[0-9a-f]+'

# In rb_thread_fd_close and in what does the work of rb_io_close.
# shellcheck disable=SC2317 # called by check
two_returns()
{
	python3 - "$1" <<-'EOF'
	import sys

	lines = [line.split() for line in open(sys.argv[1])]
	start, end = next([int(x, 16) for x in l[1:]] for l in lines if l[0] == "fdclose")
	after = [int(l[1], 16) for l in lines if l[0] == "after" and "emulated" in l]
	inside = [a for a in after if start <= a < end]
	print("inside", inside, "of", after)
	sys.exit(not inside or len(inside) == len(after))
	EOF
}

for ruby in 3.1 3.3 3.4; do
	# shellcheck disable=SC2016
	start_ruby "$ruby" -e '$stderr.puts "READY"; sleep' || continue
	exits "$ruby: the scan is found" 0 "$closefn" "$PID"
	printf '%s\n' "$found" >"$tmp/found"
	while IFS='|' read -r name pattern; do
		has "$ruby: $name" "$tmp/out" "^$pattern\$"
	done <"$tmp/found"
	check "$ruby: returns to rb_thread_fd_close and to another are known, at one trap each" \
		two_returns "$tmp/out"
	stop "$PID"
done

sleep 60 &
started $!
exits 'what is no Ruby has none' 1 "$closefn" $!

done_testing
