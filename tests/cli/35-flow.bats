# gtopo search for what only moves: flows through other GPUs, or a mesh.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "every machine, every collective: proved, verified, right on CPU ranks" {
	for machine in dgx-h100 dgx-1v pcie-8gpu mi250x; do
		for coll in alltoall gather scatter sendrecv; do
			gtopo search --coll "$coll" -o plan "$xml/$machine.xml"
			grep -q '"optimal": true' plan
			gtopo verify --topology "$xml/$machine.xml" plan |
				grep -q 'any schedule over its routes: optimal, proven'
			gtopo run --plan plan --device host --coll "$coll" \
				-b 40000 -e 40000 -n 1 -w 0
		done
	done
}

@test "a DGX-1 passes all-to-all on through GPUs, and gains an eighth" {
	gtopo search --algo alltoall -o plan "$xml/dgx-1v.xml"
	grep -q '"shape": "flow"' plan
	# half of the GPUs send to the others over six links of 20: 120 / 16
	grep -q '"value": "15/2"' plan
	grep -q '"algbw_gbs": 60,' plan
	gtopo search --algo mesh --coll alltoall -o mesh "$xml/dgx-1v.xml"
	grep -q '"value": "20/3"' mesh
	gtopo verify mesh | grep -q '88.89% reached, proven'
}

@test "an NVSwitch needs no one on the way" {
	gtopo search --algo flow --coll alltoall -o plan "$xml/dgx-h100.xml"
	grep -q '"shape": "mesh"' plan
	grep -q '"algo": "one-shot"' plan
	gtopo search --algo flow --coll sendrecv "$xml/dgx-h100.xml" |
		grep -q '"value": "1854/5"'
}

@test "small messages go directly" {
	gtopo search --coll alltoall -o plan "$xml/dgx-1v.xml"
	grep -q '"max_bytes": [0-9]*, "algo": "one-shot"' plan
	grep -q '"max_bytes": null, "algo": "flow"' plan
}

@test "--max-channels costs what the proof says, --root is another rank" {
	gtopo search --algo flow --coll alltoall --max-channels 2 -o plan \
		"$xml/dgx-1v.xml"
	grep -q '"bound": "15/2"' plan
	grep -q '"optimal": false' plan
	[ "$(grep -c '"shape": "flow"' plan)" -le 2 ]
	gtopo verify plan
	for coll in gather scatter; do
		gtopo search --algo flow --coll "$coll" --root 5 -o plan \
			"$xml/dgx-1v.xml"
		gtopo verify plan
		grep -q '"root": 5' plan
	done
}

@test "one GPU, two GPUs, some GPUs" {
	for gpus in 5 0,1 0,1,6,7; do
		for coll in alltoall gather scatter sendrecv; do
			gtopo search --gpus "$gpus" --coll "$coll" -o plan \
				"$xml/dgx-1v.xml"
			gtopo verify plan
		done
	done
}

@test "few nodes: as one machine, or by templates where these are better" {
	local both=()
	for algo in flow hier auto; do
		run_split gtopo search -v --algo $algo --nodes 2 \
			--gpus 0,1,2,3 --coll alltoall -o plan "$xml/dgx-2.xml"
		[ "$status" -eq 0 ]
		both+=("$(jq -c '[has("cluster"), .proof.value]' plan)")
	done
	# Ports of a pair are fixed in the one, chosen by the flow in the other.
	[ "${both[*]}" = '[false,"3/2"] [true,"17/8"] [true,"17/8"]' ]
	[ "$(grep -c 'GPUs: flows of' <<<"$err")" -eq 1 ]
	gtopo run --plan plan --device host -b 64K -e 64K -n 1 -w 0
	run_split gtopo search --explain --nodes 2 --gpus 0,1,2,3 \
		--coll alltoall "$xml/dgx-2.xml"
	want 0 ""
	# 17/8 a pair of 8, of which 7 are others'
	[[ $out == *"14.875 GB/s busbw (17 algbw)"* ]]
	# As good: what also has rows for small messages.
	gtopo search --nodes 2 --gpus 0,2,4,6 --coll alltoall -o plan \
		"$xml/dgx-2.xml"
	[ "$(jq -c '[has("cluster"), .proof.value]' plan)" = '[false,"3"]' ]
}

@test "what a shape cannot do, it says" {
	run_split gtopo search --algo ring --coll gather "$xml/dgx-1v.xml"
	want 2 "gtopo search: --algo ring cannot do gather; auto, flow and mesh can"
	run_split gtopo search --algo alltoall --coll allreduce "$xml/dgx-1v.xml"
	want 2 "gtopo search: --algo alltoall cannot do allreduce; auto, ring, forest and mesh can"
	run_split gtopo search --equal --coll alltoall "$xml/dgx-1v.xml"
	want 2 "gtopo search: --equal is for rings and trees, not for alltoall"
	run_split gtopo search --nodes 9 --coll gather "$xml/dgx-h100.xml"
	want 2 "gtopo search: --coll gather is for one machine, or up to 64 GPUs; of more, alltoall is planned"
	run_split gtopo search --nodes 9 --algo mesh --coll alltoall \
		"$xml/dgx-h100.xml"
	want 2 "gtopo search: --algo mesh cannot do alltoall of more than 64 GPUs; auto, flow and hier can"
	run_split gtopo search --nodes 9 --max-channels 2 --coll alltoall \
		"$xml/dgx-h100.xml"
	want 2 "gtopo search: --max-channels is not for alltoall of more than 64 GPUs"
}

