#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# hugemr rxe and hugemr mr against a real kernel, with iproute2 as the witness.
# The first half runs on the host and starts the second half in a guest.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/rdma.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

expect 0 "$vm/run" -k "$1" --add "$here/common.sh" --add hugemr \
	--add hold_mr --add ip --add rdma --add setpriv -- "$here/rdma_in_guest.sh"
cat "$tmp/err"
finish
