#!/bin/sh
# Automake's test driver for everything under `make check`: runs one test
# file, counts its cases one by one, says why a case was skipped.
#
# Understood are cmocka's own lines, TAP (bats, gates), and, for a test that
# prints neither, the exit status: 0 passed, 77 skipped, else failed.
set -u

while [ $# -gt 0 ]; do
	case $1 in
	--test-name) name=$2; shift 2 ;;
	--log-file) log=$2; shift 2 ;;
	--trs-file) trs=$2; shift 2 ;;
	--) shift; break ;;
	--*) shift 2 ;;
	*) break ;;
	esac
done

began=$(date +%s%N)
# Without a terminal or standard input, and never for ever.
timeout -k 10 "${GTOPO_TEST_TIMEOUT:-900}" "$@" >"$log" 2>&1 </dev/null
status=$?
tenths=$((($(date +%s%N) - began) / 100000000))

awk -v tenths="$tenths" -v name="$name" -v trs="$trs" -v status="$status" '
function result(kind, what, why) {
	n[kind]++
	print ":test-result: " kind " " what > trs
	if (kind != "PASS")
		print kind ": " name ": " what (why == "" ? "" : " (" why ")")
}
# cmocka
/^\[ RUN      \]/ { said = ""; next }
/^\[       OK \]/ { result("PASS", $4); next }
/^\[  SKIPPED \]/ {
	if (!summary) result("SKIP", $4, said)
	next
}
/^\[  FAILED  \] [A-Za-z0-9_]+$/ {
	if (!summary) result("FAIL", $4, said)
	next
}
/^\[==========\]/ { if (/run\.$/) summary = 1; next }
# TAP
/^1\.\.[1-9]/ { plan = substr($0, 4) + 0; next }
/^1\.\.0/ { sub(/^1\.\.0 *#? */, ""); result("SKIP", "all", $0); next }
/^(not )?ok [0-9]/ {
	what = $0
	sub(/^(not )?ok [0-9]+ *-? */, "", what)
	why = ""
	if (match(tolower(what), / *# *skip:? */)) {
		why = substr(what, RSTART + RLENGTH)
		result("SKIP", substr(what, 1, RSTART - 1), why)
	} else
		result(/^ok/ ? "PASS" : "FAIL", what)
	next
}
NF { said = $0 }
END {
	total = n["PASS"] + n["FAIL"] + n["SKIP"]
	if (status == 77 && !total)
		result("SKIP", "all", said)
	else if (status == 124 || status == 137)
		result("FAIL", "ended by the time limit")
	else if (status > 128)
		result("FAIL", "killed by signal " status - 128, said)
	else if (plan > total)
		result("FAIL", plan - total " cases did not run", said)
	else if (status && !n["FAIL"])
		result("FAIL", total ? "exit status " status : "all", said)
	else if (!total)
		result("PASS", "all")
	all = n["FAIL"] ? "FAIL" : n["PASS"] ? "PASS" : "SKIP"
	print ":global-test-result: " all > trs
	print ":seconds: " tenths / 10 " " name > trs
	print ":recheck: " (all == "FAIL" ? "yes" : "no") > trs
	print ":copy-in-global-log: " (all == "FAIL" ? "yes" : "no") > trs
	if (n["PASS"])
		print "PASS: " name " (" n["PASS"] ")"
}' "$log"
