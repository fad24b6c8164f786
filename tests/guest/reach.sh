#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What a device reaches of a region, on one kernel: see reach.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/reach.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

series=()
[[ $1 != *+series* ]] || series=(--env HUGEMR_SERIES=1)
# The one warning is soft-RoCE's own beyond 1 GiB, which is provoked.
expect 0 "$vm/run" -k "$1" -m 7168 -t 600 "${series[@]}" \
	--allow-splat 'WARNING: .*mm/(page_alloc|util|slub)\.c:[0-9]+' \
	-- guest_reach
cat "$tmp/out" "$tmp/err"
finish
