#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# What goes into a guest and comes out of it is unaltered, and the guest is the
# one that was asked for.

if [[ ${1-} == --help || $# != 1 ]]; then
	echo "Usage: tests/guest/streams.sh KERNEL"
	exit $((${1+$#} == 1 ? 0 : 2))
fi
. "$(dirname "$0")/common.sh"
readonly kernel=$1
need_kernel "$kernel"

# --- arguments, environment, files, both streams, artifacts, exit status

cat >"$tmp/probe" <<'END'
#!/bin/sh
cd "$HUGEMR_OUT" || exit 1
printf '%s\0' "$@" >arguments
printf '%s\0' "$GREETING" "$HUGEMR_GUEST" >environment
mkdir -p "a directory"
cp "${0%/*}/blob" "a directory/blob"
ls /sys/class/infiniband >devices
ls -d /sys/devices/system/node/node[0-9]* >nodes
cat /sys/devices/system/node/node*/cpulist >cpus
cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages >pages
cat /proc/sys/kernel/osrelease >release
cat "${0%/*}/blob"
cat "${0%/*}/blob" >&2
echo last
exit 7
END
chmod +x "$tmp/probe"
head -c 5000000 /dev/urandom >"$tmp/blob"
# shellcheck disable=SC2016 # nothing is to be expanded, here or there
arguments=("two words" "" "it's" 'a "quoted" $HOME `id` \n' $'two\nlines'
	$'\t\x01\x7f\xff' '*' -q --)

expect 7 "$vm/run" -q -k "$kernel" --rxe 2 --numa --hugepages-2m 16 \
	--env GREETING="hello, guest" --add "$tmp/blob" -o "$tmp/artifacts" \
	"$tmp/probe" "${arguments[@]}"
echo last | cat "$tmp/blob" - >"$tmp/wanted"
same_file "$tmp/out" "$tmp/wanted"
same_file "$tmp/err" "$tmp/blob"

cd "$tmp/artifacts"
printf '%s\0' "${arguments[@]}" >"$tmp/wanted"
same_file arguments "$tmp/wanted"
printf '%s\0' "hello, guest" 1 >"$tmp/wanted"
same_file environment "$tmp/wanted"
same_file "a directory/blob" "$tmp/blob"
equal "$(paste -sd ' ' devices)" "rxe0 rxe1" "devices with --rxe 2"
equal "$(wc -l <nodes)" 2 "nodes with --numa"
equal "$(paste -sd ' ' cpus)" "0 1" "CPUs of each node"
equal "$(<pages)" 16 "2 MiB pages"
equal "$(<release)" "$(<"$("$vm/kernel" "$kernel")/release")" "release"
equal "$(<result)" "exit 7" "result"
contains console.log 'Linux version'
cd "$here"

# --- 1 GiB pages; no devices; a reader that goes away early

pages=/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages
expect 0 "$vm/run" -k "$kernel" --hugepages-1g 1 --rxe 0 -- \
	sh -c "cat $pages; ls /sys/class/infiniband"
equal "$(<"$tmp/out")" 1 "1 GiB pages, and no devices"
contains "$tmp/err" ', 3072 MiB, 1 CPU, '
contains "$tmp/err" '^vm/run: exit 0 after [0-9]+ s$'

head -n 1 < <("$vm/run" -q -k "$kernel" -- seq 1000000
	echo "status $?" >"$tmp/status") >"$tmp/out"
equal "$(<"$tmp/out")" 1 "the first line"
wait_for 60 test -s "$tmp/status" || fail "a closed stdout stalls the run"
contains "$tmp/status" '^status 0$'
finish
