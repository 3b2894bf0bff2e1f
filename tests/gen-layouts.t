#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/gen-layouts in a tree of its own: the table grows, but what it says never changes.
. "$(dirname "$0")/lib.sh"

made=$repo/.build
make -s -C "$repo" .build/tools/layout-row .build/tests/fixtures/layout_old.so \
	.build/tests/fixtures/layout_new.so >&2 || { not_ok 'the tool builds'; done_testing; }
old=$made/tests/fixtures/layout_old.so
new=$made/tests/fixtures/layout_new.so

mkdir -p "$tmp/scripts" "$tmp/user/target" "$tmp/.build/tools"
cp "$repo/scripts/gen-layouts" "$tmp/scripts/"
cp "$made/tools/layout-row" "$tmp/.build/tools/"
printf '.build/tools/layout-row: ;\n' >"$tmp/Makefile"
gen=$tmp/scripts/gen-layouts
table=$tmp/user/target/layout_table.inc

# The lines that name versions.
versions()
{
	grep '^	"[0-9]' "$table" | tr -d '\t\n'
}

exits 'a table is begun' 0 "$gen" 9.1.10="$old" 9.1.9="$old" 10.0.0="$new"
is 'rows are in order of versions, one for each layout' "$(versions)" '"9.1.9 9.1.10","10.0.0",'
exits 'a table grows' 0 "$gen" 9.2.0="$old"
is 'a layout that is known gets no second row' "$(versions)" '"9.1.9 9.1.10 9.2.0","10.0.0",'

cp "$table" "$tmp/before"
exits 'the same again changes nothing' 0 "$gen" 9.2.0="$old" 10.0.0="$new"
check 'not a byte' cmp "$table" "$tmp/before"
exits 'a row that is known does not change' 1 "$gen" 9.1.10="$new" 11.0.0="$new"
has 'version, member, old and new are named' "$tmp/err" \
	': 9\.1\.10 \(x86_64|aarch64\): ractor_owner was [0-9]+, is [0-9]+$'
check 'and the table is as before' cmp "$table" "$tmp/before"
exits 'two files may not differ' 1 "$gen" 12.0.0="$old" 12.0.0="$new"

exits '--check accepts what the table says' 0 "$gen" --check 9.2.0="$old"
exits '--check refuses another layout' 1 "$gen" --check 9.2.0="$new"
exits '--check refuses a version that is not there' 1 "$gen" --check 9.3.0="$old"
has 'and says so' "$tmp/err" ': 9\.3\.0 \(.*\): not in the table$'

sed -i '/thread_name/d' "$table"
exits 'a new member needs a file for every version' 1 "$gen" 9.2.0="$old"
has 'the version that lacks one is named' "$tmp/err" \
	': 9\.1\.9 \(.*\): thread_name unknown: give its FILE$'
exits 'with all of them it is filled in' 0 \
	"$gen" 9.1.9="$old" 9.1.10="$old" 9.2.0="$old" 10.0.0="$new"
check 'as it was' cmp "$table" "$tmp/before"

exits 'a version is three numbers' 2 "$gen" 9.2="$old"
exits 'a file is needed' 2 "$gen"
exits 'a file without DWARF is refused' 1 "$gen" 9.2.0=/bin/sh
done_testing
