# gtopo search --algo forest: trees for five collectives.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "what only the rounding of shares loses is told as that" {
	cd "$BATS_TEST_TMPDIR"
	run_split gtopo search --algo forest --coll allgather --nodes 4 -v \
		-o plan "$GTOPO_SRC/share/xml/pcie-8gpu.xml"
	[[ $err == *"more than 24 GB/s busbw (this but for the rounding of shares)"* ]]
	run_split gtopo verify plan
	want 0 ""
	[[ $out == *"over its routes: reached but for the rounding of shares, proven"* ]]
	[ "$(jq .proof.optimal plan)" = false ]
}

@test "every machine, every collective: proved, verified, right on CPU ranks" {
	for machine in dgx-h100 dgx-1v pcie-8gpu h200-vm-4; do
		for coll in allreduce allgather reducescatter broadcast reduce
		do
			gtopo search --algo forest --coll "$coll" -o plan \
				"$xml/$machine.xml"
			grep -q '"optimal": true' plan
			gtopo verify plan | grep -q 'optimal, proven'
			gtopo run --plan plan --device host -b 1000 -e 1000 \
				-n 1 -w 0
		done
	done
}

@test "a star for each GPU of an NVSwitch" {
	gtopo search --algo forest --coll allgather -o plan "$xml/dgx-h100.xml"
	[ "$(grep -c '"share": "1/8"' plan)" -eq 8 ]
	grep -q '"parent": \[-1, 0, 0, 0, 0, 0, 0, 0\]' plan
}

@test "three GPUs of a DGX-1: trees beat whole rings by half, none that relay" {
	gtopo search --algo forest --coll allgather --gpus 0,2,3 -o plan \
		"$xml/dgx-1v.xml"
	gtopo verify plan
	# 20 GB/s an NVLink: one between 0 and 2, two between the others.
	grep -q '"value": "90"' plan
	gtopo search --algo ring --coll allgather --gpus 0,2,3 --equal \
		"$xml/dgx-1v.xml" | grep -q '"value": "40"'
	gtopo search --algo ring --coll allgather --gpus 0,2,3 "$xml/dgx-1v.xml" |
		grep -q '"value": "60"'
}

@test "what cuts cannot prove prices do, for all-reduce about trees" {
	gtopo search --algo forest --coll allgather -o plan "$xml/mi250x.xml"
	grep -q '"prices"' plan
	gtopo verify plan | grep 'any schedule over its routes: optimal, proven'
	gtopo search --algo tree --gpus 0,3,4,5,6 -o plan "$xml/dgx-1v.xml"
	grep -q '"class": "tree"' plan
	gtopo verify plan | grep 'for trees over its routes: optimal, proven'
}

@test "where no basis fits 64 bits: exact all the same, or not called all" {
	while read -r machine coll value; do
		gtopo search --algo forest --coll "$coll" -o plan \
			"$xml/$machine.xml"
		run_split gtopo verify plan
		want 0 ""
		[[ $out == *"$value"*" for any schedule over its routes: optimal, proven"* ]]
	done <<-END
		2x-dgx-a100 allgather 264 GB/s busbw
		4x-dgx-h100 broadcast 384 GB/s busbw
	END
}

@test "--root: another rank, or none that is there" {
	gtopo search --algo tree --coll broadcast --root 3 -o plan \
		"$xml/dgx-h100.xml"
	gtopo verify plan
	grep -q '"root": 3' plan
	run_split gtopo search --coll reduce --root 8 "$xml/dgx-h100.xml"
	want 2 "gtopo search: --root: there is no rank '8', only 8 of them"
}

@test "one GPU, two GPUs" {
	for gpus in 5 0,1; do
		for coll in allreduce allgather broadcast; do
			gtopo search --algo forest --coll "$coll" \
				--gpus "$gpus" -o plan "$xml/dgx-h100.xml"
			gtopo verify plan
		done
	done
}

# GPUs and NVLinks missing by chance, on GTOPO_TEST_MACHINES machines.
@test "broken machines: proved, verified, right on CPU ranks" {
	colls=(allreduce allgather reducescatter broadcast reduce)
	pairs=(0-1 0-2 0-3 0-4 1-2 1-3 1-5 2-3 2-6 3-7 4-5 4-6 4-7 5-6 5-7 6-7)
	for ((seed = 1; seed <= ${GTOPO_TEST_MACHINES:-15}; seed++)); do
		RANDOM=$seed
		gpus=0 links=
		for gpu in 1 2 3 4 5 6 7; do
			((RANDOM % 4)) && gpus+=,$gpu
		done
		for pair in "${pairs[@]}"; do
			((RANDOM % 3)) || links+=,GPU${pair%-*}-GPU${pair#*-}
		done
		gtopo search --algo forest --coll "${colls[seed % 5]}" \
			--gpus "$gpus" ${links:+--exclude-link "${links#,}"} \
			-o plan "$xml/dgx-1v.xml"
		gtopo verify plan >verdict
		[ "$gpus" = 0 ] || grep -q 'bound.*optimal, proven' verdict
		gtopo run --plan plan --device host -b 100 -e 100 -n 1 -w 0
	done
}
