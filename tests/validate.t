#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: it runs many programs against time limits
# timeout: 300
#
# What compare predicts from traces of Ruby 3.3, beside what Ruby 3.4 does: the table of copies.
. "$(dirname "$0")/lib.sh"

need_root
for ruby in 3.3 3.4; do
	why=$("$repo/scripts/rubies" has "$ruby" 2>&1) || skip_all "${why#*skipped: }"
done
[ "$(nproc)" -ge 2 ] || skip_all 'one processor: copies at the same time take as long'
# One run of each cell: that there is a prediction. How right it is takes more runs and a quiet machine, where a
# trap is cheap: docs/method.md has what came of it here.
"$repo/scripts/validate-compare" -n 1 -t 1 3.3 3.4 copy >"$tmp/out" 2>"$tmp/err"
is 'copies: 3.4 is predicted from 3.3, and measured' "$(($? != 2)) $(grep -c '^copy, .*predicted [0-9]' "$tmp/out")" '1 4'
sed 's/^/# /' "$tmp/out"
done_testing
