# gtopo paths on the reference machines, and its ways to fail.

load common

xml=$GTOPO_SRC/share/xml

@test "NVLink joins all GPUs of a DGX H100" {
	run_split gtopo paths --matrix "$xml/dgx-h100.xml"
	want 0 ""
	[ "$(grep -c '^GPU[0-7] .*NV18 370.8' <<<"$out")" -eq 8 ]
	[[ $out == *'GPU0    0000:1b:00.0   sm_90'* ]]
	[[ $out == *'NV   NVLink, direct or through NVSwitch'* ]]
}

@test "in short: what joins the GPUs, and where each of them sits" {
	run_split gtopo paths "$xml/dgx-h100.xml"
	want 0 ""
	grep -qx '8 GPUs, all pairs NVLink through NVSwitch, 370.8 GB/s each way' \
		<<<"$out"
	grep -qE '^GPU0 +0000:1b:00.0 +NET0 PIX 48 +0 +0-55,112-167$' <<<"$out"
	grep -qE '^GPU7 +0000:df:00.0 +NET11 PIX 48 +1 +56-111,168-223$' \
		<<<"$out"
	run_split gtopo paths "$xml/dgx-1v.xml"
	grep -qx ' *8  2 NVLinks, 40 GB/s each way' <<<"$out"
	grep -qx ' *4  NVLink through another GPU, 40 GB/s each way' <<<"$out"
	run_split gtopo paths "$xml/mi250x.xml"
	grep -qx ' *4  4 xGMI links, 144 GB/s each way' <<<"$out"
	run_split gtopo paths --matrix --json "$xml/dgx-1v.xml"
	want 2 "gtopo paths: --matrix goes with neither --json nor --from nor \
--bottlenecks"
}

@test "show and paths say whose rates they print" {
	gtopo show "$xml/dgx-h100.xml" | head -n 1 |
		grep -q '; GB/s at line rate$'
	gtopo paths "$xml/dgx-h100.xml" | head -n 1 |
		grep -qx "GB/s as measured where the file says so, else NCCL's \
constants; gtopo show has line rates"
	gtopo paths --matrix --rates line "$xml/dgx-h100.xml" | head -n 1 |
		grep -qx 'GB/s at line rate, as gtopo show has them'
	gtopo paths --rates nccl "$xml/dgx-h100.xml" | head -n 1 |
		grep -qx "GB/s by NCCL's constants; gtopo show has line rates"
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
	run jq -r '[.links[] | select(.gbs == "1854/5") | .bw_gbs] | unique[]' \
		"$BATS_TEST_TMPDIR/p"
	[ "$output" = 370.8 ]
}

@test "rates change what links carry" {
	run_split gtopo paths --matrix --rates line "$xml/dgx-h100.xml"
	[[ $out == *"NV18 450"* && $out == *"PIX3 50"* ]]
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
	cd "$xml"
	xmllint --noout --relaxng ../schema/gtopo-topology.rng $(grep -l '^<system ' *.xml)
	xmllint --noout --relaxng ../schema/gtopo-cluster.rng $(grep -l '^<cluster ' *.xml)
}

@test "the legend has nvidia-smi's names" {
	run_split gtopo paths --matrix "$xml/dgx-1v.xml"
	grep -qE '^  NV  .* NV1, NV2$' <<<"$out"
	grep -qE '^  NVB  NVLink through another GPU$' <<<"$out"
	grep -qE '^  SYS .* SYS$' <<<"$out"
	run_split gtopo paths --matrix "$xml/dgx-h100.xml"
	grep -qE '^  NV  .* NV18$' <<<"$out"
	grep -qE '^  PHB .* PHB, NODE$' <<<"$out"
}

