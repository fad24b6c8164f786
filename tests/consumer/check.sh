#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# check.sh BUILD_DIR VERSION: install the package to an empty prefix, and build
# a program against it by pkg-config and by find_package, shared and static.
set -eu -o pipefail

build=$1
version=$2
here=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/usr" >"$work/log"
pc=$(find "$work/usr" -name hugemr.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}

# The file names the prefix of configure time; a moved package is told so.
flags()
{
	pkg-config --define-variable=prefix="$work/usr" \
		--define-variable=libdir="$libdir" \
		--define-variable=includedir="$work/usr/include" "$@" hugemr
}

check()
{
	local got

	got=$("$@")
	[ "$got" = "hugemr $version" ] || {
		echo "$*: '$got' in place of 'hugemr $version'" >&2
		exit 1
	}
}

# shellcheck disable=SC2046 # flags are words
cc -Wall -Werror -o "$work/shared" "$here/consumer.c" $(flags --cflags --libs)
check env LD_LIBRARY_PATH="$libdir" "$work/shared"

rm "$libdir"/libhugemr.so
# shellcheck disable=SC2046
cc -Wall -Werror -o "$work/static" "$here/consumer.c" \
	$(flags --static --cflags --libs)
check "$work/static"
if ldd "$work/static" | grep hugemr; then
	echo "the static program needs libhugemr.so" >&2
	exit 1
fi

cmake --install "$build" --prefix "$work/usr" >"$work/log"
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/usr" \
	-DCMAKE_C_FLAGS="-Wall -Werror" >"$work/log" || {
	cat "$work/log" >&2
	exit 1
}
cmake --build "$work/build" >"$work/log" || {
	cat "$work/log" >&2
	exit 1
}
check "$work/build/consumer"
check "$work/build/consumer-static"

# The numbered examples build by themselves too.
if ! cmake -S "$here/../../examples/01-transfer" -B "$work/transfer" \
	-DCMAKE_PREFIX_PATH="$work/usr" -DCMAKE_C_FLAGS="-Wall -Werror" \
	>"$work/log" || ! cmake --build "$work/transfer" >"$work/log"; then
	cat "$work/log" >&2
	exit 1
fi
"$work/transfer/transfer_client" --help | grep -q ADDRESS

# Installed: these and nothing of the tests.
for f in bin/reg_rounds include/hugemr/hugemr.h; do
	[ -e "$work/usr/$f" ] || { echo "$f is not installed" >&2; exit 1; }
done
if find "$work/usr" | grep -E 'unit|fake|init'; then
	echo "parts of the tests are installed" >&2
	exit 1
fi
