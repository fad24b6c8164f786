#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# kernel/build on a "kernel" that builds in no time: what it patches, rebuilds,
# caches and refuses.

if [[ ${1-} == --help ]]; then
	echo "Usage: tests/guest/build.sh"
	exit
fi
. "$(dirname "$0")/common.sh"

export XDG_CACHE_HOME=$tmp/cache
build=$tmp/repo/kernel/build
patches=$tmp/repo/kernel/7.3
mkdir -p "$patches" "$tmp/repo/vm" "$tmp/repo/kernel/measure-only/7.3"
cp "$vm/../kernel/build" "$tmp/repo/kernel/"
cp "$vm/debian.sh" "$tmp/repo/vm/"
cat >"$tmp/repo/kernel/guest.config" <<'END'
# a reason
CONFIG_A=y
CONFIG_OLD=y	# only 5.10
CONFIG_NEW=y	# only 6.12 7.3
END
echo "CONFIG_KASAN=y" >"$tmp/repo/kernel/debug.config"

# The source. Its "make" does what kernel/build asks for, and notes which files
# it compiled in the log.
source=$tmp/linux
mkdir -p "$source/mm" "$source/lib"
touch "$source/Kbuild" "$source/Kconfig"
printf 'one\ntwo\nthree\n' >"$source/mm/gup.c"
printf 'alpha\nbeta\n' >"$source/lib/sg.c"
cat >"$source/Makefile" <<'END'
objects := $(O)
allnoconfig:
	cp $(KCONFIG_ALLCONFIG) $(objects)/.config
olddefconfig:
	grep -v LOST $(objects)/.config >$(objects)/.tmp; mv $(objects)/.tmp $(objects)/.config
