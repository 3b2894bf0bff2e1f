#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# How often a gate is wrong, in simulation: false alarms in at most 1 % of gates for each kind of noise, and
# a true 10 % found in at least 95 %.
. "$(dirname "$0")/lib.sh"

simulate=$repo/.build/tools/gate_simulate
[ -x "$simulate" ] || skip_all 'not built: make .build/tools/gate_simulate'

if "$simulate" >"$tmp/rates"; then
	ok 'at most 1 gate in 100 raises a false alarm, 95 in 100 find 10 %'
else
	not_ok 'at most 1 gate in 100 raises a false alarm, 95 in 100 find 10 %'
fi
sed 's/^/# /' "$tmp/rates"

done_testing
