#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# kernel/selftests with a source, kernels and guests that are played: what it
# builds, runs, reads and compares. And that the list is well-formed.

if [[ ${1-} == --help ]]; then
	echo "Usage: tests/guest/selftests.sh"
	exit
fi
. "$(dirname "$0")/common.sh"

kernel=$(realpath "$vm/../kernel")
play=$tmp/repo/kernel
export XDG_CACHE_HOME=$tmp/cache CC=$tmp/cc
source=$tmp/cache/hugemr/kernel/build/7.3/source
mkdir -p "$play/7.3" "$tmp/repo/vm" "$source"/tools/testing/selftests/{mm,kselftest}
cp "$kernel"/selftests{,.awk,_in_guest} "$play/"
cp "$vm/debian.sh" "$tmp/repo/vm/"

# --- what is played ----------------------------------------------------------

printf '#!/bin/sh\necho 12.2.0\n' >"$CC"
printf '#!/bin/sh\necho /a/kernel\n' >"$tmp/repo/vm/kernel"
echo "linux-source-7.3 7.3.4-1" >"$source/.package"
# shellcheck disable=SC2016 # make expands it
printf 'headers_install:\n\tmkdir -p $(INSTALL_HDR_PATH)/include\n' \
	>"$source/Makefile"
# shellcheck disable=SC2016
printf 'all: broken one two\nbroken:\n\tfalse\none two:\n\techo $@ >$@\n' \
	>"$source/tools/testing/selftests/mm/Makefile"
# The nth guest of a kernel prints what is in KERNEL.n, or else in KERNEL. It
# leaves what it was asked to do and what it was given.
cat >"$tmp/repo/vm/run" <<END
#!/bin/bash
echo "\$*" >>"$tmp/log"
while [[ \$1 != -- ]]; do
	case \$1 in
	-k)		name=\${2##*+} ;;
	*.tar)		tar -t -f "\$1" >"$tmp/packed" ;;
	esac
	shift
done
cp "\${*: -1}" "$tmp/asked"
n=\$(grep -c "+\$name " "$tmp/log")
[[ -e $tmp/\$name.\$n ]] || n=
cat "$tmp/\$name\${n:+.\$n}"
[[ ! -e $tmp/\$name.err ]] || cat "$tmp/\$name.err" >&2
[[ ! -e $tmp/\$name.err ]]
END
chmod +x "$CC" "$tmp"/repo/vm/{run,kernel}

# prints NAME TEXT: what the guests of a kernel print
prints() {
	printf '%b' "$2" >"$tmp/$1"
}

# selftests STATUS ARG...
selftests() {
	rm -f "$tmp/log"
	expect "$1" "$play/selftests" "${@:2}"
}

readonly two='7.3 | mm | -m 512 | 10 | ./one -a
7.3 | mm | -m 512 | 20 | ./two \|\| ./one
6.12 | mm | | 5 | ./three'
readonly one_ok='@@ begin mm: ./one -a\nTAP version 13\nok 1 first\nok 2 pid 12345 # SKIP no 0x1234\n@@ end 0\n'
readonly two_ok='@@ begin mm: ./two || ./one\nwords\n\n@@ end 0\n'
printf '# a comment\n\n%s\n' "$two" >"$play/selftests.list"

# --- the same ----------------------------------------------------------------

prints base "$one_ok$two_ok"
prints series "${one_ok/12345/23456}$two_ok"
selftests 0 -o "$tmp/kept" 7.3
contains "$tmp/out" '^\| mm \| 7\.3\+base \| 3 \| 0 \| 1 \| 0 \| 0 \|$'
contains "$tmp/out" '^\| mm \| 7\.3\+series \| 3 \| 0 \| 1 \| 0 \| 0 \|$'
contains "$tmp/out" '^no difference in 4 results$'
contains "$tmp/err" 'not all of mm compiles'
equal "$(wc -l <"$tmp/log")" 2 "guests, one for each kernel"
contains "$tmp/log" '^-q -t 170 -k 7\.3\+base -m 512 --add '
equal "$(<"$tmp/asked")" $'mm\t10\t./one -a\nmm\t20\t./two || ./one' "the lines"
contains "$tmp/packed" '^mm/one$'
contains "$tmp/kept/7.3/all-0" $'^mm: ./one -a: 2 pid N\tskip\t'
contains "$tmp/kept/7.3/log-1" '^ok 2 pid 23456'
[[ ! -e $source/tools/testing/selftests/mm/one ]] || fail "built in the source"
selftests 0 7.3+base 7.3+series
lacks "$tmp/err" 'compil'

# a guest that a test takes along is followed by another for the rest
prints base.1 '@@ begin mm: ./one -a\nok 1 first\n'
prints series.1 '@@ begin mm: ./one -a\nok 1 first\n'
prints base "$two_ok"
prints series "$two_ok"
selftests 0 7.3
equal "$(wc -l <"$tmp/log")" 4 "guests"
equal "$(<"$tmp/asked")" $'mm\t20\t./two || ./one' "the lines of the second"
contains "$tmp/out" '^\| mm \| 7\.3\+base \| 2 \| 0 \| 0 \| 1 \| 0 \|$'
rm "$tmp"/{base,series}.1

# --- not the same ------------------------------------------------------------

