# gtopo export: each format against what its reader takes.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "nccl-graph of rings is what NCCL reads" {
	for machine in dgx-1v dgx-a100 dgx-h100 h200-vm-4 pcie-8gpu mi300x; do
		gtopo search --algo ring -o plan.json "$xml/$machine.xml"
		run_split gtopo export --to nccl-graph -o graph.xml plan.json
		want 0 ""
		python3 "$GTOPO_SRC/tests/plan/check_nccl_graph.py" plan.json \
			graph.xml
	done
}

@test "nccl-graph says what does not fit into equal channels" {
	gtopo search --algo ring --exclude-link GPU0-GPU3,GPU1-GPU2 \
		--rates line -o plan.json "$xml/mi300x.xml"
	run_split gtopo export -v --to nccl-graph -o graph.xml plan.json
	[ "$status" -eq 0 ]
	[[ $err =~ ^'gtopo export: '([0-9]+)' channels of '([0-9.]+)' GB/s' ]]
	n=${BASH_REMATCH[1]} speed=${BASH_REMATCH[2]}
	[ "$(grep -c '<channel>' graph.xml)" -eq "$n" ]
	[[ $err =~ 'of 384 GB/s busbw the graph file carries '([0-9.]+)' ' ]]
	awk -v is="${BASH_REMATCH[1]}" -v n="$n" -v speed="$speed" 'BEGIN {
		d = is / (n * speed) - 1; exit !(d < 1e-5 && d > -1e-5) }'
	# What it says to do instead loses nothing.
	gtopo search --algo ring --exclude-link GPU0-GPU3,GPU1-GPU2 \
		--rates line --equal --max-channels 16 -o plan.json \
		"$xml/mi300x.xml"
	run_split gtopo export --to nccl-graph -o graph.xml plan.json
	want 0 ""
	python3 "$GTOPO_SRC/tests/plan/check_nccl_graph.py" plan.json graph.xml
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
	gtopo search -o plan.json "$xml/pcie-8gpu.xml"
	run_split gtopo export --to nccl-graph plan.json
	want 2 "gtopo export: plan.json: channel 0: NCCL's graph files are of \
rings, or of chains; 'gtopo search --algo ring' makes a plan of rings"
}