@test "the proof in words, a picture" {
	gtopo search --explain --coll alltoall "$xml/dgx-1v.xml" >words
	grep -q "alltoall of 8 GPUs: 52.5 GB/s busbw (60 algbw) in 6 channels" words
	grep -A1 "2 links, 40 GB/s each way:" words | grep -q GPU0–GPU4
	gtopo search --coll alltoall -o plan "$xml/dgx-1v.xml"
	gtopo export --to dot plan | grep -q 'channel 2: flow'
}

@test "two nodes: what their cards can, proved, and right on CPU ranks" {
	# 64 pairs each way over eight cards of 48
	gtopo search --nodes 2 --coll alltoall -o plan "$xml/dgx-h100.xml"
	grep -q '"value": "6"' plan
	gtopo verify plan | grep -q 'any schedule over its routes: optimal, proven'
	gtopo run --plan plan --device host --coll alltoall -b 64000 -e 64000 \
		-n 1 -w 0
}

@test "rails: GPUs next to a card pass on what is for it" {
	gtopo search --algo flow --coll alltoall -o plan "$xml/4x-dgx-h100.xml"
	grep -q '"shape": "flow"' plan
	# 192 pairs over eight cards of 48; directly spine switches limit
	grep -q '"value": "2"' plan
	gtopo verify plan | grep -q 'any schedule over its routes: optimal, proven'
	gtopo search --algo mesh --coll alltoall "$xml/4x-dgx-h100.xml" |
		grep '"optimal": false'
}

@test "a cluster of any size: proved, verified, predicted, in words" {
	# 8 * (N - 1) pairs each way over a card of 48
	for algo in auto flow alltoall hier; do
		gtopo search --nodes 128 --algo "$algo" --coll alltoall \
			-o plan "$xml/dgx-h100.xml"
		grep -q '"value": "6/127"' plan
	done
	gtopo verify plan | grep -q 'any schedule over its routes: optimal, proven'
	gtopo search --nodes 12500 --coll alltoall -o plan "$xml/dgx-h100.xml"
	grep -q '"value": "6/12499"' plan
	[ "$(stat -c %s plan)" -lt 1000000 ]
	gtopo verify plan | grep -q 'alltoall of 100000 ranks over 1 channel'
	gtopo predict -b 1M -e 1M plan | grep -q 'flow   simple    model'
	gtopo search -v --coll alltoall -o plan "$xml/dgx-superpod-h100.xml" \
		2>words
	grep -q '127 nodes of 8 GPUs: flows of 48.3333 GB/s busbw (48.38 algbw) in 1 channel' words
	grep -q 'proved: no schedule over its routes reaches more' words
	gtopo verify plan
	gtopo search --explain --nodes 128 --coll alltoall "$xml/dgx-h100.xml" \
		>words
	grep -q 'alltoall of 128 nodes of 8 GPUs: 48.3307 GB/s busbw' words
	grep -q '8 links PCI–NIC, 48 GB/s' words
}

@test "the template is as good as the cluster as one machine, or better" {
	for machine in dgx-1v dgx-a100 mi250x pcie-8gpu 4x-dgx-h100; do
		nodes=(--nodes 3)
		[ "$machine" = 4x-dgx-h100 ] && nodes=()
		for algo in hier flow; do
			gtopo search --algo "$algo" "${nodes[@]}" \
				--coll alltoall -o "$algo" "$xml/$machine.xml"
			gtopo verify "$algo" | grep '^value' >"$algo.value"
		done
		diff hier.value flow.value
	done
	# which has one route for two GPUs, and trays have more cards than that
	gtopo search --algo hier --nodes 3 --coll alltoall -o hier \
		"$xml/gb200-tray.xml"
	gtopo verify hier | grep -q '^value     99 GB/s busbw (108 algbw)'
}

@test "templates of all-to-all are right on CPU ranks" {
	for machine in dgx-1v dgx-h100 gb200-tray; do
		gtopo search --algo hier --nodes 3 --coll alltoall -o plan \
			"$xml/$machine.xml"
		gtopo run --plan plan --device host --coll alltoall \
			-b 48000 -e 480000 -f 10 -n 2 -w 0
	done
}

@test "uneven nodes: a flow with what all have, and what that loses" {
	run_split gtopo search --coll alltoall -o plan \
		"$GTOPO_SRC/tests/cases/cluster/good/rails.xml"
	want 0 "gtopo search: nodes or switches are not all alike: planned with what all have, 7 ports of each node
gtopo search: nodes 'sick08' and 2 more: no port NET4 on rail 2 of the network; \
all-reduce of 73 nodes all like these reaches at most 340.1 GB/s, like \
'dgx-h100-0' 388.7
gtopo search: that reaches 16.1663 GB/s busbw; with what any has no schedule over its routes reaches more than 48.5833 GB/s busbw (201% more)"
	gtopo verify plan | grep -q 'optimal, proven'
}
