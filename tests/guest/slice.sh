#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The library on one kernel: see slice.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/slice.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

expect 0 "$vm/run" -k "$1" -m 3072 --hugepages-2m 8 --hugepages-1g 1 \
	-- guest_slice
cat "$tmp/out" "$tmp/err"
finish
