#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# map.sh LIBRARY HEADER: the library exports what the header declares, all of it
# and nothing else, each with a symbol version.
set -eu -o pipefail

exported=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort)
if unversioned=$(grep -v '@@HUGEMR_' <<<"$exported"); then
	echo "without a version: $unversioned" >&2
	exit 1
fi
declared=$(grep -oE '\bhmr_[a-z0-9_]+\(' "$2" | grep -v '_fn(' | tr -d '(' |
	sort -u)
diff <(cut -d@ -f1 <<<"$exported") <(echo "$declared") || {
	echo "< exported, > declared in the header" >&2
	exit 1
}
