# gtopo nccl: what NCCL chooses on a machine, and why.

load common

xml=$GTOPO_SRC/share/xml

@test "NCCL's rings on an H100 are off the best by its list of speeds" {
	run_split gtopo nccl "$xml/dgx-h100.xml"
	[ "$status" -eq 0 ]
	grep -Fx "rings   12 channels of 30 GB/s, 360 together, over NVL" \
		<<<"$out"
	grep -F "best    rings of 370.8 GB/s, proven best of rings" <<<"$out"
	grep -F "out of a fixed list: 370.8 GB/s otherwise" <<<"$out"
}

@test "nothing is to be set where NCCL's choice is the best" {
	run_split gtopo nccl dgx-a100
	[ "$status" -eq 0 ]
	grep -F "NCCL's are as good" <<<"$out"
	[ "$(grep -cE "^(why|set) " <<<"$out")" -eq 0 ]
}

@test "the graph file it proposes carries what it says" {
	local value
	value=$(gtopo nccl --json dgx-h100 | jq .best.graph_file_gbs)
	gtopo search --algo ring --equal --max-channels 16 --rates nccl \
		dgx-h100 2>/dev/null | gtopo export --to nccl-graph - \
		>"$BATS_TEST_TMPDIR/graph.xml"
	jq -n "$value == $(sed -n 's/.*nchannels="\([0-9]*\)".*speedintra="\([0-9.]*\)".*/\1 * \2/p' \
		"$BATS_TEST_TMPDIR/graph.xml")" | grep -x true
}

@test "JSON has all of it" {
	gtopo nccl --json dgx-1v >"$BATS_TEST_TMPDIR/a.json"
	jq -e '.schema == "gtopo.nccl/1" and .gpus == 8 and
		.rings.channels == 6 and .rings.channel_gbs == 20 and
		(.rings.orders | length) == 6 and
		(.rings.orders | map(sort == [range(8)]) | all) and
		.trees.channels == 6 and .best.nccl_part == 1 and
		.apart == null and (has("without_rule_gbs") | not)' \
		"$BATS_TEST_TMPDIR/a.json"
}

@test "GPUs whose ports are faster than what joins them are told" {
	run_split gtopo nccl pcie-8gpu
	[ "$status" -eq 0 ]
	grep -F "apart   NCCL takes GPU4 for another machine's" <<<"$out"
	grep -F "set     NCCL_NET_DISABLE_INTRA=1" <<<"$out"
	grep -F "set     NCCL_P2P_LEVEL=SYS  16 of 28 pairs" <<<"$out"
}

@test "one GPU has rings, but no best ones" {
	gtopo synth "1 numa: 1 switch: 1 gpu" |
		gtopo nccl --json - >"$BATS_TEST_TMPDIR/one.json"
	jq -e '.gpus == 1 and (has("best") | not)' "$BATS_TEST_TMPDIR/one.json"
}

@test "a link without a reverse is an answer, too" {
	sed '0,/<nvlink target="0000:07/{/<nvlink target="0000:07/d}' \
		"$xml/dgx-1v.xml" >"$BATS_TEST_TMPDIR/odd.xml"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/odd.xml"
	want 1 "gtopo nccl: $BATS_TEST_TMPDIR/odd.xml: link \
'GPU/0000:07:00.0>GPU/0000:06:00.0' has no reverse; NCCL gives up on such a \
machine"
}

@test "what is no machine is refused" {
	echo "<system version='1'><cpu numaid='0'/></system>" \
		>"$BATS_TEST_TMPDIR/empty.xml"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/empty.xml"
	[ "$status" -eq 2 ]
	grep -F "has no GPUs" <<<"$err"
	run_split gtopo nccl 2x-dgx-a100
	[ "$status" -eq 2 ]
	grep -F "root element 'cluster' is not 'system'" <<<"$err"
}
