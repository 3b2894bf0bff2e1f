#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: what it predicts is compared with what is measured on a shared machine
# timeout: 600
#
# What compare predicts from traces of Ruby 3.3 is what Ruby 3.4 does: the table of copies.
. "$(dirname "$0")/lib.sh"

need_root
for ruby in 3.3 3.4; do
	why=$("$repo/scripts/rubies" has "$ruby" 2>&1) || skip_all "${why#*skipped: }"
done
[ "$(nproc)" -ge 2 ] || skip_all 'one processor: copies at the same time take as long'
name='copies: 3.4 is predicted from 3.3 within 15 %'
"$repo/scripts/validate-compare" 3.3 3.4 copy >"$tmp/out" 2>"$tmp/err"
case $? in
0) ok "$name" ;;
4) skip "$name" "not to be told on this machine: $(sed -n '/ noisy$/p; / slowed$/p' "$tmp/out" | tr -s ' ' |
	paste -sd ';')" ;;
*) not_ok "$name" "$(tail -n 20 "$tmp/err")" ;;
esac
sed 's/^/# /' "$tmp/out"
done_testing
