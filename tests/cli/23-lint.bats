# gtopo lint on the command line; what it finds is in tests/cases/lint.

load common

xml=$GTOPO_SRC/share/xml
cases=$GTOPO_SRC/tests/cases/lint

@test "nothing is said of the reference machines" {
	run_split gtopo lint "$xml"/*.xml
	want 0 ""
	[ -z "$out" ]
}

@test "of several files all are looked at" {
	cd "$cases"
	run_split gtopo lint no-sm/input.xml clean/input.xml width-0/input.xml
	want 1 ""
	[ "$(grep -c input.xml: <<<"$out")" -eq 2 ]
	[[ $out == *'width-0/input.xml:3:108: warning: '* ]]
}

@test "notes are no reason to fail" {
	run_split gtopo lint "$cases/element-unknown/input.xml"
	want 0 ""
	[[ $out == *': note: '* ]]
}

@test "standard input, and a file that is not there" {
	run_split gtopo lint - <"$cases/bom/input.xml"
	[ "$status" -eq 1 ]
	[[ $out == 'standard input:1:1: error: '* ]]
	run_split gtopo lint /nowhere.xml
	want 2 "gtopo lint: /nowhere.xml: cannot open: No such file or directory"
	run_split gtopo lint /dev/null
	[ "$status" -eq 1 ]
}

@test "--json has every finding with its place" {
	command -v jq >/dev/null || skip "no jq"
	gtopo lint --json "$cases/clean/input.xml" "$cases/no-sm/input.xml" \
		"$cases/bom/input.xml" >"$BATS_TEST_TMPDIR/out" || true
	run jq -r '.schema, (.findings[] |
		.severity, .rule, (.where | sub(".*/"; "")))' \
		"$BATS_TEST_TMPDIR/out"
	[ "$output" = 'gtopo.lint/1
error
missing
input.xml:5:9
error
bom
input.xml:1:1' ]
	run jq '.findings | length' <(gtopo lint --json "$xml/dgx-h100.xml")
	[ "$output" = 0 ]
}

@test "--fix takes one file and tells what it cannot repair" {
	run_split gtopo lint --fix "$xml/dgx-1v.xml" "$xml/dgx-h100.xml"
	[ "$status" -eq 2 ]
	cd "$cases/no-sm"
	run_split gtopo lint --fix -o "$BATS_TEST_TMPDIR/new.xml" input.xml
	[ "$status" -eq 1 ]
	[[ $err == 'gtopo lint: input.xml:5:9: error: gpu has no sm'* ]]
	cmp input.xml "$BATS_TEST_TMPDIR/new.xml"
}

@test "--fix leaves a good file as it is" {
	gtopo lint --fix "$xml/dgx-h100.xml" | cmp - "$xml/dgx-h100.xml"
}

@test "NCCL takes what detect writes: only machines are at fault" {
	local machine='degraded|numa|narrow-switch|nvlink-down|p2p|gpu-lost'
	machine+='|firmware|port-down|acs|iommu|gdr'
	for file in "$GTOPO_SRC"/tests/cases/detect/*/expect.xml; do
		run_split gtopo lint "$file"
		run grep -vE "\[($machine)\]\$|: note: " <<<"$out"
		[ -z "$output" ]
	done
}

@test "real topologies are looked at, whatever they are" {
	need_topologies
	for file in "$GTOPO_TEST_TOPOLOGIES"/*.xml \
		"$GTOPO_TEST_TOPOLOGIES"/quirks/*.xml; do
		run_split timeout 20 "$GTOPO" lint "$file"
		[ "$status" -le 1 ] && [ -z "$err" ]
	done
}

@test "thousands of one model take no minutes" {
	{
		echo '<system version="1"><cpu numaid="0" arch="arm64">'
		for i in {1..2500}; do
			echo "<pci busid=\"$i:00:00.0\" class=\"0x020000\"" \
				'vendor="0x15b3" device="0x1021"' \
				'link_speed="16.0 GT/s PCIe" link_width="16">' \
				"<nic gt_firmware=\"$((i % 7))\"/></pci>"
		done
		echo '</cpu></system>'
	} >"$BATS_TEST_TMPDIR/many.xml"
	run_split timeout 20 "$GTOPO" lint "$BATS_TEST_TMPDIR/many.xml"
	[ "$status" -eq 1 ]
}
