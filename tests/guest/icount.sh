#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# With --icount the guest's clock counts instructions: another run reads the
# same, to the last digit, on a busy host too.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/icount.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
readonly kernel=$1
need_kernel "$kernel"

expect 0 "$vm/run" --icount -k "$kernel" -- count_loop 2000000 5
mv "$tmp/out" "$tmp/first"
equal "$(wc -l <"$tmp/first")" 5 "readings"
# two instructions a round, in the shortest of the loops
shortest=$(sort -n "$tmp/first" | head -n 1)
((shortest >= 4000000 && shortest < 4100000)) ||
	fail "expected about 4000000 instructions, got $shortest"

timeout 60 sh -c 'while :; do :; done' &
noise=$!
expect 0 "$vm/run" --icount -k "$kernel" -- count_loop 2000000 5
kill "$noise"
same_file "$tmp/out" "$tmp/first"

# idle time is skipped, and counts for the guest's own limit
expect 124 "$vm/run" --icount -k "$kernel" -t 200 -- sleep 1000
contains "$tmp/err" 'time limit of 185 s reached'
contains "$tmp/err" 'timeout after [0-9]?[0-9] s'
finish
