#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The test runner: whatever goes wrong in a test must not pass.
. "$(dirname "$0")/lib.sh"

# sums NAME TOTALS: a test of the lines on stdin gives these totals
sums()
{
	{ echo '#!/bin/sh'; cat; } >"$tmp/it.t"
	chmod +x "$tmp/it.t"
	"$repo/tests/run" "$tmp/it.t" >"$tmp/out" 2>&1
	status=$?
	is "$1" "$(tail -n 1 "$tmp/out"), status $status" "$2"
}

sums 'passing tests pass' '2 passed, 0 failed, 0 skipped, status 0' <<'E'
echo 1..2; echo ok 1 - a; echo ok 2 - b
E
sums 'the plan may come last' '1 passed, 0 failed, 0 skipped, status 0' <<'E'
echo ok 1 - a; echo 1..1
E
sums 'a failing test fails' '1 passed, 1 failed, 0 skipped, status 1' <<'E'
echo ok 1 - a; echo not ok 2 - b; echo 1..2; exit 1
E
sums 'a skipped test is neither' '1 passed, 0 failed, 1 skipped, status 0' <<'E'
echo ok 1 - a; echo 'ok 2 - b # SKIP no root'; echo 1..2
E
has 'a skipped test is listed with its reason' "$tmp/out" '^skipped: it.t: b: no root$'
sums 'a skipped file is skipped' '0 passed, 0 failed, 1 skipped, status 0' <<'E'
echo '1..0 # SKIP no root'
E
sums 'old cmocka skips with "not ok"' '0 passed, 0 failed, 1 skipped, status 0' <<'E'
echo 1..1; echo 'not ok 1 # SKIP name'
E
sums 'a planned test that did not run fails' '1 passed, 2 failed, 0 skipped, status 1' <<'E'
echo 1..3; echo ok 1 - a
E
sums 'a test more than planned fails' '2 passed, 1 failed, 0 skipped, status 1' <<'E'
echo 1..1; echo ok 1 - a; echo ok 2 - b
E
sums 'a test without a plan fails' '1 passed, 1 failed, 0 skipped, status 1' <<'E'
echo ok 1 - a
E
sums 'silence fails' '0 passed, 1 failed, 0 skipped, status 1' <<'E'
E
sums 'an empty plan fails' '0 passed, 1 failed, 0 skipped, status 1' <<'E'
echo 1..0
E
sums 'a crash fails' '1 passed, 1 failed, 0 skipped, status 1' <<'E'
echo 1..1; echo ok 1 - a; kill -SEGV $$
E
sums 'an exit status alone fails' '1 passed, 1 failed, 0 skipped, status 1' <<'E'
echo 1..1; echo ok 1 - a; exit 3
E
sums 'a test that hangs fails' '1 passed, 1 failed, 0 skipped, status 1' <<'E'
# timeout: 1
echo 1..1; echo ok 1 - a; exec sleep 60
E
sums 'a test that leaves a process behind fails' '1 passed, 1 failed, 0 skipped, status 1' <<'E'
echo 1..1; echo ok 1 - a; sleep 61 &
E
sums 'what compares times is tried again: the second time counts' '2 passed, 0 failed, 0 skipped, status 0' <<E
# again: a stall
echo 1..2; echo ok 1 - a
if [ -e "$tmp/second" ]; then echo ok 2 - b; else echo not ok 2 - b; fi
: >"$tmp/second"
E
has 'the first time is shown' "$tmp/out" '^     FAIL it.t: b$'
has 'and why there is another' "$tmp/out" '^again it.t: a stall$'
sums 'what fails again fails' '1 passed, 1 failed, 0 skipped, status 1' <<'E'
# again: a stall
echo 1..2; echo ok 1 - a; echo not ok 2 - b
E
"$repo/tests/run" "$tmp/none" >"$tmp/out" 2>&1
is 'a missing file fails' "$(tail -n 1 "$tmp/out"), status $?" \
	'0 passed, 1 failed, 0 skipped, status 1'

done_testing