@test "a route is explained link by link" {
	run_split gtopo paths --from GPU0 --to net0 "$xml/pcie-8gpu.xml"
	want 0 ""
	diff - <(echo "$out") <<-'EOF'
	GPU0 to NET0: PIX, 3 links, 24 GB/s one way: one PCI switch
	GPU0 0000:03:00.0      > switch 0000:01:00.0    PCI           24 GB/s  narrowest
	switch 0000:01:00.0    > NIC 0000:0b:00.0       PCI           48 GB/s
	NIC 0000:0b:00.0       > NET0                   NET           25 GB/s
	EOF
	run_split gtopo paths --from 0000:1b:00.0 --to GPU7 "$xml/dgx-h100.xml"
	[[ $out == *"NVSwitch"*"> GPU7 0000:df:00.0 "*"NVL x18"*"370.8 GB/s"* ]]
}

@test "a device is named by number, name, port or any spelling of its bus id" {
	cd "$BATS_TEST_TMPDIR"
	gtopo paths --from GPU0 --to NET0 "$xml/dgx-1v.xml" >want
	for from in 0 gpu0 06:00.0 00000000:06:00.0; do
		for to in net0 mlx5_0 05:00.0; do
			gtopo paths --from $from --to $to "$xml/dgx-1v.xml" |
				diff want -
		done
	done
}

@test "routes need two devices that are there" {
	run_split gtopo paths --from GPU0 "$xml/dgx-h100.xml"
	want 2 "gtopo paths: --from and --to go together"
	run_split gtopo paths --from GPU0 --to GPU8 "$xml/dgx-h100.xml"
	[ "$status" -eq 2 ]
	[[ $err == *"has no GPU or port 'GPU8'"* ]]
	run_split gtopo paths --from GPU0 --to gpu0 "$xml/dgx-h100.xml"
	want 2 "gtopo paths: --from and --to are both 'gpu0'"
	run_split gtopo paths --from GPU0 --to GPU1 --bottlenecks \
		"$xml/dgx-h100.xml"
	want 2 "gtopo paths: --bottlenecks does not go with --from"
}

@test "bottlenecks: 16 pairs each way cross between the CPUs" {
	run_split gtopo paths --bottlenecks "$xml/pcie-8gpu.xml"
	want 0 ""
	[ "$(sed -n 5p <<<"$out")" = \
		"       1        16      16  SYS  NUMA 0 <> NUMA 1" ]
	[ "$(sed -n 6p <<<"$out")" = \
		"       3        48      16  PCI  switch 0000:01:00.0 <> NUMA 0" ]
	[ "$(wc -l <<<"$out")" -eq 15 ]
	run_split gtopo paths --bottlenecks "$xml/dgx-h100.xml"
	[ "$(grep -c '   52.97     370.8       7  NVL  GPU' <<<"$out")" -eq 8 ]
}

@test "bottlenecks as JSON are those of the text" {
	command -v jq >/dev/null || skip "no jq"
	gtopo paths --bottlenecks "$xml/pcie-8gpu.xml" | sed 1,4d |
		awk '{ print $1, $2, $3, $4 }' >"$BATS_TEST_TMPDIR/text"
	gtopo paths --bottlenecks --json "$xml/pcie-8gpu.xml" |
		jq -r '.bottlenecks[] | [(.each_gbs * 1000 | round / 1000),
			.bw_gbs, .pairs, .kind] | map(tostring) | join(" ")' |
		diff "$BATS_TEST_TMPDIR/text" -
}

@test "--from, --to and --json: the one route, its links in their order" {
	command -v jq >/dev/null || skip "no jq"
	gtopo paths --json --from GPU0 --to NET1 "$xml/dgx-1v.xml" \
		>"$BATS_TEST_TMPDIR/one"
	gtopo paths --json "$xml/dgx-1v.xml" |
		jq '(.paths[] | select(.from == "GPU/0000:06:00.0" and
			.to == "NET/1")) as $path | .paths = [$path] |
			.devices |= map(select(.id == $path.from or
				.id == $path.to)) |
			.links as $all | .links = [$path.links[] |
				. as $id | $all[] | select(.id == $id)]' >"$BATS_TEST_TMPDIR/want"
	cd "$BATS_TEST_TMPDIR"
	jq . one | diff - want
	[ "$(jq '.links | length' one)" -gt 2 ]
}
