#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The guest's half of rdma.sh.

if [[ ! ${HUGEMR_GUEST-} || $# != 0 ]]; then
	echo "Usage: tests/guest/rdma_in_guest.sh (in a guest, by rdma.sh)"
	[[ ${1-} == --help ]]
	exit
fi
. "$(dirname "$0")/common.sh"

# unprivileged COMMAND...
# shellcheck disable=SC2317 # called by expect
unprivileged() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# --- links

ip link add name spare type dummy
ip link set spare up

expect 0 hugemr rxe add test0 spare
expect 0 rdma link show test0/1
contains "$tmp/out" 'link test0/1 state ACTIVE .*netdev spare'
expect 0 hugemr rxe show
contains "$tmp/out" '^rxe0 +dummy0 +ACTIVE$'
contains "$tmp/out" '^test0 +spare +ACTIVE$'
equal "$(wc -l <"$tmp/out")" 3 "lines of rxe show"
expect 0 hugemr rxe show --json
equal "$(tr -d ' \n' <"$tmp/out")" \
	'[{"name":"rxe0","netdev":"dummy0","state":"ACTIVE"},{"name":"test0","netdev":"spare","state":"ACTIVE"}]' \
	"rxe show --json"

expect 1 hugemr rxe add other spare
contains "$tmp/err" 'already has an rxe device'
expect 1 hugemr rxe add other nowhere
contains "$tmp/err" 'no such network device'
ip link set spare down
expect 0 hugemr rxe show
contains "$tmp/out" '^test0 +spare +DOWN$'

expect 1 unprivileged hugemr rxe del test0
contains "$tmp/err" 'CAP_NET_ADMIN'
expect 0 hugemr rxe del test0
expect 1 hugemr rxe del test0
contains "$tmp/err" 'no such RDMA device'
expect 1 hugemr rxe add rxe0 spare
contains "$tmp/err" 'an RDMA device of this name exists'
expect 1 unprivileged hugemr rxe add test0 spare
contains "$tmp/err" 'CAP_NET_ADMIN'
expect 0 rdma link
lacks "$tmp/out" test0

# --- memory regions

readonly length=1234567
coproc holder { exec hold_mr rxe0 "$length"; }
# shellcheck disable=SC2154 # coproc sets it
pid=$holder_PID
read -r lkey rkey registered <&"${holder[0]}"
equal "$registered" "$length" "registered length"

expect 0 hugemr mr show rxe0
equal "$(awk 'NR == 2 { $2 = "N"; print }' "$tmp/out")" \
	"rxe0 N $lkey $rkey $length $pid hold_mr" "mr show"
mrn=$(awk 'NR == 2 { print $2 }' "$tmp/out")
expect 0 hugemr mr show --json
equal "$(tr -d ' \n' <"$tmp/out")" \
	"[{\"device\":\"rxe0\",\"mrn\":$mrn,\"lkey\":$((lkey)),\"rkey\":$((rkey)),\"length\":$length,\"pid\":$pid,\"comm\":\"hold_mr\"}]" \
	"mr show --json"
expect 0 rdma res show mr
contains "$tmp/out" "dev rxe0 mrn $mrn .*mrlen $length .*pid $pid comm hold_mr"

# keys are for CAP_NET_ADMIN
expect 0 unprivileged hugemr mr show rxe0
equal "$(awk 'NR == 2 { print $3, $4, $5 }' "$tmp/out")" "- - $length" \
	"mr show without privilege"

echo >&"${holder[1]}"
read -r word <&"${holder[0]}"
equal "$word" gone "after deregistration"
expect 0 hugemr mr show rxe0
equal "$(<"$tmp/out")" "" "mr show after deregistration"
expect 0 hugemr mr show --json
equal "$(tr -d ' \n' <"$tmp/out")" "[]" "mr show --json without any"
expect 0 rdma res show mr
equal "$(<"$tmp/out")" "" "rdma res show mr"
echo >&"${holder[1]}"
wait "$pid" || fail "hold_mr failed"

expect 1 hugemr mr show nothing
contains "$tmp/err" 'no such RDMA device'
finish
