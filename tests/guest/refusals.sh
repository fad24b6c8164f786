#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What one kernel refuses to register, and what is said of it: see refusals.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/refusals.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

# shellcheck disable=SC2016 # for the shell in the guest
readonly prepare='
set -e
mkdir /ext4 /lower /overlay
truncate -s 64M /image
/usr/sbin/mke2fs -q -t ext4 /image
mount -t ext4 -o loop /image /ext4
mkdir /ext4/upper /ext4/work
mount -t overlay -o lowerdir=/lower,upperdir=/ext4/upper,workdir=/ext4/work \
	overlay /overlay
exec guest_refusals'

expect 0 "$vm/run" -k "$1" --rxe 2 --module loop --module ext4 --module overlay \
	--add guest_refusals --add mke2fs -- sh -c "$prepare"
cat "$tmp/out" "$tmp/err"
finish
