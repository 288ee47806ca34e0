# gtopo export: each format against what its reader takes.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "nccl-graph of rings is what NCCL reads" {
	for machine in dgx-1v dgx-a100 dgx-h100 h200-vm-4 pcie-8gpu; do
		gtopo search --algo ring -o plan.json "$xml/$machine.xml"
		gtopo export --to nccl-graph -o graph.xml plan.json
		python3 "$GTOPO_SRC/tests/plan/check_nccl_graph.py" plan.json \
			graph.xml
	done
}

@test "nccl-graph numbers GPUs as NCCL does" {
	gtopo search --algo ring --gpus 3,1,2 -o plan.json \
		"$xml/h200-vm-4.xml"
	gtopo export --to nccl-graph plan.json >graph.xml
	python3 "$GTOPO_SRC/tests/plan/check_nccl_graph.py" plan.json graph.xml
	grep -q '<gpu dev="0x3"/>' graph.xml
	sed -i 's/, "dev": [0-9]*//' plan.json
	run_split gtopo export --to nccl-graph plan.json
	want 2 "gtopo export: plan.json: rank 0 has no 'dev', the number that NCCL knows a GPU by"
}

@test "dot names ranks and draws every hop" {
	gtopo search --algo ring -o plan.json "$xml/dgx-1v.xml"
	run_split gtopo export --to dot plan.json
	want 0 ""
	[ "$(grep -c 'r[0-9] -> r[0-9] \[' <<<"$out")" -eq \
		$((8 * $(grep -c '"order"' plan.json))) ]
	[[ $out == *'r0 [label="0\n0000:06:00.0"]'* ]]
	if command -v dot >/dev/null; then
		dot -Tsvg <<<"$out" >/dev/null
	fi
}

@test "what is not possible is said" {
	run_split gtopo export plan.json
	want 2 "gtopo export: --to is missing"
	run_split gtopo export --to nccl-graph \
		"$GTOPO_SRC/tests/cases/plan/good/tree8-star-gather/plan.json"
	[ "$status" -eq 2 ]
}
