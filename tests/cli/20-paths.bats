# gtopo paths on the reference machines, and its ways to fail.

load common

xml=$GTOPO_SRC/share/xml

@test "NVLink joins all GPUs of a DGX H100" {
	run_split gtopo paths "$xml/dgx-h100.xml"
	want 0 ""
	[ "$(grep -c '^GPU[0-7] .*NVL2 370.8' <<<"$out")" -eq 8 ]
	[[ $out == *'GPU0    0000:1b:00.0   sm_90'* ]]
	[[ $out == *'NVL  NVLink, direct or through NVSwitch'* ]]
}

@test "JSON has every route once, with links that exist" {
	command -v jq >/dev/null || skip "no jq"
	gtopo paths --json "$xml/dgx-h100.xml" >"$BATS_TEST_TMPDIR/p"
	run jq -r '(.devices | length) as $n |
		(.paths | length) == $n * ($n - 1)' "$BATS_TEST_TMPDIR/p"
	[ "$output" = true ]
	run jq -r '[.links[].id] as $ids |
		[.paths[].links[]] - $ids | length' "$BATS_TEST_TMPDIR/p"
	[ "$output" = 0 ]
	run jq -r '.paths[0] | "\(.kind) \(.hops) \(.gbs) \(.bw_gbs)"' \
		"$BATS_TEST_TMPDIR/p"
	[ "$output" = "NVL 2 1854/5 370.8" ]
}

@test "rates change what links carry" {
	run_split gtopo paths --rates line "$xml/dgx-h100.xml"
	[[ $out == *"NVL2 450"* && $out == *"PIX3 50"* ]]
	run_split gtopo paths --rates fast "$xml/dgx-h100.xml"
	[ "$status" -eq 2 ]
}

@test "standard input is a file" {
	gtopo paths "$xml/dgx-h100.xml" >"$BATS_TEST_TMPDIR/a"
	gtopo paths - <"$xml/dgx-h100.xml" >"$BATS_TEST_TMPDIR/b"
	cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
	run_split gtopo paths - <<<"<system"
	[ "$status" -eq 2 ]
	[[ $err == "gtopo paths: standard input:2:1: "* ]]
}

@test "no such file" {
	run_split gtopo paths /nowhere.xml
	want 2 "gtopo paths: /nowhere.xml: cannot open: No such file or directory"
}

@test "a folder is no file" {
	run_split gtopo paths "$xml"
	want 2 "gtopo paths: $xml: cannot read: Is a directory"
}

@test "a full disk is told" {
	[ -c /dev/full ] || skip "no /dev/full"
	run_split gtopo paths -o /dev/full "$xml/dgx-h100.xml"
	[ "$status" -eq 3 ]
	[[ $err == "gtopo paths: /dev/full: cannot write: "* ]]
	status=0
	err=$(gtopo paths "$xml/dgx-h100.xml" 2>&1 >/dev/full) || status=$?
	[ "$status" -eq 3 ]
}

@test "-q says nothing of oddities" {
	odd=$GTOPO_SRC/tests/cases/topo/good/nvlink-nowhere/input.xml
	run_split gtopo paths "$odd"
	[[ $err == *"nvlink target '0000:99:00.0' is not in this file; ignored" ]]
	run_split gtopo paths -q "$odd"
	want 0 ""
}

@test "every reference machine is read without a word" {
	for file in "$xml"/*.xml; do
		run_split gtopo paths "$file"
		want 0 ""
	done
}

@test "reference machines are as the schema says" {
	command -v xmllint >/dev/null || skip "no xmllint"
	xmllint --noout --relaxng "$xml/gtopo-topology.rng" "$xml"/*.xml
}
