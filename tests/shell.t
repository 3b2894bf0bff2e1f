#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
. "$(dirname "$0")/lib.sh"

command -v shellcheck >/dev/null || skip_all 'no shellcheck'
cd "$repo" || exit
for file in .ci/run scripts/* scripts/*/* tests/* tests/*/*; do
	if [ -f "$file" ] && head -n 2 "$file" | grep -aq -e '^#!.*sh$' -e 'shellcheck shell='; then
		check "$file is shellcheck-clean" shellcheck -x -P SCRIPTDIR "$file"
	fi
done
done_testing
