#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every way in which a run can end has its own status, and shows why.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/verdicts.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
readonly kernel=$1
need_kernel "$kernel"

readonly warning='WARNING: CPU: 0 PID: 1 at mm/made_up.c:1 made_up+0x1/0x2'

# the kernel dies under the command
expect 255 "$vm/run" -k "$kernel" -- sh -c 'echo c >/proc/sysrq-trigger'
contains "$tmp/err" 'Kernel panic - not syncing'
contains "$tmp/err" 'guest lost'

# so does init, before it could report: told from a command that fails
expect 255 "$vm/run" -k "$kernel" --append "rdinit=/bin/false" -- true
contains "$tmp/err" 'Attempted to kill init'

# a warning fails a run whose command is content
expect 1 "$vm/run" -k "$kernel" -- sh -c "echo '$warning' >/dev/kmsg"
contains "$tmp/err" 'at mm/made_up.c:1'
contains "$tmp/err" 'kernel splat .*exit 0'

# but not one that was expected; a signal is reported as a shell would
expect 137 "$vm/run" -k "$kernel" --allow-splat 'at mm/made_up\.c' -- \
	sh -c "echo '$warning' >/dev/kmsg; kill -9 \$\$"
lacks "$tmp/err" 'made_up'

# text of the command itself is no kernel message
expect 0 "$vm/run" -q -k "$kernel" -- sh -c "echo '$warning'; echo exit 9"
equal "$(wc -c <"$tmp/err")" 0 "bytes on stderr with -q"

# a guest that is not what was asked for is not the command's failure
expect 255 "$vm/run" -k "$kernel" -m 3072 --hugepages-1g 2 -- true
contains "$tmp/err" 'could not come up: only 1 of 2 pages'

# --- time limits, two guests side by side

# one that sleeps, with a child that holds the streams open
"$vm/run" -k "$kernel" -t 30 -- sh -c 'sleep 1000 & echo started; wait' \
	>"$tmp/sleep.out" 2>"$tmp/sleep.err" &
sleeper=$!
# and one that spins
expect 124 "$vm/run" -k "$kernel" -t 30 -- sh -c 'while :; do :; done'
contains "$tmp/err" 'time limit of 26 s reached'
contains "$tmp/err" 'timeout after .*limit 30 s'
status=0
wait "$sleeper" || status=$?
equal "$status" 124 "status of the sleeping command"
contains "$tmp/sleep.err" 'Show Blocked State'
equal "$(<"$tmp/sleep.out")" started "output before the timeout"

# a guest that is beyond reporting is ended from outside
expect 124 "$vm/run" -k "$kernel" -t 8 --append "rdinit=/bin/sh" -- true
contains "$tmp/err" 'timeout after [89] s'
finish
