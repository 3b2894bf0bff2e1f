#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 400
# A minute of each fuzzer on its kept corpus, sanitizers on. FUZZ_SECONDS changes the minute.

cd "$(dirname "$0")/.." || exit 1
make -s -j2 fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-60}"
