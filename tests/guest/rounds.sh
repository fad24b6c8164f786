#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What the README promises of ./run rounds, on one kernel: all four page kinds of
# 1 GiB, verified; and beyond 1 GiB success, or words where rxe refuses.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/rounds.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
readonly kernel=$1
need_kernel "$kernel"

expect 0 "$here/../../run" rounds --kernel "$kernel" -n 3 --verify
cat "$tmp/out"
contains "$tmp/out" '^2M +1G hugetlb_2m +\|'
contains "$tmp/out" '^1G +1G hugetlb_1g +\|'
contains "$tmp/out" '^thp +1G thp +\|'
contains "$tmp/out" '^4k +1G small +\|'
for kind in 2M 1G thp 4k; do
	contains "$tmp/out" \
		"^$kind: 3 rounds in [0-9.]+ sec: [0-9.]+ usec / round\$"
	# each of 512 boundaries, start and end, by write and by read
	contains "$tmp/out" "^$kind: verified: 103[0-9] RDMA transfers"
done

case $kernel in
6.12 | 7.3)
	# the kernel's own warning fails the run besides
	expect 1 "$vm/run" -k "$kernel" -m 3072 -- reg_rounds -s 1025M -T -n 1
	contains "$tmp/out" '^4k .*more than 1 GiB of whole pages as one MR'
	contains "$tmp/err" 'kernel splat.*the command itself: exit 1'
	;;
*)
	expect 0 "$vm/run" -k "$kernel" -m 3072 -- reg_rounds -s 1025M -T -n 1 \
		--verify
	contains "$tmp/out" '^4k: verified: 103[0-9] RDMA transfers'
	;;
esac

# sizes around a page, odd ones, threads
for options in "-s 4K" "-s 1 -T -P prefer" "-s 4097 -T -j 3" "-s 12345678 -t"; do
	# shellcheck disable=SC2086 # words
	expect 0 "$vm/run" -q -k "$kernel" --hugepages-2m 1 --hugepages-1g 1 \
		-- reg_rounds -n 2 --verify $options
	contains "$tmp/out" ': [26] rounds in '
done
finish