vmlinux: $(patsubst %.c,$(objects)/%.o,$(wildcard */*.c))
	mkdir -p $(objects)/include/config
	echo 7.3.4 >$(objects)/include/config/kernel.release
	touch $(objects)/System.map
	cp /bin/true $(objects)/vmlinux
prepare:
	echo prepare >>$(objects)/log
%/: FORCE
	echo directory $@ >>$(objects)/log
$(objects)/%.o: %.c
	mkdir -p $(dir $@)
	cp $< $@
	echo compiled $< >>$(objects)/log
FORCE:
.PHONY: FORCE allnoconfig olddefconfig prepare
END

# change FILE SED NAME: a patch of one line, as git format-patch writes it
change() {
	local -r file=$1 edit=$2 name=$3

	mkdir -p "$tmp/a/${file%/*}" "$tmp/b/${file%/*}"
	cp "$source/$file" "$tmp/a/$file"
	sed "$edit" "$source/$file" >"$tmp/b/$file"
	{
		echo "From: A <a@b>"
		echo "Subject: [PATCH] change $file"
		echo
		diff -u --label "a/$file" "$tmp/a/$file" \
			--label "b/$file" "$tmp/b/$file" || true
		echo "-- "
		echo "2.39.5"
	} >"$name"
}

# run_build STATUS ARG...: the log of what was compiled is new
run_build() {
	local -r status=$1

	shift
	rm -f "$XDG_CACHE_HOME"/hugemr/kernel/build/*/objects*/log
	expect "$status" "$build" --source "$source" "$@"
	cat "$XDG_CACHE_HOME"/hugemr/kernel/build/*/objects*/log 2>/dev/null \
		>"$tmp/log" || true
}

contents() {
	cat "$XDG_CACHE_HOME"/hugemr/kernel/build/7.3-*/objects/"$1"
}

change mm/gup.c s/two/TWO/ "$patches/0001-gup.patch"
change lib/sg.c s/beta/BETA/ "$tmp/repo/kernel/measure-only/7.3/without-S1.patch"
change lib/sg.c s/beta/Beta/ \
	"$tmp/repo/kernel/measure-only/7.3/base-without-S2.patch"

echo "Subject: [PATCH 0/2] no diff" >"$patches/0000-cover-letter.patch"

run_build 0 7.3+base
base=$(<"$tmp/out")
contains "$tmp/log" "compiled mm/gup.c"
equal "$(<"$base/release")" 7.3.4 release
contains "$base/package" "^7.3\+base of "
contains "$base/config" '^CONFIG_NEW=y$'
lacks "$base/config" 'OLD|KASAN|only'
run_build 0 7.3+base
equal "$(<"$tmp/out")" "$base" "the same kernel"
equal "$(<"$tmp/log")" "" "what was compiled though cached"

run_build 0 --cached 7.3+base
equal "$(<"$tmp/out")" "$base" "the cached kernel"
run_build 77 --cached 7.3+series
equal "$(<"$tmp/log")" "" "what --cached compiled"

# a series compiles what it changes, base again what it had changed
run_build 0 7.3+series
equal "$(<"$tmp/log")" "compiled mm/gup.c" "what the series compiled"
equal "$(contents mm/gup.o)" $'one\nTWO\nthree' "the patched file"
[[ $(<"$tmp/out") != "$base" ]] || fail "series is base"
run_build 0 7.3+without-S1
equal "$(<"$tmp/log")" "compiled lib/sg.c" "what was undone"
equal "$(contents mm/gup.o)" $'one\nTWO\nthree' "the series below it"
rm -rf "$base"
run_build 0 7.3+base
equal "$(sort "$tmp/log")" $'compiled lib/sg.c\ncompiled mm/gup.c' "back to base"
equal "$(contents mm/gup.o)" $'one\ntwo\nthree' "the original"
# what is for base doesn't bring the series along
run_build 0 7.3+base-without-S2
equal "$(<"$tmp/log")" "compiled lib/sg.c" "what was undone in base"
equal "$(contents mm/gup.o)" $'one\ntwo\nthree' "the source below it"

# a new file comes and goes
mkdir -p "$tmp/b/mm"
{
	printf 'Subject: [PATCH] add\n\n--- /dev/null\n+++ b/mm/new.c\n'
	printf '@@ -0,0 +1 @@\n+new\n'
} >"$patches/0002-new.patch"
run_build 0 7.3+series
equal "$(contents mm/new.o)" new "the new file"
run_build 0 --check 7.3+series
equal "$(<"$tmp/out")" "" "output of --check"
equal "$(<"$tmp/log")" $'prepare\ndirectory mm/' "what --check built"
rm -rf "$XDG_CACHE_HOME/hugemr/kernel/built"
run_build 0 7.3+base
[[ ! -e $(echo "$XDG_CACHE_HOME"/hugemr/kernel/build/7.3-*/source)/mm/new.c ]] ||
	fail "the new file is left in base"

# debugging has objects of its own
run_build 0 7.3+base+debug
contains "$(<"$tmp/out")/config" '^CONFIG_KASAN=y$'
run_build 0 --debug 7.3+base
contains "$tmp/out" '7.3\+base\+debug-'

# the user's tree changes, and is never changed
echo four >>"$source/mm/gup.c"
run_build 0 7.3+series
equal "$(contents mm/gup.o)" $'one\nTWO\nthree\nfour' "the new source"
equal "$(<"$source/mm/gup.c")" $'one\ntwo\nthree\nfour' "the user's tree"

# refusals
sed -i s/two/2/ "$source/mm/gup.c"
run_build 1 7.3+series
contains "$tmp/err" "7.3/0001-gup.patch doesn't apply to "
run_build 0 7.3+base
echo CONFIG_LOST=y >>"$tmp/repo/kernel/guest.config"
run_build 1 7.3+base
contains "$tmp/err" "^CONFIG_LOST=y"
for name in 7.3 7.3+ +base 4.19+base 7.3+nothing "7.3+../x" ""; do
	run_build 2 "$name"
	equal "$(wc -l <"$tmp/err")" 1 "lines on stderr for $name"
done
run_build 2
run_build 2 --config /dev/null 7.3+base
expect 2 "$build" --source "$tmp" 7.3+base
contains "$tmp/err" "not a kernel tree"
equal "$(find "$XDG_CACHE_HOME" -name '.new-*' -o -name '.patched-*')" "" leftovers
finish
