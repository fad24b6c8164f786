# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Results from what kernel/selftests_in_guest printed: lines NAME<TAB>WHAT<TAB>DETAIL,
# one for each TAP line, test of uffd-unit-tests, and test of Python's unittest,
# and one for how each command ended. Numbers that change from run to run, such as
# addresses and process ids, go from names and details.

BEGIN { OFS = "\t" }

function plain(s) {
	gsub(/0x[0-9a-fA-F]+/, "0xN", s)
	gsub(/[0-9][0-9][0-9][0-9][0-9]+/, "N", s)
	gsub(/\t/, " ", s)
	gsub(/^[ #-]+| +$/, "", s)
	return s
}

# a command may run a program several times
function result(name, what, detail) {
	name = plain(name == "" ? command : command ": " name)
	if (++times[name] > 1)
		name = name ", time " times[name]
	print name, what, plain(detail)
}

# ok 1 NAME # SKIP REASON
function tap(line,    bad, reason, number, what) {
	bad = line ~ /^not /
	sub(/^(not )?ok /, "", line)
	number = line + 0
	sub(/^[0-9]+/, "", line)
	if (match(line, /# *(SKIP|XFAIL|XPASS|TODO|exit)/)) {
		reason = substr(line, RSTART)
		line = substr(line, 1, RSTART - 1)
	}
	what = reason ~ /SKIP/ ? "skip" : bad ? "fail" : "pass"
	line = plain(line)
	if (about && about != line)
		line = about ": " line
	result(number " " line, what, reason)
}

function unittest(line,    what) {
	what = line ~ /^skipped/ ? "skip" : \
		line ~ /^(ok|expected failure)/ ? "pass" : "fail"
	result(unit, what, line)
	unit = ""
}

function end(status) {
	if (status == 0)
		result("", "pass")
	else if (status == 4)
		result("", "skip", last)
	else if (status == 124 || status == 137)
		result("", "timeout")
	else if (status == 126 || status == 127)
		result("", "not run", last)
	else
		result("", "fail", "exit status " status)
}

/^@@ begin / { command = substr($0, 10); about = unit = last = ""; next }
/^@@ end / { end($3); command = ""; next }
command == "" { next }
{ sub(/\r$/, ""); gsub(/\033\[[0-9;]*m/, "") }
/^# \[RUN\]/ { about = plain(substr($0, 8)) }
/^(# )?(not )?ok [0-9]+/ { sub(/^# /, ""); tap($0) }
/^Testing .*\.\.\. *(done|failed|skipped)/ {
	match($0, /\.\.\. */)
	what = substr($0, RSTART + RLENGTH)
	result(substr($0, 1, RSTART - 1), what ~ /^done/ ? "pass" : \
		what ~ /^skip/ ? "skip" : "fail", what)
}
/^test_[^ ]* \(tests\./ { unit = $1 " " $2 }
unit && match($0, / \.\.\. (ok|FAIL|ERROR|skipped .*|(un)?expected .*)$/) {
	unittest(substr($0, RSTART + 5))
}
/[^ ]/ { last = $0 }
END { if (command) result("", "guest lost") }
