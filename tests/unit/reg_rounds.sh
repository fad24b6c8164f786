#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# reg_rounds.sh PROGRAM: how it takes its options, which needs no device.
set -u

prog=$1
failed=0

# check STATUS PATTERN ARG...
check()
{
	local want=$1 pattern=$2 out status
	shift 2
	out=$("$prog" "$@" 2>&1)
	status=$?
	if [ $status -ne "$want" ] || ! grep -qE -e "$pattern" <<<"$out"; then
		echo "reg_rounds $*: status $status (want $want): $out" \
			"(want $pattern)" >&2
		failed=1
	fi
}

check 0 'Usage:' --help
check 0 '^reg_rounds [0-9.]+$' --version
for size in 0 -1 '' x 1X 1KK 1.5G 99999999999999999999 16777216T; do
	check 2 'is not a size' -s "$size"
done
for n in 0 -1 '' x 1x 99999999999; do
	check 2 'is not a number' -n "$n"
done
check 2 'is not a number' -j 0
check 2 'is not a number' -j 1025
check 2 'is not a number' -i 256
check 2 'is not a number of seconds' -D 0
check 2 'is not a number of seconds' -D nan
check 2 'exclude each other' -n 1 -D 1
check 2 'is none of' -P 3M
check 2 'is none of' -P '2M,'
check 2 'is none of' -A lw,xx
check 2 'needs rr and rw' -A lw --verify
check 2 'unexpected argument' extra
check 2 'unrecognized option' --nonsense

check 0 '^hugepages_2m=512 hugepages_1g=1 memory_mib=1045$' --needs
check 0 '^hugepages_2m=1 hugepages_1g=0 memory_mib=1$' --needs -s 4K -H
check 0 '^hugepages_2m=0 hugepages_1g=6 ' --needs -s 2049M -j 2 -P 1G
check 0 '^hugepages_2m=0 hugepages_1g=0 memory_mib=1045$' --needs -t -T

if [ ! -e /sys/class/infiniband ] || [ -z "$(ls /sys/class/infiniband)" ]; then
	check 77 'no RDMA device' -n 1
	check 1 'no device nonesuch' -d nonesuch -n 1
fi
exit $failed
