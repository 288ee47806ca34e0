# gtopo search: rings on machines that are cases.

load common

h100() {
	echo "$GTOPO_SRC/share/xml/dgx-h100.xml"
}

@test "eight GPUs on NVSwitch: one ring at full speed, proved" {
	run_split gtopo search --algo ring "$(h100)"
	want 0 ""
	[[ $out == *'"order": [0, 1, 2, 3, 4, 5, 6, 7]'* ]]
	[[ $out == *'"value": "1854/5"'* ]]
	[[ $out == *'"optimal": true'* ]]
}

@test "the same input gives the same plan, also from standard input" {
	cd "$BATS_TEST_TMPDIR"
	cp "$(h100)" node.xml
	gtopo search -o a node.xml
	gtopo search -o b node.xml
	cmp a b
	gtopo search - <node.xml | grep -v '"source"' >c
	grep -v '"source"' a | diff - c
}

@test "-v says what was found" {
	run_split gtopo search -v "$(h100)"
	[ "$status" -eq 0 ]
	[[ $err == *"8 GPUs: rings of 370.8 GB/s in 1 channels"* ]]
	[[ $err == *"proved: no rings reach more"* ]]
}

@test "--gpus takes devs and bus ids, in order of rank" {
	run_split gtopo search --gpus 3,0,0000:52:00.0 "$(h100)"
	want 0 ""
	[[ $out == *'{"rank": 0, "node": "n0", "device": "0000:61:00.0", "dev": 3}'* ]]
	[[ $out == *'{"rank": 1, "node": "n0", "device": "0000:1b:00.0", "dev": 0}'* ]]
	[[ $out == *'{"rank": 2, "node": "n0", "device": "0000:52:00.0", "dev": 2}'* ]]
	[[ $out == *'"order": [0, 1, 2]'* ]]
}

@test "one GPU has a plan without hops" {
	run_split gtopo search --gpus 5 "$(h100)"
	want 0 ""
	[[ $out == *'"order": [0]'* ]]
}

@test "two GPUs" {
	run_split gtopo search --gpus 0,1 --coll allgather "$(h100)"
	want 0 ""
	[[ $out == *'"order": [0, 1]'* ]]
	[[ $out == *'"optimal": true'* ]]
}

@test "an entry of --gpus that is wrong is named" {
	run_split gtopo search --gpus 0,8 "$(h100)"
	want 2 "gtopo search: --gpus: '8' is neither the dev nor the bus id of \
a GPU; see 'gtopo paths'"
	run_split gtopo search --gpus 0,1,0 "$(h100)"
	want 2 "gtopo search: --gpus: '0' is named twice"
	run_split gtopo search --gpus 0,,1 "$(h100)"
	want 2 "gtopo search: --gpus: '' is neither the dev nor the bus id of \
a GPU; see 'gtopo paths'"
}

@test "a file without GPUs is refused, and says what is missing" {
	cd "$BATS_TEST_TMPDIR"
	echo '<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49" affinity="f"/></system>' >none.xml
	run_split gtopo search none.xml
	[ "$status" -eq 2 ]
	[ -z "$out" ]
	[[ $err == "gtopo search: none.xml"* ]]
}

@test "a missing file and a full disk are told" {
	cd "$BATS_TEST_TMPDIR"
	run_split gtopo search nowhere.xml
	[ "$status" -eq 2 ]
	[[ $err == "gtopo search: nowhere.xml: "* ]]
	[ -c /dev/full ] || skip "no /dev/full"
	run_split gtopo search -o /dev/full "$(h100)"
	[ "$status" -eq 3 ]
}

@test "--max-channels keeps to its limit" {
	run_split gtopo search --max-channels 1 "$(h100)"
	want 0 ""
	run_split gtopo search --max-channels 0 "$(h100)"
	[ "$status" -eq 2 ]
}

