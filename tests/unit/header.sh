#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# header.sh CC INCLUDE_DIR: the public header compiles on its own, as C and as
# C++, without warnings and without padding in its structs.
set -eu

cc=$1
include=$2
use='#include <hugemr/hugemr.h>
int main(void) { HMR_OPTS(hmr_buffer_opts, o, .pages = HMR_PAGES_THP);
HMR_RESULT(hmr_backing, b); return o.size == b.size; }'

for lang in "c -std=c11" "c -std=gnu2x" "c++ -std=c++20"; do
	# shellcheck disable=SC2086 # two words
	"$cc" -x $lang -Wall -Wextra -Wpadded -Werror \
		-Wno-missing-field-initializers -fsyntax-only \
		-I"$include" - <<<"$use"
done
