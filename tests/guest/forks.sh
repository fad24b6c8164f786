#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Regions and forks, on one kernel: see forks.c.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/forks.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

# shellcheck disable=SC2016 # for the shell in the guest
readonly ways='
status=0
for way in plain init old old-init; do
	guest_forks "$way" || status=1
done
export RDMAV_HUGEPAGES_SAFE=1
for way in safe old-safe; do
	guest_forks "$way" || status=1
done
exit "$status"'

expect 0 "$vm/run" -k "$1" --hugepages-2m 8 --add guest_forks -- sh -c "$ways"
cat "$tmp/out" "$tmp/err"
finish
