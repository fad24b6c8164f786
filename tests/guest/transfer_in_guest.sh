#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The guest's half of transfer.sh.

if [[ ! ${HUGEMR_GUEST-} || $# != 0 ]]; then
	echo "Usage: tests/guest/transfer_in_guest.sh (in a guest, by transfer.sh)"
	[[ ${1-} == --help ]]
	exit
fi
. "$(dirname "$0")/common.sh"
readonly address=192.0.2.1 # of rxe0
readonly readme=$here/../../examples/01-transfer/README.md

# both STATUS SERVER-OPTIONS CLIENT-OPTIONS: run a server and a client. Their
# output is in $tmp/server, $tmp/server.err, $tmp/out and $tmp/err then.
both() {
	local status=0 pid

	echo "server $2, client $3"
	rm -f "$tmp/server"
	# shellcheck disable=SC2086 # options are words
	timeout 120 transfer_server $2 >"$tmp/server" 2>"$tmp/server.err" &
	pid=$!
	wait_for 30 grep -sq '^listening' "$tmp/server" ||
		fail "the server doesn't listen"
	# shellcheck disable=SC2086
	expect "$1" transfer_client $3 "$address"
	wait "$pid" || status=$?
	equal "$status" "$1" "exit status of the server"
	nothing_left
}

# moved BYTES SERVER-MRS CLIENT-MRS TRANSFERS
moved() {
	contains "$tmp/server" "^registered $1 bytes .*: $2 MRs?\$"
	contains "$tmp/server" "^the client's $1 bytes are all as expected\$"
	contains "$tmp/out" "^registered $1 bytes .*: $3 MRs?\$"
	contains "$tmp/out" "^received $2 keys?\$"
	contains "$tmp/out" "^written in $4 transfers?\$"
	contains "$tmp/out" "^read in $4 transfers?\$"
	contains "$tmp/out" "^the server's $1 bytes are all as expected\$"
}

nothing_left() {
	echo 1 >/proc/sys/vm/stat_refresh # counts of all CPUs
	hugemr mr show >"$tmp/mrs"
	equal "$(<"$tmp/mrs")" "" "what is still registered"
	equal "$(awk '$1 == "nr_foll_pin_acquired" { n += $2 }
		$1 == "nr_foll_pin_released" { n -= $2 }
		END { print n }' /proc/vmstat)" 0 "pages still pinned"
}

# shown N: the output of the Nth command in the README
shown() {
	awk -v n="$1" '/^\$ / { i++; next } /^```/ { inside = !inside; next }
		inside && i == n' "$readme"
}

# --- what the README shows

both 0 "--pages thp --size 64M --chunk 4M" "--pages thp --size 64M --chunk 4M"
moved 67108864 16 16 16
shown 1 >"$tmp/want"
same_file "$tmp/server" "$tmp/want"
shown 2 >"$tmp/want"
same_file "$tmp/out" "$tmp/want"

both 0 "-P 4k -s 10000001 -c 1M -o 4097" "-P thp -s 10000001 -c 4M -o 777"
shown 3 >"$tmp/want"
same_file "$tmp/server" "$tmp/want"
shown 4 >"$tmp/want"
same_file "$tmp/out" "$tmp/want"

# --- chunks begin on pages of the mapping, wherever the range does

both 0 "-P 2M -s 16M -c 4M -o 12345" "-P 2M -s 16M -c 4M -o 12345"
moved 16777216 5 5 5

# no cut of one side is one of the other's
both 0 "-P 4k -s 16M -c 1M -o 4097" "-P 4k -s 16M -c 640K -o 777"
moved 16777216 17 26 42

# page by page, in more work requests than the queue holds
both 0 "-P 4k -s 1M -c 4K -o 1" "-P 4k -s 1M -c 8K -o 4095"
moved 1048576 257 129 385

# one MR on either side, or on one; rxe of 5.10 moves 8 MiB at once
both 0 "-s 20M -c 0" "-s 20M -c 0 -o 3"
moved 20971520 1 1 "[13]"
both 0 "-s 8M -c 2M" "-s 8M -c 0"
moved 8388608 4 1 4

# --- less than a chunk, a page, or two bytes

both 0 "-s 1234567" "-s 1234567 -o 99"
moved 1234567 1 1 1
both 0 "-s 1 -o 4095 -P 4k" "-s 1 -c 4K -p 7471"
moved 1 1 1 1

# --- wrong use

both 1 "-s 4M" "-s 2M"
contains "$tmp/err" 'the server has 4194304 bytes, not 2097152: .*same --size'
contains "$tmp/server.err" 'the other side has disconnected'
lacks "$tmp/out" 'written|expected'

expect 1 transfer_client "$address"
contains "$tmp/err" 'Connection refused'
expect 1 transfer_client 203.0.113.1
contains "$tmp/err" '^transfer_client: '
expect 1 transfer_server -P 2M -s 1G
contains "$tmp/err" 'needs 512 2 MiB hugetlb pages, and 20 are available'
expect 2 transfer_client
contains "$tmp/err" 'ADDRESS is missing'
expect 2 transfer_server "$address"
expect 2 transfer_server -s 4X
expect 2 transfer_server -s 0
nothing_left
finish
