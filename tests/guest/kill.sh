#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# However vm/run ends, it leaves no QEMU behind, and no files if it can help it.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/kill.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
readonly kernel=$1
need_kernel "$kernel"

# Processes and files are recognized by the directory for temporary files
mkdir "$tmp/dir"

processes() {
	local directory

	for directory in /proc/[0-9]*; do
		[[ $(readlink "$directory/cwd") == "$tmp/dir"/* ]] || continue
		[[ $(<"$directory/comm") == qemu* ]] || continue
		echo "${directory##*/}"
	done 2>/dev/null
}

# shellcheck disable=SC2317 # called by wait_for
none_left() {
	[[ -z $(processes) ]]
}

# killed_by SIGNAL STATUS
killed_by() {
	local -r signal=$1 wanted=$2
	local runner status=0

	TMPDIR=$tmp/dir "$vm/run" -k "$kernel" -- \
		sh -c 'echo started; sleep 1000' >"$tmp/out" 2>"$tmp/err" &
	runner=$!
	if ! wait_for 120 grep -q started "$tmp/out"; then
		fail "the guest did not start"
		cat "$tmp/err" >&2
	fi
	equal "$(processes | wc -l)" 1 "QEMU processes of a run"
	kill -s "$signal" "$runner"
	{ wait "$runner"; } 2>/dev/null || status=$?
	equal "$status" "$wanted" "status after SIG$signal"
	wait_for 10 none_left || fail "QEMU outlives SIG$signal: $(processes)"
}

killed_by TERM 143
equal "$(ls "$tmp/dir")" "" "files after SIGTERM"
killed_by KILL 137
finish
