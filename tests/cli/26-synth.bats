# gtopo synth: what it makes is what others take.

load common

cases=$GTOPO_SRC/tests/cases/synth

@test "GPUs by their model alone" {
	cd "$BATS_TEST_TMPDIR"
	gtopo synth "8 gpu (model=h100)" >wanted 2>/dev/null
	for words in "8xH100" "8 h100" "8 H100"; do
		gtopo synth "$words" 2>/dev/null | diff wanted -
	done
	gtopo synth "8 gpu(model=H100)" 2>/dev/null | diff wanted -
}

@test "each good description is read without a finding" {
	while IFS= read -r line; do
		gtopo synth -o "$BATS_TEST_TMPDIR/m.xml" "$line"
		run_split gtopo lint "$BATS_TEST_TMPDIR/m.xml"
		[ -z "$out" ]
		want 0 ""
		run_split gtopo show "$BATS_TEST_TMPDIR/m.xml"
		want 0 ""
		[ ! -x "${GTOPO%/*}/tests/detect/nccl_reads" ] ||
			"${GTOPO%/*}/tests/detect/nccl_reads" "$BATS_TEST_TMPDIR/m.xml"
	done <"$cases/good"
}

@test "each example of the help makes a machine" {
	local line
	cd "$BATS_TEST_TMPDIR"
	gtopo synth --help | sed -n '/^examples:$/,$p' | tail -n +2 >lines
	[ "$(wc -l <lines)" -ge 3 ]
	while IFS= read -r line; do
		eval "$line" >m.xml
		run_split gtopo lint m.xml
		want 0 ""
	done <lines
}

@test "it is what the schema allows" {
	command -v xmllint >/dev/null || skip "no xmllint"
	while IFS= read -r line; do
		gtopo synth "$line" | xmllint --noout --relaxng \
			"$GTOPO_SRC/share/schema/gtopo-topology.rng" -
	done <"$cases/good"
}

@test "each bad description is refused with its column" {
	while IFS='|' read -r line error; do
		run_split gtopo synth "$line"
		want 2 "gtopo synth: $error"
		[ -z "$out" ]
	done <"$cases/bad"
}

@test "numbers multiply from level to level" {
	run_split gtopo synth -o "$BATS_TEST_TMPDIR/m.xml" \
		"2 numa: 2 switch: 2 gpu 1 nic(ports=2)"
	want 0 ""
	run_split gtopo show "$BATS_TEST_TMPDIR/m.xml"
	[[ $out == *": 8 GPUs, 8 network ports, 2 NUMA nodes"* ]]
	[ "$(grep -c 'switch 0000' <<<"$out")" -eq 4 ]
}

@test "links are what the words say" {
	gtopo synth "4 gpu(nvlink=2)" >"$BATS_TEST_TMPDIR/m.xml"
	run_split gtopo paths --matrix --rates line "$BATS_TEST_TMPDIR/m.xml"
	[ "$(grep -o 'NV2 50' <<<"$out" | wc -l)" -eq 12 ]
	gtopo synth "4 gpu(bridge=4)" >"$BATS_TEST_TMPDIR/m.xml"
	run_split gtopo paths --matrix --rates line "$BATS_TEST_TMPDIR/m.xml"
	[ "$(grep -o 'NV4 100' <<<"$out" | wc -l)" -eq 4 ]
	gtopo synth "2 gpu(nvswitch=18 model=b200)" >"$BATS_TEST_TMPDIR/m.xml"
	run_split gtopo paths --matrix --rates line "$BATS_TEST_TMPDIR/m.xml"
	[ "$(grep -o 'NV18 900' <<<"$out" | wc -l)" -eq 2 ]
	gtopo synth "nic(speed=2.5) gpu(gen=3 width=4)" >"$BATS_TEST_TMPDIR/m.xml"
	run_split gtopo show "$BATS_TEST_TMPDIR/m.xml"
	[[ $out == *"gen3 x4"* && $out == *"NET0 mlx5_0 0.31 GB/s"* ]]
}

@test "more than NCCL takes is told" {
	run_split gtopo synth "2 numa: 64 switch: gpu"
	want 0 "gtopo synth: the file has 387 elements, NCCL takes at most 255"
	run_split gtopo synth -q "2 numa: 64 switch: gpu"
	want 0 ""
}

@test "a plan for a machine that is only words" {
	run_split gtopo synth "2 numa: 2 switch: 2 gpu 1 nic"
	gtopo search --algo ring -o "$BATS_TEST_TMPDIR/plan" - <<<"$out"
	run_split gtopo verify "$BATS_TEST_TMPDIR/plan"
	[[ $out == *"optimal, proven"* ]]
}
