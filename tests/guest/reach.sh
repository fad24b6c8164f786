#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What a device reaches of a region, on one kernel: see reach.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/reach.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

# Beyond 1 GiB, soft-RoCE without a series may provoke one warning of its own.
options=(--allow-splat 'WARNING: .*mm/(page_alloc|util|slub)\.c:[0-9]+')
[[ $1 != *+series* ]] || options=(--env HUGEMR_SERIES=1)
expect 0 "$vm/run" -k "$1" -m 7168 -t 600 "${options[@]}" -- guest_reach
cat "$tmp/out" "$tmp/err"
finish
