#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# kernel/correctness with kernels and tests that are played: what it runs, writes
# and judges.

if [[ ${1-} == --help ]]; then
	echo "Usage: tests/guest/correctness.sh"
	exit
fi
. "$(dirname "$0")/common.sh"

play=$tmp/repo/kernel
mkdir -p "$play/7.3" "$play/6.12" "$tmp/repo/tests/guest"
cp "$vm/../kernel/correctness" "$play/"
cat >"$play/build" <<END
#!/bin/bash
mkdir -p "$tmp/built/\$1"
echo "\$1 of a source" >"$tmp/built/\$1/package"
echo "$tmp/built/\$1"
END
chmod +x "$play/build"
for test in pins reach refusals forks kill9 memory vfio faults; do
	cat >"$tmp/repo/tests/guest/$test.sh" <<-END
		#!/bin/bash
		echo "$test \$1" >>"$tmp/log"
		echo "[  PASSED  ] 3 test(s)."
		echo "[  PASSED  ] 4 test(s)."
		[[ ! -e "$tmp/$test-\$1" ]] || exit "\$(<"$tmp/$test-\$1")"
	END
	chmod +x "$tmp/repo/tests/guest/$test.sh"
done

row() {
	jq -r ".rows[] | select(.kernel == \"$1\" and .test == \"$2\") | $3" \
		"$play/results/7.3-correctness.json"
}

expect 0 "$play/correctness" 7.3
equal "$(wc -l <"$tmp/log")" 30 "tests, seven each and faults with debug"
equal "$(row 7.3+base pins .passed)" 7 "checks that passed"
equal "$(row 7.3+series+debug faults .source)" "a source" "the source"
contains "$tmp/out" '^\| kernel \| faults \| forks \| kill9 \| memory \| pins'
contains "$tmp/out" '^\| 7\.3\+base \|  \| 7 \| 7 \| 7 \| 7 \| 7 \| 7 \| 7 \|$'

# what fails on base is shown; with the series it is an error, skipped or failed
echo 1 >"$tmp/pins-7.3+base"
rm "$tmp/log"
expect 0 "$play/correctness" --only '7.3\+base' 7.3
equal "$(wc -l <"$tmp/log")" 7 "tests of one kernel"
contains "$tmp/out" '^\| 7\.3\+base \|.* failed \|'
equal "$(row 7.3+series pins .status)" 0 "the rows of others"
for status in 1 77; do
	echo "$status" >"$tmp/reach-7.3+series"
	expect 1 "$play/correctness" --only '7.3\+series' 7.3
	equal "$(row 7.3+series reach .status)" "$status" "a status"
	contains "$tmp/err" "reach on 7.3\+series: status $status"
done
equal "$(jq '.rows | length' "$play/results/7.3-correctness.json")" 30 rows

expect 2 "$play/correctness" --only 9 7.3
expect 2 "$play/correctness" 4.19
expect 2 "$play/correctness" --no-such-option
finish
