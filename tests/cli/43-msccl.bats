# gtopo export --to msccl: every right plan's algorithm is executed.

load common

# Under sanitizers only the program is looked at: its output is what it was.
checked() { # CHECKER FILE
	[ -n "${GTOPO_TEST_BRIEF:-}" ] ||
		python3 "$GTOPO_SRC/tests/plan/$1" "$2"
}

check() { # PLAN
	gtopo export --to msccl -o algo.xml "$1"
	checked check_msccl.py algo.xml
}

# Blocks that are not all alike are refused.
is_uneven() { # PLAN
	grep -q '"demand":' "$1"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "algorithms of all right plans compute their collective" {
	n=0
	for plan in "$GTOPO_SRC"/tests/cases/plan/good/*/plan.json; do
		is_uneven "$plan" && continue
		if ! gtopo export --to msccl "$plan" >/dev/null 2>why; then
			grep -qE "no 'sendrecv'|no counterpart in MSCCL|MSCCL takes 64|multicast and add up" why
			continue
		fi
		check "$plan"
		n=$((n + 1))
	done
	[ "$n" -ge 20 ]
}

@test "rings of machines, for three collectives" {
	for machine in dgx-1v h200-vm-4; do
		for coll in allreduce allgather reducescatter; do
			gtopo search --algo ring --coll "$coll" -o plan.json \
				"$GTOPO_SRC/share/xml/$machine.xml"
			check plan.json
		done
	done
}

@test "an algorithm that works out of place only becomes a plan of that kind" {
	gtopo synth -o box.xml '3 gpu(model=h200 nvswitch=18)'
	run_split gtopo import --topology box.xml -o plan.json \
		"$GTOPO_SRC/tests/cases/msccl/out-of-place/straight3-alltoall.xml"
	want 0 "gtopo import: the algorithm works out of place only, \
and so does the plan"
	grep -q '"out_of_place": true' plan.json
	run_split gtopo verify plan.json
	want 0 ""
	[[ $out == correct*"buffers   out of place only"* ]]
	gtopo verify --json plan.json | grep -q '"out_of_place": true'
	gtopo predict -q plan.json >/dev/null
	run_split gtopo run --device host -b 3K -e 3K -n 1 -w 0 plan.json
	want 0 ""
	grep -qE '^ +3072 .* 0 +N/A +N/A +N/A +N/A$' <<<"$out"
	run_split gtopo run --device host -b 3K -e 3K -n 1 -w 0 --json plan.json
	[[ $out == *'"inplace": false'* && $out != *'"inplace": true'* ]]
	gtopo run --device host --soak 100ms plan.json
	gtopo export --to msccl plan.json | grep -q 'inplace="0" outofplace="1"'
	# Without the key it is wrong, and the words say what helps.
	sed '/"out_of_place"/d' plan.json >both.json
	run_split gtopo verify both.json
	[ "$status" -eq 1 ]
	[[ $err == *'(in place; "out_of_place": true in the plan keeps it from that)' ]]
}

@test "what MSCCL's runtimes do not take is refused" {
	gtopo synth '36 gpu(model=h200 nvswitch=18)' >many.xml
	gtopo search --algo ring -o plan.json many.xml
	run_split gtopo export --to msccl plan.json
	want 2 "gtopo export: plan.json: rank 0 takes 1 thread blocks of up to 71 steps; MSCCL takes 64 of 64"
}

@test "execution plans for MSCCL++ compute their collective" {
	n=0
	for plan in "$GTOPO_SRC"/tests/cases/plan/good/*/plan.json; do
		is_uneven "$plan" && continue
		if ! gtopo export --to mscclpp -o pp.json "$plan" 2>why; then
			grep -qE "no counterpart|MSCCL.. takes 64|multicast and add up" why
			continue
		fi
		checked check_mscclpp.py pp.json
		n=$((n + 1))
	done
	[ "$n" -ge 18 ]
	for coll in allreduce allgather reducescatter; do
		gtopo search --algo mesh --coll "$coll" -o plan.json \
			"$GTOPO_SRC/share/xml/dgx-h100.xml"
		gtopo export --to mscclpp -o pp.json plan.json
		checked check_mscclpp.py pp.json
	done
}

@test "a rank with more connections than MSCCL++ has ids for is refused" {
	gtopo search --coll alltoall -o plan.json \
		"$GTOPO_SRC/share/xml/dgx-superpod-h100.xml"
	run gtopo export --to mscclpp plan.json
	[ "$status" -eq 2 ]
	[[ $output == *"532 channels in one thread block; MSCCL++ takes 64 on 16"* ]]
}

@test "what is no algorithm, or no machine, is told what it is" {
	xml=$GTOPO_SRC/share/xml
	run_split gtopo import --topology "$xml/dgx-1v.xml" "$xml/2x-dgx-h100.xml"
	want 2 "gtopo import: $xml/2x-dgx-h100.xml:5:1: is a cluster file, not an \
algorithm of MSCCL or MSCCL++; 'gtopo search' plans for it"
	run_split gtopo import --topology "$xml/dgx-1v.xml" "$xml/dgx-1v.xml"
	[[ "$status $err" == "2 "*"is a topology, not an algorithm"* ]]
	run_split gtopo import --topology "$xml/2x-dgx-h100.xml" "$xml/dgx-1v.xml"
	want 2 "gtopo import: $xml/2x-dgx-h100.xml:5:1: is a cluster file, where one \
machine's topology is needed; name the file of one of its nodes"
}
