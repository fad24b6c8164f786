#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What mapping memory for a device of VFIO must keep to, on one kernel that has
# vfio built in: see vfio.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/vfio.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

expect 0 "$vm/run" -k "$1" --iommu -m 2048 --hugepages-2m 64 -t 900 -- guest_vfio
cat "$tmp/out" "$tmp/err"
lacks "$tmp/err" SKIPPED
finish
