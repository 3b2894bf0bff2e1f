#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# again: its tools take long on a busy machine
# timeout: 400
# Tests of the reference implementations once more, under tools that see what a run alone does not.

. "$(dirname "$0")/lib.sh"
cd "$repo" || exit 1

make -s -j2 ref-tests >"$tmp/make" 2>&1 || not_ok 'they are built' "$(tail -n 20 "$tmp/make")"

# clang 14's ThreadSanitizer does not find its place where addresses are random by over 28 bits.
setarch -R true 2>/dev/null && fixed='setarch -R'

for test in .build/tests/ref_*_test; do
	name=$(basename "$test")
	# shellcheck disable=SC2086
	check "$name: ThreadSanitizer" env TSAN_OPTIONS=suppressions=tests/tsan.supp timeout 100 \
		${fixed:-} ".build/tsan/$name"
	check "$name: AddressSanitizer and UBSan" timeout 100 ".build/asan/$name"
	if ! command -v valgrind >"$tmp/which"; then
		skip "$name: DRD" 'valgrind is not installed'
		continue
	fi
	# Not helgrind: it takes the signal that glibc's pthread_cond_wait() may pass on for the
	# program's, and without libc6-dbg it does not see pthread_cond_timedwait().
	check "$name: DRD" env REF_OPERATIONS=200 timeout 100 valgrind -q --tool=drd \
		--fair-sched=yes --check-stack-var=yes --suppressions=tests/drd.supp \
		--error-exitcode=1 "$test"
done

waiters=.build/tests/ref_waiters_test
check 'a million operations leave no waiter behind' \
	env REF_OPERATIONS=1000000 timeout 100 "$waiters"

done_testing
