#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What pinning memory must keep to, on one kernel: see pins.c. With --big also
# MRs beyond 1 GiB, which soft-RoCE of some kernels refuses.

if [[ ${1-} == --help || ${1-} == "" || $# -gt 2 ||
      ( $# == 2 && $2 != --big ) ]]; then
	echo "Usage: tests/guest/pins.sh KERNEL [--big]"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

# shellcheck disable=SC2016 # for the shell in the guest
readonly prepare='
set -e
mkdir /ext4
dd if=/dev/zero of=/dev/shm/ext4 bs=1M count=0 seek=32 2>/dev/null
/usr/sbin/mke2fs -q -F -t ext4 /dev/shm/ext4
mount -t ext4 -o loop /dev/shm/ext4 /ext4
exec guest_pins "$@"'

expect 0 "$vm/run" -k "$1" -m 2048 --hugepages-2m 64 -t 1200 \
	--append secretmem.enable=1 --module loop --module ext4 \
	--add guest_pins --add mke2fs -- sh -c "$prepare" pins ${2+"$2"}
cat "$tmp/out" "$tmp/err"

# Memory is taken from where it may be moved: always if there is a zone for it,
# and from CMA while that is half of what is free. Between 1 and 2 GiB there is
# nothing else yet when CMA is set up.
expect 0 "$vm/run" -k "$1" -m 2048 --hugepages-2m 64 -t 600 \
	--append movablecore=1G -- guest_pins 'zone: movable*'
cat "$tmp/out" "$tmp/err"
lacks "$tmp/out" 'no movable zone'
expect 0 "$vm/run" -k "$1" -m 2176 --hugepages-2m 64 -t 600 \
	--append hugetlb_cma=1G -- guest_pins 'zone: cma*'
cat "$tmp/out" "$tmp/err"
grep -q '^no CMA$' "$tmp/out" ||
	contains "$tmp/out" '  [1-9][0-9]* of 1536 pages are there'
finish
