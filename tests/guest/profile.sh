#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# kernel/profile on one kernel of kernel/build: what it counts is what was called.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/profile.sh X.Y+NAME"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
need_kernel "$1"

profile=$vm/../kernel/profile
readonly function=__gup_longterm_locked

# 4 MiB by 512 pages, three times: six calls, and no other longterm pins
readonly work=(bench_gup -L -T -n 512 -m 4 -r 3)

expect 0 "$profile" --json -f "^$function\$" "$1" -m 1024 -- "${work[@]}"
equal "$(jq -c keys "$tmp/out")" "[\"$function\"]" "functions"
equal "$(jq ".$function.calls" "$tmp/out")" 6 "calls"
instructions=$(jq ".$function.instructions" "$tmp/out")

expect 0 "$profile" --json -i -f "^$function\$" "$1" -m 1024 -- "${work[@]}"
equal "$(jq '.[0].offset' "$tmp/out")" 0 "the first place"
equal "$(jq '.[0].runs' "$tmp/out")" 6 "runs of the first instruction"
equal "$(jq 'map(.runs) | add' "$tmp/out")" "$instructions" "runs of all"
contains "$tmp/out" '"text": "(pushq|nopw|endbr64)'

expect 0 "$profile" -n 3 "$1" -m 1024 -- true
equal "$(wc -l <"$tmp/out")" 4 "lines with -n 3"
contains "$tmp/out" "calls +instructions +locked  function"

expect 2 "$profile" -i "$1" -- true
expect 2 "$profile" -i -f 'a,b' "$1" -- true
expect 2 "$profile" -n x "$1" -- true
finish
