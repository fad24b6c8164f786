#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# examples/01-transfer on one kernel. The first half runs on the host and starts
# the second half in a guest.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/transfer.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

expect 0 "$vm/run" -k "$1" --hugepages-2m 20 --module rdma_ucm \
	--add "$here/common.sh" --add "$here/../../examples/01-transfer/README.md" \
	--add transfer_server --add transfer_client --add hugemr \
	-- "$here/transfer_in_guest.sh"
cat "$tmp/out" "$tmp/err"
finish