prints base "$one_ok$two_ok"
prints series "${one_ok/ok 1/not ok 1}$two_ok"
selftests 1 --again 0 7.3
contains "$tmp/out" '^different: mm: ./one -a: 1 first: pass -> fail$'
contains "$tmp/out" '^1 results differ$'
prints series "$one_ok${two_ok/end 0/end 139}"
selftests 1 --again 0 7.3
contains "$tmp/out" 'different: mm: ./two .*: pass -> fail \(exit status 139\)$'
prints series "$one_ok${two_ok/end 0/end 124}"
selftests 1 --again 0 7.3
contains "$tmp/out" 'different: mm: ./two .*: pass -> timeout$'
# a test that wasn't run
prints series "${one_ok/ok 1 first\\n/}$two_ok"
selftests 1 --again 0 7.3
contains "$tmp/out" 'different: .*: 1 first: pass -> nothing$'
# a report of the kernel's
prints series "$one_ok$two_ok"
printf '%s\n' "vm/run: kernel messages that fail a run (see vm/splat.deny):" \
	"[   12.345678] WARNING: CPU: 0 PID: 77 at mm/gup.c:1 f+0x12/0x30" \
	>"$tmp/series.err"
selftests 1 --again 0 7.3
contains "$tmp/out" 'different: mm: WARNING: .*: nothing -> fail \(kernel message\)'
rm "$tmp/series.err"

# What differs is run again. What varies on the first kernel is none of the
# second's doing; what only varies on the second is.
prints base.2 "${one_ok/ok 1/not ok 1}"
prints series "$one_ok"
prints series.1 "${one_ok/ok 1/not ok 1}$two_ok"
prints series.2 "$one_ok"
selftests 0 7.3
contains "$tmp/out" '^no difference'
equal "$(wc -l <"$tmp/log")" 4 "guests"
equal "$(<"$tmp/asked")" $'mm\t10\t./one -a' "the lines that are run again"
rm "$tmp/series.2"
prints series.1 "$one_ok$two_ok"
prints base.1 "${one_ok/ok 1/not ok 1}$two_ok"
prints base.2 "$one_ok"
prints series "$one_ok"
selftests 0 7.3
contains "$tmp/out" '^varies on 7\.3\+base: mm: ./one -a: 1 first: fail, pass -> pass$'
rm "$tmp"/base.[123]
prints base "$one_ok$two_ok"
prints series "$one_ok"
prints series.1 "${one_ok/ok 1/not ok 1}$two_ok"
selftests 1 7.3
contains "$tmp/out" '^different: mm: ./one -a: 1 first: pass -> fail, pass$'
rm "$tmp/series.1"

# --- other ways to report ----------------------------------------------------

printf '7.3 | mm | | 10 | ./one\n' >"$play/selftests.list"
prints base '@@ begin mm: ./one
Testing move (anon)... done
Testing wp... skipped [reason: no]
Testing poison... failed [reason: bad]
# [RUN] a case
# ok 1 works
test_one (tests.test_mr.MRTest.test_one)
What it does ... ok
test_two (tests.test_mr.MRTest.test_two) ... skipped "no such feature"
test_three (tests.test_mr.MRTest.test_three) ... ERROR
@@ end 1
'
prints series "$(<"$tmp/base")"
selftests 0 -o "$tmp/kept" 7.3
equal "$(cut -f 1,2 "$tmp/kept/7.3/all-1")" 'mm: ./one: Testing move (anon)	pass
mm: ./one: Testing wp	skip
mm: ./one: Testing poison	fail
mm: ./one: 1 a case: works	pass
mm: ./one: test_one (tests.test_mr.MRTest.test_one)	pass
mm: ./one: test_two (tests.test_mr.MRTest.test_two)	skip
mm: ./one: test_three (tests.test_mr.MRTest.test_three)	fail
mm: ./one	fail' "results"

# --- nothing is no agreement -------------------------------------------------

prints base '@@ begin mm: ./one\n./one was not built\n@@ end 127\n'
prints series "$(<"$tmp/base")"
selftests 1 7.3
contains "$tmp/out" '^not run: mm: ./one \(./one was not built\)$'
contains "$tmp/err" 'nothing ran'
prints base ''
prints series ''
echo "vm/run: the guest could not come up" >"$tmp/base.err"
selftests 1 7.3
contains "$tmp/err" 'the guest could not come up'
contains "$tmp/err" 'nothing ran'
lacks "$tmp/out" 'no difference'
rm "$tmp/base.err"

selftests 2 --only '^nothing' 7.3
selftests 2 4.19
selftests 2
selftests 2 7.3+base
selftests 2 --no-such-option 7.3
rm -rf "$source"
rm -rf "$tmp/cache/hugemr/kernel/selftests"
CC=$tmp/cc selftests 77 7.3
contains "$tmp/err" 'no source of 7.3 yet'
expect 0 "$play/selftests" --list 7.3
equal "$(<"$tmp/out")" "7.3 mm: ./one" "the list"

# --- of the repository -------------------------------------------------------

grep -vE '^(#|$)' "$kernel/selftests.list" | sed 's/\\|//g' >"$tmp/lines"
while IFS='|' read -r -a field; do
	((${#field[@]} == 5)) || fail "${#field[@]} fields: ${field[*]}"
	[[ ${field[3]} =~ ^\ [0-9]+\ $ ]] || fail "no limit: ${field[*]}"
	for xy in ${field[0]}; do
		[[ -d $kernel/$xy ]] || fail "no tree $xy: ${field[*]}"
	done
done <"$tmp/lines"
equal "$(sort "$tmp/lines" | uniq -d)" "" "lines that are there twice"
finish
