#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A stand-in for a Ruby whose answers are exact, in the shapes that Rubies come in.

. "$(dirname "$0")/lib.sh"
need_root

src=$repo/tests/fake
cc=${CC:-cc}
export XDG_CACHE_HOME="$tmp/cache"

# static NAME FLAGS...: a program with everything in it
static()
{
	name=$1
	shift
	$cc -O2 -g -rdynamic -DWITH_MAIN "$@" -o "$tmp/$name" "$src/ruby.c"
}

# shared NAME FLAGS...: a library and a program that uses it
shared()
{
	name=$1
	shift
	mkdir -p "$tmp/$name.d"
	$cc -O2 -g -shared -fPIC "$@" -o "$tmp/$name.d/libruby-fake.so" "$src/ruby.c" &&
	printf 'int fake_main(void);\nint main(void) { return fake_main(); }\n' >"$tmp/main.c" &&
	$cc -o "$tmp/$name" "$tmp/main.c" -L"$tmp/$name.d" -lruby-fake -Wl,-rpath,"$tmp/$name.d"
}

# start PROGRAM: runs it with its input held open at $tmp/in; sets PID
start()
{
	rm -f "$tmp/in" "$tmp/out" "$tmp/err"
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
	PID=$!
	started "$PID"
	exec 9>"$tmp/in"
	wait_for 10 grep -q READY "$tmp/err"
}

end()
{
	exec 9>&-
	wait "$PID"
}

# traced NAME PROGRAM...: its events are just those that it made
traced()
{
	name=$1
	shift
	start "$@"
	"$GVLSCOPE" record -p "$PID" -o "$tmp/t.gvs" >"$tmp/rec" 2>&1 9>&- &
	recorder=$!
	started "$recorder"
	if ! wait_for 10 grep -q Tracing "$tmp/rec"; then
		not_ok "$name" "$(cat "$tmp/rec")"
		end
		return
	fi
	echo 300 >&9
	wait_for 10 test -s "$tmp/out"
	want=$(cat "$tmp/out")
	end
	wait "$recorder"
	got=$("$repo/.build/tools/trace_dump" "$tmp/t.gvs" |
		awk -F'\t' '/OWNER\t/ || $2 == "OWNER" { o++ } /QUEUE\t/ || $2 == "QUEUE" { q++ } END { print o + 0, q + 0 }')
	is "$name" "$got" "$want"
	gvlscope report -f json "$tmp/t.gvs" >"$tmp/json" || cat "$tmp/json"
}

# field NAME PYEXPR WANT: of the last trace's target
field()
{
	is "$1" "$(json "$tmp/json" "d['target'][0]$2")" "$3"
}

static plain
traced 'static, with symbols' "$tmp/plain"
field '  layout from its DWARF' "['layout']" dwarf

static bare -s
traced 'static, stripped' "$tmp/bare"
field '  layout from the table' "['layout']" table
field '  said to be stripped' "['stripped']" True

shared lib
traced 'shared library, with symbols' "$tmp/lib"

shared slib -s
traced 'shared library, stripped' "$tmp/slib"

static split
objcopy --only-keep-debug "$tmp/split" "$tmp/split.debug"
strip "$tmp/split"
(cd "$tmp" && objcopy --add-gnu-debuglink=split.debug split)
traced 'separate debug file beside it (.gnu_debuglink)' "$tmp/split"
field '  layout from its DWARF' "['layout']" dwarf

static unknown -DVERSION='"3.9.1"' -DSHIFT=64
traced 'unknown version with DWARF' "$tmp/unknown"

static devel -DVERSION='"3.3.8"' -DPATCHLEVEL=-1
traced 'development build with DWARF' "$tmp/devel"

# refused NAME ERE PROGRAM...: exit status 77, a sentence, and the process lives on
refused()
{
	name=$1
	ere=$2
	shift 2
	start "$@"
	gvlscope record -p "$PID" -d 1s -o "$tmp/t.gvs" >"$tmp/rec" 2>&1
	is "$name: exit status" "$?" 77
	has "$name: the reason" "$tmp/rec" "$ere"
	echo 1 >&9
	wait_for 10 test -s "$tmp/out"
	is "$name: it goes on" "$(cat "$tmp/out")" '6 4'
	end
}

static stranger -s -DVERSION='"3.9.1"'
refused 'unknown version, stripped' 'no built-in layout' "$tmp/stranger"

start "$tmp/stranger"
gvlscope record -p "$PID" -d 0.2s --layout-from 3.3.8 -o "$tmp/t.gvs" >"$tmp/rec" 2>&1
is '--layout-from a neighbour that fits' "$?" 0
gvlscope record -p "$PID" -d 0.2s --layout-from 3.1.2 -o "$tmp/t.gvs" >"$tmp/rec" 2>&1
is '--layout-from one that does not fit' "$?" 77
end

static liar -s -DSHIFT=64
refused 'a build whose structures lie elsewhere than the release says' 'look like|not where' "$tmp/liar"

static preview -s -DPATCHLEVEL=-1
refused 'development build, stripped' 'development build' "$tmp/preview"

# Deleted after it was started: still there through the mapping.
cp "$tmp/bare" "$tmp/gone"
start "$tmp/gone"
rm "$tmp/gone"
gvlscope doctor -p "$PID" >"$tmp/doc" 2>&1
is 'program file deleted since: doctor' "$?" 0
gvlscope record -p "$PID" -d 0.2s -o "$tmp/t.gvs" >"$tmp/rec" 2>&1
is 'program file deleted since: record' "$?" 0
end

# A second run finds what the first one learned, and sees as much.
set -- "$tmp"/cache/gvlscope/sites/*
check "the sites are cached by build-id: $# files" test $# -gt 3
traced 'with cached sites' "$tmp/bare"
for f in "$tmp"/cache/gvlscope/sites/*; do
	printf 'op 1000\nqp zzz\nxx\n' >"$f"
done
traced 'with a cache that lies' "$tmp/bare"

done_testing
