#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# kernel/measure with kernels and guests that are played: what it runs, computes,
# writes and judges. And what the repository has of it: the list is well-formed,
# and the README's table is that of the results.

if [[ ${1-} == --help ]]; then
	echo "Usage: tests/guest/measure.sh"
	exit
fi
. "$(dirname "$0")/common.sh"

kernel=$(realpath "$vm/../kernel")
play=$tmp/repo/kernel
mkdir -p "$play/7.3" "$play/6.12" "$tmp/repo/vm"
cp "$kernel/measure" "$play/"

cat >"$play/build" <<END
#!/bin/bash
mkdir -p "$tmp/built/\$1"
echo "\$1 of a source" >"$tmp/built/\$1/package"
echo "$tmp/built/\$1"
END
# A guest's figures: 1000 before, 250 after; what it was asked is in the log.
cat >"$tmp/repo/vm/run" <<END
#!/bin/bash
echo "\$*" >>"$tmp/log"
case "\$*" in
*broken*)	exit 1 ;;
*+base*)	echo '{"get": 1000, "put": 10, "a": [5, 5]}' ;;
*)		echo '{"get": 250, "put": 10, "a": [2, 3]}' ;;
esac
END
cat >"$play/profile" <<END
#!/bin/bash
echo "profile \$*" >>"$tmp/log"
case "\$*" in
*" -f lock "*)	echo '{"f": {"locked": 6}, "g": {"locked": 1}}' ;;
*+base*)	echo '[{"text": "movq 8(%rax), %rax", "runs": 512},
			{"text": "movq 8(%rax), %rdx", "runs": 512}]' ;;
*)		echo '[{"text": "movq 8(%rax), %rax", "runs": 2}]' ;;
esac
END
printf '#!/bin/bash\necho drawn >>"%s"\n' "$tmp/log" >"$play/plot"
chmod +x "$play/build" "$play/profile" "$play/plot" "$tmp/repo/vm/run"

# measure STATUS LINES ARG...
measure() {
	local -r status=$1

	printf '%s\n' "$2" >"$play/measurements"
	rm -rf "$play/results" "$tmp/log"
	expect "$status" "$play/measure" "${@:3}"
}

row() {
	jq -c "$1" "$play/results/7.3.json"
}

readonly good='# a comment
S1 | 7.3 | base | series | the work | -m 512 --numa | bench -x 1 | .get | 4 | 3.5

S1 | 6.12 7.3 | base | series | more work | -m 512 --numa | bench -x 1 | .put | 0.99 |
S2 | 7.3 | base | series | added up | | bench -y | .a \| add | |'
measure 0 "$good" 7.3
equal "$(wc -l <"$tmp/log")" 4 "guests, one for each kernel and command"
contains "$tmp/log" '^-q --icount -t 900 -k 7\.3\+base -m 512 --numa -- bench -x 1$'
contains "$tmp/out" '^\| S1 \| the work \| 7\.3\+base 0.001 M \| 7\.3\+series 0 M \| 4x \| 4x \| 3\.5x \|$'
contains "$tmp/out" '^\| S2 \| added up \|.*\| 2x \|  \|  \|$'
equal "$(row '.rows | length')" 3 rows
equal "$(row '.rows[0] | [.before.value, .after.value, .ratio, .least, .published]')" \
	"[1000,250,4,4,3.5]" "the first row"
equal "$(row '.rows[2] | [.ratio, .least, .published]')" "[2,null,null]" \
	"the last row"
equal "$(row .kernels)" '["7.3+base of a source","7.3+series of a source"]' kernels
cp "$play/results/7.3.json" "$tmp/results"
mkdir -p "$play/results"
printf 'text\n<!-- %s: x -->\nold\n<!-- end of %s -->\nmore\n' \
	table table correctness correctness >"$play/README.md"
printf '#!/bin/bash\necho "| checks |"\n' >"$play/correctness"
chmod +x "$play/correctness"
expect 0 "$play/measure" --readme
contains "$tmp/log" '^drawn$'
equal "$(sed -n '1p;$p' "$play/README.md")" $'text\nmore' "the README's text"
lacks "$play/README.md" '^old$'
equal "$(sed -n '/^| /p' "$play/README.md")" \
	"$("$play/measure" --table; echo "| checks |")" "the README's tables"

# counts of single instructions, and times: by turns, the least of three
measure 0 'S2 | 7.3 | base | series | loads | -m 5 | executions ^(f\|g)$ bench -z | [.[].runs] \| add | 512 |
S2 | 7.3 | base | series | atomics | | locked lock bench -z | [.[].locked] \| add | |
S2 | 7.3 | base | series | how long | | time bench -w | .get | | 2' 7.3
equal "$(grep -c ^profile "$tmp/log")" 4 "profiles"
contains "$tmp/log" '^profile --json -i -f \^\(f\|g\)\$ 7\.3\+base -m 5 -- bench -z$'
equal "$(row '.rows[0] | [.unit, .before.value, .after.value, .ratio]')" \
	'["executions",1024,2,512]' "executions"
