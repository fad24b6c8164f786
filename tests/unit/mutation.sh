#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# mutation.sh COMPILER SOURCE_DIR LINKER_OPTION...: the sweep notices it when
# something isn't undone. Each mutant is the library with one line left out.
set -eu -o pipefail

if [[ ${1-} == --help || $# -lt 3 ]]; then
	echo "Usage: tests/unit/mutation.sh COMPILER SOURCE_DIR LINKER_OPTION..."
	[[ ${1-} == --help ]]
	exit
fi
readonly compiler=$1 source=$2
shift 2
readonly options=("$@")
work=$(mktemp -d "${TMPDIR:-/tmp}/hugemr-mutation.XXXXXX")
trap 'rm -rf "$work"' EXIT
readonly work

cp -r "$source/lib" "$work/lib"
mkdir "$work/objects"

# compile FILE OBJECT
compile() {
	"$compiler" -c -O1 -std=gnu11 -D_GNU_SOURCE -DHMR_VERSION='"0"' \
		-I "$source/include" -I "$work/lib" -I "$source/tests/unit" \
		-o "$2" "$1"
}

for file in "$work"/lib/*.c "$source"/tests/unit/{test_sweep*,fake_verbs}.c; do
	compile "$file" "$work/objects/$(basename "$file" .c).o"
done

# sweep OUTPUT: its status
sweep() {
	"$compiler" -o "$work/sweep" "${options[@]}" "$work"/objects/*.o \
		-libverbs -lcmocka -lpthread
	"$work/sweep" >"$1" 2>&1
}

# is_noticed FILE LINE WHAT: leave out the one line of FILE that is LINE; the
# sweep must say that WHAT leaks
is_noticed() {
	local -r file=$work/lib/$1 object=$work/objects/${1%.c}.o
	local -r line=$2 what=$3
	local number

	number=$(grep -nxF -e "$line" "$file" | cut -d : -f 1)
	if [[ ! $number || $number == *[!0-9]* ]]; then
		echo "lib/$1 has not exactly one line '$line':" \
			"change this test with it" >&2
		exit 1
	fi
	cp "$object" "$work/kept.o"
	sed "${number}s/.*/;/" "$file" >"$work/lib/mutant.c"
	compile "$work/lib/mutant.c" "$object"
	rm "$work/lib/mutant.c"
	if sweep "$work/out"; then
		echo "the sweep passes without lib/$1:$number: $line" >&2
		exit 1
	fi
	grep -E "leaks when .* [1-9][0-9]* $what" "$work/out" || {
		echo "it fails otherwise without lib/$1:$number: $line" >&2
		cat "$work/out" >&2
		exit 1
	}
	mv "$work/kept.o" "$object"
}

if ! sweep "$work/out"; then
	echo "the sweep fails as it is" >&2
	cat "$work/out" >&2
	exit 1
fi
is_noticed region.c $'\troll_back(r);' MRs
is_noticed attempt.c $'\t\thmr_memory_free(mem);' mappings
is_noticed mapping.c $'\t\tmunmap(addr - guard, w->length + 2 * guard);' mappings