@test "a cluster: as quickly proved for 100,000 GPUs as for 16" {
	cd "$BATS_TEST_TMPDIR"
	for nodes in 2 128 12500; do
		gtopo search --nodes $nodes --coll allgather -o plan "$(h100)"
		run_split gtopo verify plan
		want 0 ""
		[[ $out == *"allgather of $((nodes * 8)) ranks"* ]]
		[[ $out == *"for any schedule: optimal, proven"* ]]
		[ "$(wc -c <plan)" -lt 1000000 ]
	done
}

@test "-v says what was found for a cluster" {
	run_split gtopo search -v --nodes 128 "$(h100)"
	[ "$status" -eq 0 ]
	[[ $err == *"128 nodes of 8 GPUs: trees of 193.512 GB/s in "* ]]
	[[ $err == *"proved: no schedule reaches more"* ]]
}

@test "cluster files: rails, oversubscription, and what they bound" {
	cd "$BATS_TEST_TMPDIR"
	cat >rails.xml <<-END
		<cluster version="1" name="rails">
		  <node file="$(h100)" nets="0,3-6,9-11" count="64"/>
		  <fabric>
		    <level nodes="8" rail="each" oversubscription="32"/>
		    <level/>
		  </fabric>
		</cluster>
	END
	for coll in allgather reducescatter allreduce; do
		gtopo search --coll $coll -o plan rails.xml
		run_split gtopo verify plan
		want 0 ""
		[[ $out == *"for any schedule: optimal, proven"* ]]
	done
	[ "$(jq -r .proof.value plan)" = 400/7 ]
	[ "$(jq -r '.cluster.levels[0].uplink_gbs' plan)" = 25/2 ]
}

@test "templates of small clusters run on the host" {
	cd "$BATS_TEST_TMPDIR"
	while read -r nodes gpus coll; do
		gtopo search --nodes "$nodes" --gpus "$gpus" --coll "$coll" \
			-o plan "$(h100)"
		run_split gtopo run --plan plan --device host --coll "$coll" \
			-b 64K -e 64K
		[ "$status" -eq 0 ]
		[[ $out == *"Out of bounds values : 0 OK"* ]]
	done <<-END
		2 0,1 allgather
		3 0,1,4 reducescatter
		4 0,1,2,3,4,5,6,7 allreduce
	END
}

@test "what a cluster cannot be planned with is said" {
	cd "$BATS_TEST_TMPDIR"
	cluster() {
		echo "<cluster version=\"1\" name=\"c\">$1</cluster>" >c.xml
		run_split gtopo search c.xml
	}
	run_split gtopo search --algo hier "$(h100)"
	want 2 "gtopo search: --algo hier needs a cluster file, or --nodes"
	run_split gtopo search --algo ring --nodes 2 "$(h100)"
	want 2 "gtopo search: --algo ring is for one machine"
	for coll in broadcast reduce; do
		run_split gtopo search --coll $coll --nodes 2 "$(h100)"
		want 2 "gtopo search: --coll $coll is for one machine; \
templates do allreduce, allgather and reducescatter"
	done
	cluster "<node file=\"$(h100)\" count=\"2\"/>
		<node file=\"$GTOPO_SRC/share/xml/dgx-a100.xml\"/>
		<fabric><level/></fabric>"
	want 2 "gtopo search: c.xml: templates need nodes that are all alike; \
there are 2 kinds"
	run_split gtopo search --nodes 2 c.xml
	want 2 "gtopo search: a cluster file has its own number of nodes; leave \
out --nodes"
	cluster "<node file=\"$(h100)\" count=\"5\"/>
		<fabric><level nodes=\"2\" oversubscription=\"2\"/><level/></fabric>"
	want 2 "gtopo search: c.xml: 5 nodes do not fill switches of 2; \
templates need switches that are alike"
}

@test "what cannot be done with a plan of a cluster is said" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search --nodes 12500 -o plan "$(h100)"
	run_split gtopo predict plan
	want 2 "gtopo predict: plan: plans of clusters are not predicted"
	run_split gtopo export --to msccl plan
	want 2 "gtopo export: plan: there are 100000 ranks; at most 1024 are \
written one by one"
}
