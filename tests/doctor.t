#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What doctor says of the machine and of a process, and that it leaves the process alone.

. "$(dirname "$0")/lib.sh"
need_root

# shellcheck disable=SC2317 # called by check
fits()
{
	"$repo/tests/tools/check-schema" "$repo/tests/schema/doctor.schema.json" "$1"
}

exits 'doctor, this machine' 0 gvlscope doctor
exits 'doctor, as JSON' 0 gvlscope doctor -f json
gvlscope doctor -f json >"$tmp/doctor.json"
check 'the JSON fits its schema' fits "$tmp/doctor.json"

gvlscope doctor --selftest -f json >"$tmp/self.json"
is 'selftest: exit status' $? 0
check 'selftest: the JSON fits its schema' fits "$tmp/self.json"
# seen WHAT: as many as the locks themselves have counted, and not none
seen()
{
	json "$tmp/self.json" "d['selftest']['$1_seen'] == d['selftest']['$1_made'] > 0"
}
is 'selftest: all owner changes seen' "$(seen changes)" True
is 'selftest: all queue entries seen' "$(seen entries)" True
is 'selftest: none lost' "$(json "$tmp/self.json" "d['selftest']['lost']")" 0

for name in 3.1 3.3 3.4; do
	# shellcheck disable=SC2016
	start_ruby "$name" -e '$stderr.puts "READY"; sleep 60' || continue
	gvlscope doctor -p "$PID" -f json >"$tmp/p.json"
	is "Ruby $name: exit status" $? 0
	check "Ruby $name: the JSON fits its schema" fits "$tmp/p.json"
	is "Ruby $name: version" "$(json "$tmp/p.json" "d['process']['ruby'][:3]")" "$name"
	is "Ruby $name: one lock" "$(json "$tmp/p.json" "len(d['process']['locks'])")" 1
	gvlscope doctor -p "$PID" >"$tmp/p.txt"
	has "Ruby $name: says where the lock is" "$tmp/p.txt" 'lock of Ractor 1 at 0x'
	has "Ruby $name: says how" "$tmp/p.txt" 'gvl +by '
	stop "$PID"
done

exits 'not a Ruby' 77 gvlscope doctor -p $$
gvlscope doctor -p $$ -f json >"$tmp/no.json"
check 'not a Ruby: the JSON fits its schema' fits "$tmp/no.json"
is 'not a Ruby: the reason' "$(json "$tmp/no.json" "d['process']['reason']['id']")" not-ruby
exits 'no such process' 1 gvlscope doctor -p 4194305
exits 'bad option' 2 gvlscope doctor --bad
exits 'bad process id' 2 gvlscope doctor -p x
exits 'bad format' 2 gvlscope doctor -f xml

done_testing
