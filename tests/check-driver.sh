#!/bin/bash
# The test driver counts right, also when things go wrong.
set -u
driver=${GTOPO_SRC:-.}/tests/driver.sh
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
n=0

# counts NAME SCRIPT WANTED: what the driver makes of a test file.
counts() {
	local got
	n=$((n + 1))
	printf '%s\n' "$2" >"$dir/test.sh"
	GTOPO_TEST_TIMEOUT=${limit:-60} sh "$driver" --test-name t --log-file "$dir/log" \
		--trs-file "$dir/trs" --color-tests no -- \
		sh "$dir/test.sh" >"$dir/said"
	got=$(sed -n 's/^:test-result: //p' "$dir/trs" | cut -d' ' -f1 |
		sort | uniq -c | awk '{ printf "%s%d %s", s, $1, $2; s = ", " }')
	got="$got: $(sed -n 's/^:global-test-result: //p' "$dir/trs")"
	if [ "$got" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "counted '$got', not '$3'"
		sed 's/^/  /' "$dir/said"
		echo "not ok $n - $1"
	fi
}

cmocka='echo "[==========] Running 2 test(s)."; echo "[ RUN      ] a"'
counts "silent success" 'exit 0' "1 PASS: PASS"
counts "silent failure" 'exit 1' "1 FAIL: FAIL"
counts "77 is a skip" 'echo why; exit 77' "1 SKIP: SKIP"
counts "TAP" 'echo 1..3; echo ok 1 a; echo not ok 2 b; echo "ok 3 c # skip d"
	exit 1' "1 FAIL, 1 PASS, 1 SKIP: FAIL"
counts "TAP without a case" 'echo "1..0 # no tool"' "1 SKIP: SKIP"
counts "good cases, bad end" 'echo 1..1; echo ok 1 a; exit 3' \
	"1 FAIL, 1 PASS: FAIL"
counts "fewer cases than planned" 'echo 1..2; echo ok 1 a' \
	"1 FAIL, 1 PASS: FAIL"
counts "cmocka" "$cmocka; echo '[       OK ] a'; echo '[ RUN      ] b'
	echo why; echo '[  SKIPPED ] b'; echo '[==========] 2 test(s) run.'" \
	"1 PASS, 1 SKIP: PASS"
counts "cmocka's list of failures counts once" "$cmocka
	echo '[  FAILED  ] a'; echo '[==========] 1 test(s) run.'
	echo '[  FAILED  ] tests: 1 test(s), listed below:'
	echo '[  FAILED  ] a'; exit 1" "1 FAIL: FAIL"
counts "cmocka's list of skips counts once" "$cmocka
	echo '[  SKIPPED ] a'; echo '[==========] 1 test(s) run.'
	echo '[  PASSED  ] 0 test(s).'
	echo '[  SKIPPED ] tests: 1 test(s), listed below:'
	echo '[  SKIPPED ] a'; exit 0" "1 SKIP: SKIP"
counts "a crash" "$cmocka; echo '[       OK ] a'; kill -SEGV \$\$" \
	"1 FAIL, 1 PASS: FAIL"
limit=1
counts "a hang" 'echo 1..1; sleep 120' "1 FAIL: FAIL"
echo "1..$n"
