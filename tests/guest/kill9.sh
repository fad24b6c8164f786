#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Processes that are killed half-way, on one kernel: see kill9.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/kill9.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

expect 0 "$vm/run" -k "$1" --smp 2 --rxe 2 -m 2048 --hugepages-2m 192 \
	-- guest_kill9
cat "$tmp/out" "$tmp/err"
finish
