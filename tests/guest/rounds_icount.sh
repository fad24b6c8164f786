#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Under the instruction clock two runs of reg_rounds give the same figures: not
# to within a tolerance, but to the last instruction.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/rounds_icount.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
readonly kernel=$1
need_kernel "$kernel"

once() {
	expect 0 "$vm/run" --icount -k "$kernel" --hugepages-2m 64 \
		-- reg_rounds -s 128M -n 4 -H -T --json
}

once
cat "$tmp/out"
mv "$tmp/out" "$tmp/first"
contains "$tmp/first" '"reg_instructions"'
contains "$tmp/first" '"dereg_instructions"'
lacks "$tmp/first" '_ns"'
once
same_file "$tmp/out" "$tmp/first"
finish
