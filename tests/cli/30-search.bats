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
	[[ $err == *"8 GPUs: rings of 370.8 GB/s busbw (211.9 algbw) in 1 channel
"* ]]
	[[ $err == *"proved: no rings over its routes reach more"* ]]
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

@test "GPUs by number, name, range and any spelling of a bus id" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search --gpus 0,1,2,3 --algo mesh -q -o want.json \
		"$GTOPO_SRC/share/xml/dgx-1v.xml"
	for list in 0-3 GPU0-3 gpu0-GPU3 GPU0,1-2,gpu3 \
		0,07:00.0,00000000:0A:00.0,0000:0b:00.0; do
		gtopo search --gpus "$list" --algo mesh -q -o plan.json \
			"$GTOPO_SRC/share/xml/dgx-1v.xml"
		cmp want.json plan.json
	done
	run_split gtopo search --gpus 6-9 "$GTOPO_SRC/share/xml/dgx-1v.xml"
	[ "$status" -eq 2 ]
	[[ $err == *"--gpus: '8' is no GPU of this machine"* ]]
	run_split gtopo search --gpus GPU0,NET0 "$GTOPO_SRC/share/xml/dgx-1v.xml"
	[ "$status" -eq 2 ]
	[[ $err == *"--gpus: 'NET0' is no GPU of this machine"* ]]
}

@test "an entry of --gpus that is wrong is named" {
	run_split gtopo search --gpus 0,8 "$(h100)"
	want 2 "gtopo search: --gpus: '8' is no GPU of this machine; write 0-3, \
GPU0,GPU2 or bus ids, which gtopo paths shows"
	run_split gtopo search --gpus 0,1,0 "$(h100)"
	want 2 "gtopo search: --gpus: '0' is named twice"
	run_split gtopo search --gpus 0,,1 "$(h100)"
	want 2 "gtopo search: --gpus: '': no name stands there; the list is \
empty, or has a comma too many"
	run_split gtopo search --gpus 3-0 "$(h100)"
	want 2 "gtopo search: --gpus: '3-0': a range goes up, as 0-3 does"
	run_split gtopo search --gpus '0 1' "$(h100)"
	want 2 "gtopo search: --gpus: '0 1': names have commas between and no \
blanks: 0,1,2"
	run_split gtopo search --gpus 0-99 "$(h100)"
	[[ $err == *"'8' is no GPU of this machine"* ]]
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
	run_split gtopo search -v --algo ring --max-channels 3 \
		-o "$BATS_TEST_TMPDIR/plan" "$GTOPO_SRC/share/xml/dgx-1v.xml"
	[ "$status" -eq 0 ]
	[[ $err == *"rings of 100 GB/s busbw (57.14 algbw) in 3 channels"* ]]
	[[ $err == *"proved: no 3 rings or fewer over its routes and relays reach more"* ]]
	[[ $err == *"without --max-channels at most 120 GB/s busbw"* ]]
	run_split gtopo verify "$BATS_TEST_TMPDIR/plan"
	[[ $out == *"for 3 rings or fewer over its routes and relays: optimal, proven"* ]]
	run_split gtopo search --max-channels 0 "$(h100)"
	[ "$status" -eq 2 ]
}

@test "--equal gives all channels one share, and -v how good that is" {
	cd "$BATS_TEST_TMPDIR"
	run_split gtopo search -v --algo ring --equal --max-channels 5 -o plan \
		"$GTOPO_SRC/share/xml/dgx-1v.xml"
	[ "$status" -eq 0 ]
	[[ $err == *"rings of 100 GB/s busbw (57.14 algbw) in 5 channels"* ]]
	[[ $err == *"no 5 or fewer equal channels reach more"* ]]
	run_split gtopo verify plan
	want 0 ""
	[[ $out == *"equal     no 5 equal rings or fewer reach more, proven"* ]]
	[ "$(jq '.proof.certificate.equal | length' plan)" = 5 ]
	run_split gtopo search --explain --algo ring --equal --max-channels 5 \
		"$GTOPO_SRC/share/xml/dgx-1v.xml"
	[[ $out == *"prices show of 5 equal ones or fewer that none reach more
"* ]]
	# A mesh has no rings to prove anything of.
	gtopo search --algo mesh --equal --max-channels 5 -o mesh \
		"$GTOPO_SRC/share/xml/dgx-1v.xml"
	gtopo verify mesh
	# What only trying all has shown is not in the plan.
	gtopo search --algo ring --equal --max-channels 5 --gpus 0,1,2,3 \
		-o open "$GTOPO_SRC/share/xml/mi300x.xml"
	run_split gtopo verify open
	want 0 ""
	[[ $out == *"no 5 equal rings or fewer but for 3 reach more, proven"* ]]
	run_split gtopo verify --json open
	[ "$(jq -c '.equal | [.max_channels, .open]' <<<"$out")" = "[5,1]" ]
	[ "$(jq -r '.channels[].gbs' plan | sort -u)" = 20 ]
	run_split gtopo verify plan
	want 0 ""
	run_split gtopo run --plan plan --device host --coll allreduce \
		-b 64K -e 64K
	[[ $out == *"Out of bounds values : 0 OK"* ]]
}

@test "--trees-per-root: so many at most, fewer if more do not help" {
	cd "$BATS_TEST_TMPDIR"
	while read -r k channels value; do
		gtopo search --algo forest --coll allgather --gpus 0,1,2,3 \
			--trees-per-root "$k" -o plan \
			"$GTOPO_SRC/share/xml/dgx-1v.xml"
		gtopo verify plan
		[ "$(jq '.channels | length' plan)" = "$channels" ]
		[ "$(jq -r .proof.value plan)" = "$value" ]
	done <<-END
		1 4 80
		2 4 80
		3 12 96
		4 16 320/3
	END
	gtopo search --algo forest --coll allgather --gpus 0,1,2,3 \
		--max-channels 7 -o plan "$GTOPO_SRC/share/xml/dgx-1v.xml"
	[ "$(jq '.channels | length' plan)" = 4 ]
	run_split gtopo search --algo forest --coll allgather --gpus 0,1,2,3 \
		--max-channels 3 "$GTOPO_SRC/share/xml/dgx-1v.xml"
	want 1 "gtopo search: --max-channels: each of 4 GPUs needs a tree of \
its own"
	run_split gtopo search --algo ring --trees-per-root 2 "$(h100)"
	want 2 "gtopo search: --trees-per-root is for --algo forest"
	run_split gtopo search --nodes 2 --equal "$(h100)"
	want 2 "gtopo search: --equal is for one machine"
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
	[[ $err == *"128 nodes of 8 GPUs: trees of 386.646 GB/s busbw (193.5 algbw) in "* ]]
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

@test "rings through all nodes: as quickly proved for 100,000 GPUs" {
	cd "$BATS_TEST_TMPDIR"
	for nodes in 2 12500; do
		gtopo search --algo ring --nodes $nodes -o plan "$(h100)"
		run_split gtopo verify --topology "$(h100)" plan
		want 0 ""
		[[ $out == *"value     384 GB/s busbw"* ]]
		[[ $out == *"for rings over its routes: optimal, proven"*"any bound"* ]]
		[ "$(wc -c <plan)" -lt 200000 ]
	done
	# From any root and to any all that a node's cards carry goes out.
	for coll in broadcast reduce; do
		for algo in ring tree; do
			gtopo search --algo $algo --nodes 12500 --coll $coll \
				--root 54321 -o plan "$(h100)"
			run_split gtopo verify plan
			want 0 ""
			[[ $out == *"bound "*"384 GB/s busbw for any schedule: "*proven* ]]
		done
	done
	run_split gtopo search -v --algo ring --max-channels 2 --nodes 2 \
		-o plan "$(h100)"
	[[ $err == *"2 nodes of 8 GPUs: rings of 96 GB/s busbw (51.2 algbw) in 2 channels"* ]]
	gtopo verify plan
}

# rails NODES [ATTRIBUTES]: a cluster of rails, with what is above them.
rails() {
	cat <<-END
		<cluster version="1" name="rails">
		  <node file="$(h100)" nets="0,3-6,9-11" count="$1"/>
		  <fabric>
		    <level rail="each" ${2-}/>
		    ${2:+<level/>}
		  </fabric>
		</cluster>
	END
}

@test "rings keep to rails: every other node the other way, or by one rail" {
	cd "$BATS_TEST_TMPDIR"
	rails 4 >even.xml
	rails 3 >odd.xml
	rails 64 'nodes="8" oversubscription="32"' >uplinks.xml
	while read -r cluster hops value; do
		gtopo search --algo ring -o plan "$cluster.xml"
		run_split gtopo verify plan
		want 0 ""
		[[ $out == *"for rings over its routes: optimal, proven"* ]]
		[ "$(jq -r .proof.value plan)" = "$value" ]
		[ "$(jq -c '[.channels[].hops | length] | unique' plan)" = \
			"[$hops]" ]
	done <<-END
		even 16 384
		odd 8 384
		uplinks 16 100
	END
	[ "$(jq '.proof.certificate.prices | has("switch0.3>") or
		has(">switch0.3")' plan)" = true ]
}

# small_cluster ALGO GPUS COLL ROOT: a plan for c.xml is right, and runs.
small_cluster() {
	gtopo search --algo "$1" --gpus "$2" --coll "$3" --root "$4" -o plan \
		c.xml
	gtopo verify plan
	run_split gtopo run --plan plan --device host --coll "$3" --root "$4" \
		-b 64K -e 64K
	[ "$status" -eq 0 ]
	[[ $out == *"Out of bounds values : 0 OK"* ]]
	gtopo predict plan
}

@test "rings of small clusters run on the host, and are predicted" {
	cd "$BATS_TEST_TMPDIR"
	rails 2 >c.xml
	while read -r gpus coll root; do
		small_cluster ring "$gpus" "$coll" "$root"
		gtopo export --to dot plan | grep -q "r[0-9]* -> r"
	done <<-END
		0 allreduce 0
		0,1,2,3,4,5,6,7 allreduce 0
		0,1 allgather 0
		0,1,4 reducescatter 0
		2,1,0 broadcast 4
		0,1,2 reduce 5
	END
}

@test "NVLink between nodes: 72 GPUs of 18 trays" {
	cd "$BATS_TEST_TMPDIR"
	xml=$GTOPO_SRC/share/xml
	for coll in allreduce allgather reducescatter; do
		gtopo search --coll $coll -o plan "$xml/gb200-nvl72.xml"
		gtopo verify --topology "$xml/gb200-tray.xml" plan
		gtopo search --algo hier --coll $coll -o plan \
			"$xml/gb200-nvl72.xml"
		run_split gtopo verify --topology "$xml/gb200-tray.xml" plan
		want 0 ""
		[[ $out == *"$coll of 72 ranks over 1 channel"* ]]
		[[ $out == *" for any schedule over its routes: optimal, \
proven"* ]]
	done
	# Each GPU gets the blocks of 71 others over 18 links of 40.1 GB/s.
	[ "$(jq -r .proof.value plan)" = 259848/355 ]
	[ "$(jq -r '.cluster.ports[].id' plan)" = NVLINK/0 ]
	# GPUs have no route over their processors.
	[ "$(jq '[.proof.certificate.unused[] | contains("CPU")] | all' \
		plan)" = true ]
	run_split gtopo search --explain "$xml/gb200-nvl72.xml"
	want 0 ""
	[[ $out == *"proved: no schedule over its routes reaches more
"*"without links GPU–CPU, which no route between GPUs takes"* ]]
	[ "$(jq -r '.channels[].hops[].transport' plan | sort -u)" = peer ]
	gtopo run --plan plan --device host --coll reducescatter -b 72K \
		-e 72K | grep -q 'values : 0 OK'
	# A thinner level of switches between pairs of nodes.
	cat >thin.xml <<-END
		<cluster version="1" name="thin">
		<node file="$xml/h200-vm-4.xml" count="4"/><fabric over="nvlink">
		<level nodes="2" oversubscription="16"/><level/></fabric></cluster>
	END
	for coll in allreduce allgather; do
		gtopo search --algo hier --coll $coll -o plan thin.xml
		run_split gtopo verify plan
		want 0 ""
		gtopo run --plan plan --device host --coll $coll -b 64K \
			-e 64K | grep -q 'values : 0 OK'
	done
	# 8 GPUs' 370.8 GB/s each, a sixteenth of it upwards, for half of all.
	[ "$(jq -r .proof.value plan)" = "$(jq -r .proof.bound plan)" ]
	[ "$(jq -r .proof.value plan)" = 1854/5 ]
	run_split gtopo search --explain thin.xml
	want 0 ""
	[[ $out == *"no oversubscription of the switches above 2 nodes: "* ]]
}

@test "trees of nodes: two of them, run and predicted" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search --algo tree --nodes 12500 -o plan "$(h100)"
	run_split gtopo verify plan
	want 0 ""
	[[ $out == *"value     383.996 GB/s busbw (192 algbw)"*"for any schedule: "*"proven"* ]]
	[ "$(jq -c '[.channels[].second] | unique' plan)" = '[false,true]' ]
	[ "$(wc -c <plan)" -lt 200000 ]
	gtopo predict -b 1K -e 1K plan | awk '$8 == "tree" || $9 == "tree"'
	rails 5 >c.xml
	while read -r gpus coll root; do
		small_cluster tree "$gpus" "$coll" "$root"
		[ "$(jq '.cluster.nodes' plan)" = 5 ]
	done <<-END
		0 allreduce 0
		0,1,4 allreduce 0
		2,1,0 broadcast 7
		0,1 reduce 9
	END
	run_split gtopo search --algo tree --coll allgather --nodes 9 "$(h100)"
	want 2 "gtopo search: --coll allgather: trees of several nodes do \
allreduce, broadcast and reduce; take --algo hier"
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
	want 2 "gtopo search: --algo hier is for several nodes: a cluster file of several, or --nodes"
	run_split gtopo search --algo forest --nodes 9 "$(h100)"
	want 2 "gtopo search: --algo forest is for one machine, or up to 64 GPUs"
	for coll in broadcast reduce; do
		run_split gtopo search --algo hier --coll $coll --nodes 2 \
			"$(h100)"
		want 2 "gtopo search: --coll $coll: templates do allreduce, \
allgather and reducescatter; take --algo ring"
	done
	run_split gtopo search --algo ring --root 16 --nodes 2 --coll reduce \
		"$(h100)"
	want 2 "gtopo search: --root: there is no rank '16', only 16 of them"
	run_split gtopo search --algo ring --explain --nodes 2 "$(h100)"
	want 2 "gtopo search: --explain of several nodes is about trees, of \
allreduce, allgather and reducescatter, and about alltoall"
	cluster "<node file=\"$GTOPO_SRC/share/xml/dgx-1v.xml\" count=\"1\"/>
		<node file=\"$GTOPO_SRC/share/xml/h200-vm-4.xml\"/>
		<fabric><level/></fabric>"
	[ "$status" -eq 0 ]
	run_split gtopo search --algo hier c.xml
	want 2 "gtopo search: c.xml: 'dgx-1v' and 'h200-vm-4' are different \
machines: no GPU has the same bus id in both; templates need nodes that differ \
in links and ports alone; \
all-reduce of 2 nodes all like 'h200-vm-4' reaches at most 2.188 GB/s, \
like 'dgx-1v' 90"
	run_split gtopo search --nodes 2 c.xml
	want 2 "gtopo search: a cluster file has its own number of nodes; leave \
out --nodes"
}

@test "what cannot be done with a plan of a cluster is said" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search --nodes 12500 -o plan "$(h100)"
	run_split gtopo export --to msccl plan
	want 2 "gtopo export: plan: there are 100000 ranks; at most 1024 are \
written one by one"
}

@test "an invariant plan adds up in the order of ranks" {
	cd "$BATS_TEST_TMPDIR"
	for coll in allreduce reducescatter reduce; do
		gtopo search -q --invariant --coll $coll -o plan "$(h100)"
		run_split gtopo verify plan
		[ "$status" -eq 0 ]
		grep -q '^sums      in the order of ranks, rounded once$' \
			<<<"$out"
		gtopo run --device host --plan plan -e 4K -f 4 -n 1 -w 0 \
			--dtype bf16
	done
	gtopo search -q --invariant --nodes 2 -o plan "$(h100)"
	gtopo verify plan
	# What is not added up is planned as ever.
	gtopo search -q --coll allgather -o want "$(h100)"
	gtopo search -q --coll allgather --invariant -o plan "$(h100)"
	diff <(grep -v '"invariant": true' plan) want
	run_split gtopo search --invariant --algo ring "$(h100)"
	want 2 "gtopo search: --algo ring cannot be --invariant: it adds up \
from rank to rank; mesh adds in the order of ranks"
	run_split gtopo search --invariant --nodes 9 "$(h100)"
	want 2 "gtopo search: --invariant is for one machine, or up to 64 GPUs"
}

# Four GPUs in a line of NVLinks, with little PCI between the ends.
line() {
	local dev ends
	echo '<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">'
	for dev in 0 1 2 3; do
		printf '<pci busid="0000:0%d:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="80" rank="%d" gdr="1">' \
			$((dev + 1)) $dev $dev
		for ends in $dev $((dev + 2)); do
			[ "$ends" -ge 1 ] && [ "$ends" -le 4 ] || continue
			printf '<nvlink target="0000:0%d:00.0" count="4" tclass="0x030200"/>' "$ends"
		done
		echo '</gpu></pci>'
	done
	echo '</cpu></system>'
}

@test "a ring on a line of NVLinks: ranks relay, proved and run" {
	cd "$BATS_TEST_TMPDIR"
	line >line.xml
	run_split gtopo search -v --algo ring -o plan line.xml
	[ "$status" -eq 0 ]
	[[ $err == *"rings of 104 GB/s busbw (69.33 algbw) in 3 channels"* ]]
	[[ $err == *"proved: no rings over its routes and relays reach more"* ]]
	run_split gtopo verify --topology line.xml plan
	[[ $out == *"for rings over its routes and relays: optimal, proven"* ]]
	for coll in allreduce allgather reducescatter broadcast reduce; do
		run_split gtopo run --plan plan --device host --coll $coll \
			-b 4K -e 64K
		[ "$status" -eq 0 ]
		[[ $out == *"Out of bounds values : 0 OK"* ]]
	done
	# One channel is limited by its narrowest hop, to a relay and from it.
	gtopo search --algo ring --max-channels 1 -o plan line.xml
	run_split gtopo verify plan
	[[ $out == *"80 GB/s busbw for 1 ring or fewer over its routes and relays: optimal, proven"* ]]
}

# Each machine that is given has one value by each shape, however devices are
# numbered.
one_value() { # MACHINE
	local copies="$BATS_TEST_TMPDIR/copies" file shape
	rm -rf "$copies"
	mkdir "$copies"
	python3 "$GTOPO_SRC/tests/diff/mutate.py" "$1" "$copies" 4
	for shape in "ring allreduce" "tree allreduce" "forest allgather" \
		"flow alltoall"; do
		for file in "$1" "$copies"/*.xml; do
			gtopo search -q --algo "${shape% *}" \
				--coll "${shape#* }" "$file" |
				sed -n 's/^ *"value": //p'
		done | sort -u >"$BATS_TEST_TMPDIR/values"
		[ "$(wc -l <"$BATS_TEST_TMPDIR/values")" -eq 1 ] || {
			echo "$1, $shape:"
			cat "$BATS_TEST_TMPDIR/values"
			return 1
		}
	done
}

@test "values do not depend on how devices are numbered" {
	cd "$BATS_TEST_TMPDIR"
	line >line.xml
	one_value line.xml
	for machine in dgx-1v pcie-8gpu dgx-h100; do
		one_value "$GTOPO_SRC/share/xml/$machine.xml"
	done
}

@test "values of real machines do not depend on numbers either" {
	[ -n "${GTOPO_TEST_TOPOLOGIES:-}" ] || skip "GTOPO_TEST_TOPOLOGIES is unset"
	for machine in 8p_rome 8p_90a 8p_ts1; do
		one_value "$GTOPO_TEST_TOPOLOGIES/rccl-topo_$machine.xml"
	done
}
