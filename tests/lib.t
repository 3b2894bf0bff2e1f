#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the other tests stand on: scripts/rubies and start_ruby.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016
ruby_pid='$stderr.puts "READY #{$$}"; sleep'

for ruby in 3.1 3.3 3.4; do
	start_ruby "$ruby" -rjson -rsocket -rzlib -rpty -e "$ruby_pid" || continue
	is "$ruby: the pid that was started is the Ruby" "READY $PID" "$(cat "$RUBY_ERR")"
	stop "$PID"
	check "$ruby: is gone when stopped" gone "$PID"
done

for ruby in 3.3 3.4; do
	start_ruby -b "$ruby" -e "$ruby_pid" || continue
	is "$ruby boxed: is the first process of a pid namespace" 'READY 1' "$(cat "$RUBY_ERR")"
	is "$ruby boxed: has a root of its own" "$(readlink "/proc/$PID/root")" /
	has "$ruby boxed: PID is a Ruby" "/proc/$PID/maps" "/usr/lib/[^ ]*/libruby-$ruby"
	stop "$PID"
	check "$ruby boxed: is gone when stopped" gone "$PID"
done

mkdir "$tmp/dir"
echo 'File.write("out", ARGV.inspect)' >"$tmp/dir/script.rb"
for ruby in 3.1 3.3 3.4; do
	reason=$("$repo/scripts/rubies" has "$ruby" 2>&1) ||
		{ skip "$ruby: files" "${reason#*skipped: }"; continue; }
	(cd "$tmp/dir" && "$repo/scripts/rubies" run "$ruby" script.rb 'a b' c)
	is "$ruby: sees the files and the directory of its caller" \
		"$(cat "$tmp/dir/out")" '["a b", "c"]'
done

done_testing
