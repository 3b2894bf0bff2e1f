#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The C library's routines that copy and fill memory, those that were chosen for a process and all
# others that might have been, and where large sizes can be seen in them.
. "$(dirname "$0")/lib.sh"

libcopy=$repo/.build/tools/libcopy
[ "$(uname -m)" = x86_64 ] || skip_all 'x86_64 only'
[ -x "$libcopy" ] || skip_all 'not built: make .build/tools/libcopy'
need_root

# What libruby calls, which the loader resolved by itself, lies in the routines that are found.
# shellcheck disable=SC2317 # called by check
called_is_found()
{
	python3 - "$1" "$2" <<-'EOF'
	import re, struct, subprocess, sys

	maps = [line.split() for line in open(f"/proc/{sys.argv[1]}/maps")]
	base = lambda name: next((int(m[0].split("-")[0], 16), m[5]) for m in maps
				 if len(m) > 5 and name in m[5])
	ruby, path = base("libruby")
	libc, libc_path = base("libc.so.6")
	lines = [line.split() for line in open(sys.argv[2])]
	found = [(l[1], int(l[2], 16), int(l[3], 16)) for l in lines if l[0] == "routine"]
	relocs = subprocess.run(["readelf", "-Wr", f"/proc/{sys.argv[1]}/root{path}"],
				capture_output=True, text=True).stdout
	called = re.findall(r"^(\w+) .*JUMP_SLOT\s+\w+ (memmove|memcpy|memset)@", relocs, re.M)
	memory = open(f"/proc/{sys.argv[1]}/mem", "rb")
	print(found, called)
	if {name for _, name in called} != {"memmove", "memcpy", "memset"}:
	    sys.exit("libruby calls", called)
	for slot, name in called:
	    memory.seek(ruby + int(slot, 16))
	    at = struct.unpack("<Q", memory.read(8))[0] - libc
	    kind = "memset" if name == "memset" else "memmove"
	    if not any(r[0] == kind and r[1] <= at < r[2] for r in found):
	        sys.exit(f"{name} at {at:#x} is in none of them")
	EOF
}

# all_have_places FILE MIN: each routine has, for sizes from MIN on, and inside it
# shellcheck disable=SC2317
all_have_places()
{
	python3 - "$1" "$2" <<-'EOF'
	import sys

	nr = 0
	for line in open(sys.argv[1]):
	    word = line.split()
	    if word[0] == "routine":
	        start, end = int(word[2], 16), int(word[3], 16)
	    if word[0] == "error":
	        sys.exit(f"{start:#x}: {line}")
	    if word[0] == "from":
	        nr += 1
	        if int(word[1]) > int(sys.argv[2]) + 1:
	            sys.exit(f"{start:#x}: only {line}")
	    if word[0] == "place":
	        at, least = int(word[1], 16), int(word[6])
	        if not start <= at < end:
	            sys.exit(f"{at:#x} is outside {start:#x}-{end:#x}")
	        if "emulated" not in word and 1 < least <= 2048:
	            sys.exit(f"{at:#x} is single-stepped for {least} bytes")
	print(nr, "routines")
	sys.exit(nr < 2)
	EOF
}

# from TUNABLE MIN: in $from_got, the size from which on every memmove passes a place
from()
{
	GLIBC_TUNABLES=$1
	export GLIBC_TUNABLES
	# shellcheck disable=SC2016
	start_ruby 3.1 -e 'puts "READY"; $stdout.flush; sleep'
	from_started=$?
	unset GLIBC_TUNABLES
	[ "$from_started" = 0 ] || return 1
	"$libcopy" "$PID" "$2" >"$tmp/from"
	stop "$PID"
	from_got=$(sed -n '/^routine memmove/,/^routine memset/s/^from //p' "$tmp/from")
}

for ruby in 3.1 3.3 3.4; do
	# shellcheck disable=SC2016
	start_ruby "$ruby" -e '$stderr.puts "READY"; sleep' || continue
	exits "$ruby: all routines have places" 0 "$libcopy" "$PID"
	has "$ruby: memmove is found" "$tmp/out" '^routine memmove '
	has "$ruby: memset is found" "$tmp/out" '^routine memset '
	has "$ruby: a place in memmove costs one trap" "$tmp/out" '^place .* emulated$'
	check "$ruby: places lie in their routines" all_have_places "$tmp/out" 16384
	check "$ruby: what libruby calls is what is found" called_is_found "$PID" "$tmp/out"
	exits "$ruby: places for sizes from 4 KiB are there too" 0 "$libcopy" "$PID" 4096
	check "$ruby: those lie in their routines" all_have_places "$tmp/out" 4096
	exits "$ruby: what other processors run has places" 0 "$libcopy" -a "$PID"
	check "$ruby: those lie in their routines as well" all_have_places "$tmp/out" 16384
	stop "$PID"
done

# Size 16384 itself goes with the smaller ones: a place for it would be passed by copies of 1 KiB.
if grep -qw erms /proc/cpuinfo && from glibc.cpu.x86_rep_movsb_threshold=16384 16384; then
	is 'a size at the very threshold is left out' "$from_got" 16385
	if from glibc.cpu.x86_rep_movsb_threshold=30000 16384; then
		check 'sizes on both sides of the threshold pass a place' test "$from_got" -le 16384
	fi
else
	skip 'a size at the very threshold is left out' 'no Ruby 3.1, or a processor without ERMS'
fi

# A program that has no C library mapped.
cat >"$tmp/static.c" <<'EOF'
#include <unistd.h>
int main(void) { return pause(); }
EOF
if cc -static -o "$tmp/static" "$tmp/static.c" 2>/dev/null; then
	"$tmp/static" &
	started $!
	exits 'a static program has none' 77 "$libcopy" $!
	has 'it says so' "$tmp/err" 'no-copy'
else
	skip 'a static program has none' 'no static C library'
fi

done_testing
