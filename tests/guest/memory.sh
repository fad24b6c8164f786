#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Buffers and their backing on one kernel with two NUMA nodes: see memory.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/memory.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

expect 0 "$vm/run" -k "$1" --numa --smp 4 -m 1024 --hugepages-2m 16 -- guest_memory
cat "$tmp/out" "$tmp/err"
finish
