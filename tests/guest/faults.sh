#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Registering without memory for it, on a kernel with kernel/debug.config: see
# faults.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/faults.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

status=0
"$vm/run" -k "$1" -m 2048 --hugepages-2m 64 -t 1800 -- guest_faults \
	>"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
cat "$tmp/out" "$tmp/err"
# the program's own word that the kernel can't fail on demand
if ((status == 77)) && grep -q '^no FAULT_INJECTION' "$tmp/out"; then
	exit 77
fi
equal "$status" 0 "exit status of guest_faults"
finish
