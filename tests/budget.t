#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: a stall of the machine makes a share of time larger
# --budget bounds what tracing costs, and the report says how much of the time was seen.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/record.sh"

need_root
for ruby in 3.1 3.4; do
	# shellcheck disable=SC2016
	start_ruby "$ruby" -W0 -e '
		r, w = IO.pipe
		$stderr.puts "READY"
		loop { w.syswrite("x"); r.sysread(1) }' || continue
	exits "$ruby: recorded under a budget of 2 %" 0 \
		"$GVLSCOPE" record -q -p "$PID" -d 5s --budget 2 -o "$trace"
	stop "$PID"
	make_report "$ruby" || continue
	is_sound "$ruby"
	holds "$ruby: it costs no more" 'd["cost"]["target_share"] <= 0.03'
	holds "$ruby: it was seen in windows" '0 < d["capture"]["seen_share"] < 0.6'
	holds "$ruby: the capture lasts as long as it was asked to" \
		'4.9e9 < d["capture"]["duration_ns"] < 5.6e9'
	holds "$ruby: nothing is lost" 'd["lost"]["events"] == 0 and d["lost"]["gaps"] == 0'
done
done_testing