contains "$tmp/out" '^\| S2 \| loads \| 7\.3\+base 1024 \| 7\.3\+series 2 \| 512x '
equal "$(row '.rows[1] | [.unit, .before.value]')" '["locked",7]' "locked"
contains "$tmp/log" '^profile --json -f lock 7\.3\+base -- bench -z$'
equal "$(row '.rows[2].unit')" '"time"' "a unit"
contains "$tmp/out" '^\| S2 \| how long \| 7\.3\+base time \| 7\.3\+series time \| 4x '
equal "$(grep -v ^profile "$tmp/log" | sed 's/.*7\.3+\([a-z]*\) .*/\1/' | paste -sd ' ')" \
	"base series base series base series" "the turns"
lacks <(grep -v ^profile "$tmp/log") icount

# all of it: one part that fails doesn't keep others from running
for part in correctness selftests; do
	cat >"$play/$part" <<-END
		#!/bin/bash
		echo "$part \$*" >>"$tmp/log"
		[[ \$1 == --table || ! -e "$tmp/bad" ]]
	END
	chmod +x "$play/$part"
done
printf '<!-- %s: x -->\n<!-- end of %s -->\n' \
	table table correctness correctness >"$play/README.md"
measure 0 "$good" --all 7.3
equal "$(tail -n 4 "$tmp/log" | paste -sd,)" \
	"correctness 7.3,selftests 7.3,correctness --table,drawn" "all parts"
: >"$tmp/bad"
measure 1 "$good" --all 7.3
equal "$(tail -n 4 "$tmp/log" | paste -sd,)" \
	"correctness 7.3,selftests 7.3,correctness --table,drawn" "all parts"
measure 2 "$good" --all --only '^S2' 7.3

# what isn't reached is a failure, and still a result
measure 1 "S1 | 7.3 | base | series | w | | bench | .get | 4.1 |" 7.3
contains "$tmp/err" 'S1: w: 4 times less, must be 4.1'
same_file <(row .rows[0].ratio) <(echo 4)

measure 1 "S1 | 7.3 | base | series | w | | broken | .get | 1 |" 7.3
contains "$tmp/err" 'failed on 7.3\+base: broken'
[[ ! -e $play/results/7.3.json ]] || fail "a result though the command failed"
measure 1 "S1 | 7.3 | base | series | w | | bench | .missing | 1 |" 7.3
contains "$tmp/err" 'printed nothing for .missing'
measure 0 "$good" --only '^S2' 7.3
[[ ! -e $play/results ]] || fail "a result though only a part was measured"
equal "$(wc -l <"$tmp/log")" 2 "guests for a part"
measure 2 "$good" --only '^S9' 7.3
contains "$tmp/err" "matches '\^S9'"
measure 2 "$good" 4.19
measure 2 "$good" --no-such-option

# --- of the repository -------------------------------------------------------

grep -vE '^(#|$)' "$kernel/measurements" | sed 's/\\|//g' >"$tmp/lines"
while IFS='|' read -r -a field; do
	# the last one may be empty, and then isn't read
	((${#field[@]} >= 9 && ${#field[@]} <= 10)) ||
		fail "${#field[@]} fields: ${field[*]}"
	for xy in ${field[1]}; do
		[[ -d $kernel/$xy ]] || fail "no series $xy: ${field[*]}"
		for name in ${field[2]} ${field[3]}; do
			[[ $name == base || $name == series ||
			   $(compgen -G "$kernel/measure-only/$xy/$name*.patch") ]] ||
				fail "no kernel $xy+$name: ${field[*]}"
		done
	done
done <"$tmp/lines"
expect 0 "$kernel/plot" --check
for letter in "$kernel"/*/cover-letter.in; do
	xy=$(basename "$(dirname "$letter")")
	expect 0 "$kernel/cover" "$xy"
	same_file "$kernel/$xy/0000-cover-letter.patch" "$tmp/out"
done
equal "$(sed -n '/^<!-- table:/,/^<!-- end of table/{/^| /p}' "$kernel/README.md")" \
	"$("$kernel/measure" --table)" "the README's table: kernel/measure --readme"
equal "$(sed -n '/^<!-- correctness:/,/^<!-- end of correctness/{/^| /p}' "$kernel/README.md")" \
	"$("$kernel/correctness" --table)" "the README's table of kernel/correctness"
finish
