#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# timeout: 400
# Half a minute of each fuzzer on its kept corpus, sanitizers on. FUZZ_SECONDS says otherwise.

cd "$(dirname "$0")/.." || exit 1
make -s -j2 fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-30}"
