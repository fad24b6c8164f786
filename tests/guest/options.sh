#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Bad input ends with status 2 and one line that names it; no guest is started.

if [[ ${1-} == --help ]]; then
	echo "Usage: tests/guest/options.sh"
	exit
fi
. "$(dirname "$0")/common.sh"

# refuses ERE ARG...: vm/run does
refuses() {
	local -r message=$1

	shift
	expect 2 "$vm/run" "$@"
	contains "$tmp/err" "$message"
	equal "$(wc -l <"$tmp/err")" 1 "lines on stderr for $*"
	equal "$(wc -c <"$tmp/out")" 0 "bytes on stdout for $*"
}

for option in -m --memory --smp --rxe --hugepages-2m --hugepages-1g -t \
	--timeout; do
	refuses "$option" "$option" x -- true
	refuses "$option" "$option" -1 -- true
	refuses "$option" "$option" "" -- true
	refuses "$option" "$option" 99999999999999999999 -- true
done
refuses "--smp" --smp 0 -- true
refuses "-t" -t 0 -- true
refuses "no-such-option" --no-such-option -- true
refuses "requires an argument" -k
refuses "--kernel" -k "" -- true
refuses "unknown kernel 4.19" -k 4.19 -- true
refuses "no such kernel" -k /no/such/kernel -- true
refuses "no image" -k "$tmp/" -- true
refuses "neither a bzImage nor" -k "$here/common.sh" -- true
refuses "--numa" --numa --smp 3 -- true
refuses "--parallel" --parallel --icount -- true
refuses "huge pages" -m 512 --hugepages-2m 300 -- true
refuses "--env" --env "1A=b" -- true
refuses "--env" --env novalue -- true
refuses "--allow-splat" --allow-splat '(' -- true
refuses "--allow-splat" --allow-splat '' -- true
refuses "--output" -o "$here/common.sh/x" -- true
refuses "not a terminal" -i
refuses "no COMMAND"
refuses "no COMMAND" -q --
refuses "no-such-program" -- no-such-program
refuses "no such program" -- /no/such/program
refuses "no such program" -- "$here/common.sh"
refuses "no-such-file" --add no-such-file -- true
HUGEMR_BUILD_DIR=$tmp refuses "build the guest's init" -- true

for tool in run kernel mkinitramfs; do
	expect 0 "$vm/$tool" --help
	contains "$tmp/out" "^Usage: vm/$tool"
	expect 2 "$vm/$tool" --no-such-option
done

# more memory than any host has is not possible here, rather than wrong
expect 77 "$vm/run" -m 1048576 -- true

# archives depend on their input only
cp "$(type -P true)" "$tmp/program"
"$vm/mkinitramfs" "$tmp/program" >"$tmp/first"
touch -d yesterday "$tmp/program"
"$vm/mkinitramfs" "$tmp/program" >"$tmp/second"
same_file "$tmp/second" "$tmp/first"
finish
