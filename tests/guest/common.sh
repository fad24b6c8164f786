# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash
#
# What the guest tests share. A test goes on after a failed check and ends with
# "finish"; its status is 0, 1, or 77 for the one thing that may be skipped: a
# kernel that Debian's archive no longer carries. Everything else that keeps a
# guest from running is a failure, 77 of vm/run included.

set -eu -o pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
vm=$(realpath "$here/../../vm")
tmp=$(mktemp -d "${TMPDIR:-/tmp}/hugemr-test.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
failures=0
readonly here vm tmp

# fail TEXT...: with the line of the test that called the check
fail() {
	local depth=1

	while [[ ${BASH_SOURCE[$depth]} == "${BASH_SOURCE[0]}" ]]; do
		depth=$((depth + 1))
	done
	echo "${BASH_SOURCE[$depth]}:${BASH_LINENO[$((depth - 1))]}: $*" >&2
	failures=$((failures + 1))
}

# expect STATUS COMMAND...: its output is in $tmp/out and $tmp/err then
expect() {
	local -r want=$1
	local got=0

	shift
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null || got=$?
	if [[ $got != "$want" ]]; then
		fail "expected exit status $want, got $got: $*"
		cat "$tmp/out" "$tmp/err" >&2
	fi
}

# contains FILE ERE
contains() {
	grep -qE -e "$2" "$1" || {
		fail "expected a line that matches '$2', got:"
		cat "$1" >&2 || true
	}
}

lacks() {
	! grep -E -e "$2" "$1" >&2 || fail "expected no line that matches '$2'"
}

# equal GOT WANTED WHAT
equal() {
	[[ $1 == "$2" ]] || fail "$3: expected '$2', got '$1'"
}

# same_file GOT WANTED
same_file() {
	cmp "$1" "$2" >&2 || fail "$1 differs from what was expected"
}

# wait_for SECONDS COMMAND...: until it succeeds
wait_for() {
	local -r deadline=$((SECONDS + $1))

	shift
	until "$@"; do
		((SECONDS < deadline)) || return 1
		sleep 0.1
	done
}

# need_kernel NAME
need_kernel() {
	local status=0

	"$vm/kernel" "$1" >/dev/null 2>"$tmp/err" || status=$?
	((status)) || return 0
	cat "$tmp/err" >&2
	if ((status == 77)) && grep -q 'no suite of .* carries' "$tmp/err"; then
		exit 77
	fi
	exit 1
}

finish() {
	((!failures)) || echo "$failures checks failed" >&2
	exit $((failures > 0))
}
