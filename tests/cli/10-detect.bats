# gtopo detect: what it writes, here and on machines that are cases.

load common

@test "this machine is written, and nothing is said" {
	run_split gtopo detect
	want 0 ""
	[[ $out == '<system version="1">'* ]]
	[[ $out == *'<cpu numaid='* ]]
}

@test "-o writes the same file" {
	gtopo detect >"$BATS_TEST_TMPDIR/a"
	gtopo detect -o "$BATS_TEST_TMPDIR/b"
	cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
}

@test "a full disk is told" {
	[ -c /dev/full ] || skip "no /dev/full"
	run_split gtopo detect -o /dev/full
	[ "$status" -eq 3 ]
	[[ $err == "gtopo detect: /dev/full: cannot write: "* ]]
}
