# gtopo search where nodes or switches are not all alike.

load common

setup() {
	cases=$GTOPO_SRC/tests/cases/cluster/uneven
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "each uneven cluster is planned, proved and run, as its file says" {
	for expect in "$cases"/*.expect; do
		name=$(basename "$expect" .expect)
		: >said
		for coll in $(sed -n 's/^correct *\([a-z]*\) .*/\1/p' "$expect"); do
			gtopo search --coll "$coll" -o plan "$cases/$name.xml"
			gtopo verify plan |
				grep -E '^(correct|value|bound|any bound)' >>said
			gtopo run --plan plan --device host --coll "$coll" \
				-b 64K -e 64K | grep -q "values : 0 OK"
			gtopo predict -b 1M -e 1M plan >predicted
		done
		diff "$expect" said
	done
}

@test "ranks and links of several nodes have the nodes' names" {
	gtopo search --coll allgather -o plan "$cases/cables.xml"
	[ "$(jq -r '.ranks[4] | .node + " " + .device' plan)" = \
		"b $(jq -r '.ranks[0].device' plan)" ]
	jq -r '.links[].id' plan | grep -qx 'a:NET/0>left'
	jq -r '.links[].id' plan | grep -qx 'left>right'
	jq -r '.channels[].hops[] | [(.from - .from % 4) == (.to - .to % 4),
		.transport] | @text' plan | sort -u >hops
	diff - hops <<-'END'
		[false,"verbs"]
		[true,"peer"]
	END
}

@test "-v says what an uneven cluster loses" {
	run_split gtopo search -v --coll allreduce "$cases/card-missing.xml"
	[ "$status" -eq 0 ]
	[[ $err == *"16 GPUs: trees of 412.8 GB/s busbw (220.2 algbw) in "* ]]
	[[ $err == *"no schedule over its routes reaches more than 418.8 GB/s busbw (1.45% more)"* ]]
}

@test "some GPUs of each node, rings alone, and a time limit" {
	gtopo search --gpus 1,2 --algo ring -o plan "$cases/card-missing.xml"
	gtopo verify plan | grep -q 'correct   allreduce of 4 ranks'
	gtopo search --budget 1ns --algo forest -o plan "$cases/card-missing.xml"
	gtopo verify plan | grep -q 'correct'
	run_split gtopo search --root 16 --coll reduce "$cases/card-missing.xml"
	want 2 "gtopo search: --root: there is no rank '16', only 16 of them"
}

@test "what templates do not do is planned for all GPUs at once" {
	for want in "allgather forest" "alltoall auto" "gather auto" \
		"broadcast forest"; do
		read -r coll algo <<<"$want"
		gtopo search --nodes 2 --algo "$algo" --coll "$coll" -o plan \
			"$xml/h200-vm-4.xml"
		gtopo verify plan | grep -q "correct   $coll of 8 ranks"
		[ "$(jq -r '.ranks[4].node' plan)" = node-1 ]
		gtopo run --plan plan --device host --coll "$coll" -b 64K \
			-e 64K | grep -q "values : 0 OK"
	done
}

# What verify says of a collective's plan for a file, but for its gap.
verdict() { # COLLECTIVE FILE
	gtopo search --coll "$1" -o plan "$2"
	gtopo verify plan | sed -n 's/^bound *\(.*\):.*proven$/\1/p'
}

@test "each card of a DGX Spark carries, and a mixed cluster all its ports" {
	# Two PCIe links of four lanes are 24 GB/s, whatever the cables carry.
	local any="for any schedule over the links it lists"
	for n in 2 3 4; do
		for coll in allgather reducescatter allreduce broadcast; do
			[ "$(verdict $coll "$xml/${n}x-dgx-spark.xml")" = \
				"24 GB/s busbw $any" ]
			gtopo verify --json plan | jq -e \
				'.busbw_gbs > 23.99' >/dev/null
			gtopo run --plan plan --device host --coll $coll \
				-b 64K -e 64K | grep -q "values : 0 OK"
		done
	done
	# To name all GPUs is to name none.
	gtopo search --gpus 0 --coll allgather -o plan "$xml/2x-dgx-spark.xml"
	gtopo verify --json plan | jq -e '.busbw_gbs > 23.99' >/dev/null
	# Nodes of A100 have 192 GB/s, over which 24 of 32 blocks come.
	[ "$(verdict allgather "$xml/mixed-h100-a100.xml")" = \
		"248 GB/s busbw for any schedule over its routes" ]
	gtopo verify --json plan | jq -e '.busbw_gbs == 248' >/dev/null
}

@test "where a pair has no route, no link is left out of what bounds any plan" {
	# Rings over one card's links each are no bound for what both carry.
	for coll in allgather reducescatter allreduce broadcast; do
		gtopo search --algo ring --coll $coll -o plan \
			"$xml/4x-dgx-spark.xml"
		gtopo verify plan >said
		grep -q "^value *12 GB/s busbw" said
		grep -q "^any bound 24 GB/s busbw for any schedule over the links it lists: 50% reached, proven" said
		# Eight links of each node and eight cables, each way.
		[ "$(jq '.links | length' plan)" = 80 ]
	done
	run_split gtopo search --algo ring --explain "$xml/4x-dgx-spark.xml"
	want 0 ""
	[[ $out == *"no schedule over the links it lists reaches more than 24 GB/s busbw (100% more),"*"  since over these links everything has to cross:"* ]]
}

@test "trees of nodes that are alike use all ports of a node with one GPU" {
	for n in 2 4; do
		gtopo search --nodes $n --algo tree --coll allgather -o plan \
			"$xml/dgx-spark.xml"
		gtopo verify plan | grep -q \
			"^bound *24 GB/s busbw for any schedule over the links it lists: optimal, proven"
	done
}

@test "more GPUs than are flattened: over any path of the links, with a proof" {
	sed "s|\.\./\.\./\.\./\.\./share/xml|$xml|; s/names=\"gpu1\"/count=\"9\"/" \
		"$cases/card-missing.xml" >c.xml
	for coll in allgather reducescatter allreduce broadcast reduce; do
		run_split gtopo search -v --coll $coll -o plan c.xml
		[ "$status" -eq 0 ]
		[[ $err == *"80 GPUs: trees of "* ]]
		run_split gtopo verify plan
		want 0 ""
		[[ $out == *"correct   $coll of 80 ranks"* ]]
		[[ $out == *"for any schedule over the links it lists: "*"proven"* ]]
		# Never more than 5% below what is proved.
		jq -e 'def n: split("/") | (.[0] | tonumber) /
			(.[1] // "1" | tonumber); (.proof.value | n) >=
			0.95 * (.proof.bound | n)' plan
	done
	# A cut with a link left out does not hold.
	jq '.proof.certificate.parts[0].links |= .[1:]' plan >bad
	run gtopo verify bad
	[ "$status" -eq 1 ]
}

@test "some more GPUs: rings, trees or the mesh, whatever is best for a size" {
	sed "s|\.\./\.\./\.\./\.\./share/xml|$xml|; s/names=\"gpu1\"/count=\"4\"/" \
		"$cases/card-missing.xml" >c.xml
	gtopo search --coll allgather -o plan c.xml
	gtopo verify plan | grep -q "for any schedule over the links it lists: .*proven"
	[ "$(jq -r '.channels[.select[-1].channels[0]].shape' plan)" = tree ]
	[ "$(jq -r '[.channels[].shape] | unique | @text' plan)" = \
		'["mesh","tree"]' ]
	# Rings carry all that any schedule can.
	gtopo search --coll broadcast -o plan c.xml
	gtopo verify plan |
		grep -q "for any schedule over its routes: optimal, proven"
}

@test "a GPU without a card sends over others' where its NVLinks would limit" {
	cat >sick.xml <<-END
		<cluster version="1" name="sick">
		<node file="$xml/dgx-h100.xml" nets="0,3-6,9-11" count="4"/>
		<node kind="sick" file="$xml/dgx-h100.xml" nets="0,3,-,5,6,9-11"/>
		<fabric><level rail="each"/><level/></fabric></cluster>
	END
	gtopo search --coll reducescatter -o plan sick.xml
	# All 39 blocks over its NVLinks would be 370.8 GB/s.
	gtopo verify --json plan | jq -e '.busbw_gbs > 400'
}

@test "more GPUs: with what all nodes have, and what that costs" {
	sed "s|\.\./\.\./\.\./\.\./share/xml|$xml|; s/names=\"gpu1\"/count=\"99\"/" \
		"$cases/card-missing.xml" >c.xml
	run_split gtopo search --algo hier --coll allgather -o plan c.xml
	[ "$status" -eq 0 ]
	[[ $err == *"nodes or switches are not all alike: planned with what all have, 7 ports of each node"* ]]
	# A node of 7 ports gets 99 of 100 blocks over them; with 8 it is 8/7.
	[[ $err == *"that reaches 338.97 GB/s busbw; with what any has no schedule over its routes reaches more than 387.394 GB/s busbw (14.3% more)"* ]]
	run_split gtopo verify plan
	want 0 ""
	[[ $out == *"allgather of 800 ranks"*"338.97 GB/s busbw (339.4 algbw)"*"optimal, proven"* ]]
	# A last leaf with fewer nodes: each gets its part of the uplinks.
	cat >short.xml <<-END
		<cluster version="1" name="short">
		<node file="$xml/dgx-h100.xml" nets="0,3-6,9-11" count="9"/><fabric>
		<level nodes="2" rail="each" oversubscription="4"/><level/></fabric>
		</cluster>
	END
	run_split gtopo search --algo hier --coll allgather -o plan short.xml
	[ "$status" -eq 0 ]
	[ "$(jq -c '[.cluster.levels[] | [.nodes, .uplink_gbs]]' plan)" = \
		'[[1,"25/2"],[9,null]]' ]
	gtopo verify plan |
		grep -q 'any schedule with what all nodes have: optimal, proven'
	# Small ones can be had both ways, and run.
	gtopo search -q --algo hier --coll allgather --gpus 1,2 -o plan \
		"$cases/card-missing.xml"
	gtopo run --plan plan --device host --coll allgather -b 64K -e 64K |
		grep -q "values : 0 OK"
}

# sick FILE: a cluster of 150 servers, one of which is as FILE.
sick() {
	cat <<-END
		<cluster version="1">
		  <node file="good.xml" nets="0,3-6,9-11" count="149"/>
		  <node file="$1" nets="0,3-6,9-11" names="gpu117"/>
		  <fabric><level/></fabric>
		</cluster>
	END
}

# The plan's links are no wider than in any of the machines.
fits() {
	python3 - "$@" <<-'END'
		import json, sys
		from fractions import Fraction
		plan, *machines = map(json.load, map(open, sys.argv[1:]))
		for machine in machines:
		    wide = {(link["from"], link["to"]): link["gbs"]
		            for link in machine["links"]}
		    for link in plan["links"]:
		        ends = tuple(link["id"].split(">"))
		        assert Fraction(link["gbs"]) <= Fraction(wide[ends]), link
	END
}

@test "more than 1024 GPUs: one server with narrower links stops nobody" {
	cp "$xml/dgx-h100.xml" good.xml
	sed '0,/count="5"/s//count="3"/' good.xml >nvlinks.xml
	sed '0,/speed="400000"/s//speed="100000"/' good.xml >port.xml
	for kind in nvlinks port; do
		sick $kind.xml >c.xml
		run_split gtopo search -o plan c.xml
		[ "$status" -eq 0 ]
		[[ $err == *"planned with what all have, 8 ports of each node"* ]]
		[[ $err == *"node 'gpu117' of $kind.xml: "*" ('gtopo diff good.xml $kind.xml' tells what is less)"* ]]
		[[ $err == *"with what any has no schedule over its routes reaches more than 386.255 GB/s"* ]]
		run_split gtopo verify --topology c.xml plan
		want 0 ""
		[[ $out == "correct   allreduce of 1200 ranks "*" proven"*"c.xml has these links and routes" ]]
		# What is proved is not about what only some nodes have.
		[[ $out == *"busbw for any schedule with what all nodes have: "* ]]
		run_split gtopo verify --topology good.xml plan
		[[ "$status $err" == "1 gtopo verify: plan: links["*"' has '"*"' GB/s, not '"*"'" ]]
		gtopo show --json good.xml >good.json
		gtopo show --json $kind.xml >$kind.json
		fits plan good.json $kind.json
	done
	run_split gtopo diff good.xml nvlinks.xml
	[[ "$status $out" == "1 "*"16 NVLinks to switches instead of 18"* ]]
	run_split gtopo search --algo ring -q -o plan c.xml
	want 0 ""
	run_split gtopo search --coll alltoall -q -o plan c.xml
	want 0 ""
}

@test "more than 1024 GPUs: a server that has lost one is named, and what to do" {
	cp "$xml/dgx-h100.xml" good.xml
	python3 - <<-'END'
		import re
		text = open("good.xml").read()
		gpu = re.search(r"<pci[^>]*>\s*<gpu.*?</gpu>\s*</pci>", text, re.S)
		open("lost.xml", "w").write(text[:gpu.start()] + text[gpu.end():])
	END
	sick lost.xml >c.xml
	run_split gtopo search c.xml
	want 2 "gtopo search: c.xml: node 'gpu117' has no 'GPU/0000:1b:00.0', \
which others have: take it out of the file, or let all do without by --gpus \
1,2,3,4,5,6,7; all-reduce of 150 nodes all like 'lost' reaches at most 337.9 \
GB/s, like 'good' 386.3"
	run_split gtopo search --gpus 3,0,1,2,4-6 c.xml
	[ "$status" -eq 2 ]
	[[ $err == *"node 'gpu117' has no 'GPU/0000:1b:00.0', which others \
have: take it out of the file, or let all do without by --gpus \
3,1,2,4,5,6; "* ]]
	run_split gtopo search --gpus 1,2,3,4,5,6,7 -o plan c.xml
	[ "$status" -eq 0 ]
	run_split gtopo verify --topology c.xml plan
	want 0 ""
	[[ $out == "correct   allreduce of 1050 ranks "*"c.xml has these links and routes" ]]
	grep -v gpu117 c.xml >others.xml
	run_split gtopo search -o plan others.xml
	want 0 ""
}

@test "--explain of an uneven cluster names what limits" {
	run_split gtopo search --explain "$cases/cables.xml"
	want 0 ""
	[[ $out == *"  ranks 8 9 10 11 | the rest: 1 link of 0.5 GB/s"* ]]
	[[ $out == *"this link is full:"*"left–right, 0.5 GB/s each way"* ]]
	[[ $out == *"a second link left–right: 1.75x, 1.60417 GB/s busbw"* ]]
}

@test "the GPUs that gtopo says to name can be named, however many nodes" {
	cp "$xml/dgx-h100.xml" good.xml
	python3 - <<-'END'
		import re
		text = open("good.xml").read()
		gpu = re.search(r"<pci[^>]*>\s*<gpu.*?</gpu>\s*</pci>", text, re.S)
		text = text[:gpu.start()] + text[gpu.end():]
		number = iter(range(7))
		text = re.sub(r'<gpu dev="\d" sm="90" rank="\d"',
			      lambda m: '<gpu dev="{0}" sm="90" rank="{0}"'.format(
				      next(number)), text)
		open("lost.xml", "w").write(text)
	END
	# Without the lost ones few enough are left to be searched otherwise.
	sick lost.xml | sed 's/149/139/' >c.xml
	run_split gtopo search c.xml
	[ "$status" -eq 2 ]
	gpus=$(sed -n 's/.* by --gpus \([^;]*\);.*/\1/p' <<<"$err")
	[[ $gpus == 0000:43:00.0,* ]]
	run_split gtopo search -q --budget 1ms --gpus "$gpus" -o plan c.xml
	want 0 ""
	run_split gtopo search --gpus 7 c.xml
	want 2 "gtopo search: --gpus: node 'gpu117': '7' is no GPU of this \
machine; write 0-3, GPU0,GPU2 or bus ids, which gtopo paths shows"
}

@test "a number that means several GPUs of a large cluster is refused" {
	cp "$xml/dgx-h100.xml" good.xml
	sed 's/<gpu dev="0" sm="90" rank="0"/<gpu dev="X" sm="90" rank="X"/
		s/<gpu dev="1" sm="90" rank="1"/<gpu dev="0" sm="90" rank="0"/
		s/<gpu dev="X" sm="90" rank="X"/<gpu dev="1" sm="90" rank="1"/' \
		good.xml >swapped.xml
	sick swapped.xml >c.xml
	run_split gtopo search --gpus 3,1,2,4-7 c.xml
	want 2 "gtopo search: --gpus: '1' is '0000:43:00.0' on nodes 'good-0' \
and 148 more, but '0000:1b:00.0' on node 'gpu117': name GPUs by their bus ids, \
which are the same everywhere"
	run_split gtopo search -q --gpus 0000:43:00.0,2-7 -o plan c.xml
	want 0 ""
	[ "$(jq -r '.cluster.ranks[0].device' plan)" = 0000:43:00.0 ]
}

@test "a node without GPUs is named, and what to do" {
	cp "$xml/dgx-h100.xml" good.xml
	cat >login.xml <<-END
		<system version="1"><cpu numaid="0" arch="x86_64"
		vendor="GenuineIntel" familyid="6" modelid="143">
		<pci busid="0000:01:00.0" class="0x020000"
		link_speed="16.0 GT/s PCIe" link_width="16"><nic>
		<net name="mlx5_0" dev="0" speed="100000" port="1"
		maxconn="131072" gdr="1"/></nic></pci></cpu></system>
	END
	sick login.xml | sed 's/nets="0,3-6,9-11" names/names/' >many.xml
	sed 's/149/1/' many.xml >few.xml
	for file in few many; do
		for what in "" "--coll alltoall" "--algo hier" "--algo collnet"; do
			# shellcheck disable=SC2086
			run_split gtopo search $what $file.xml
			want 2 "gtopo search: $file.xml: node 'gpu117' of \
login.xml has no GPUs, which a plan is for: take it out of the file"
		done
	done
}

@test "a cluster of one node is planned as that machine" {
	cp "$xml/dgx-h100.xml" good.xml
	sick good.xml | sed 's/149/1/; /gpu117/d' >one.xml
	for coll in allreduce alltoall gather; do
		gtopo search -q --coll $coll -o machine good.xml
		run_split gtopo search -q --coll $coll -o plan one.xml
		want 0 ""
		cmp machine plan
		run_split gtopo verify --topology one.xml plan
		want 0 ""
		[[ $out == *"one.xml has these links and routes" ]]
	done
	run_split gtopo search --algo hier one.xml
	want 2 "gtopo search: --algo hier is for several nodes: a cluster \
file of several, or --nodes"
}

@test "--explain of a fleet names the sick node, wherever the file has it" {
	cp "$xml/dgx-h100.xml" good.xml
	sed '0,/speed="400000"/s//speed="100000"/' good.xml >port.xml
	sick port.xml >last.xml
	sed '2{h;d};3G' last.xml >first.xml
	for file in first last; do
		gtopo search -q -o plan $file.xml
		run_split gtopo search -q --explain -o explained $file.xml
		want 0 ""
		cmp plan explained
		[[ $out == *"  node 'gpu117' of port.xml: port mlx5_0: link of 100000 Mb/s instead of 400000 ("*"; all-reduce of 150 nodes all like it reaches at most 35"*" GB/s, like 'good-0' 386."* ]]
		[[ $out == *"proved: no schedule with what all nodes have reaches more"* ]]
	done
	# A port that is not joined is no difference between files.
	sick good.xml | sed 's/9-11" names/9,10" names/' >c.xml
	run_split gtopo search -q --explain c.xml
	want 0 ""
	[[ $out == *"  node 'gpu117': no port NET11 on rail 7 of the network; all-reduce"* ]]
}

@test "--explain speaks of the plan that search writes, up to 1024 GPUs" {
	cp "$xml/dgx-h100.xml" good.xml
	sed '0,/speed="400000"/s//speed="100000"/' good.xml >port.xml
	for count in 5 8; do
		sick port.xml | sed "s/149/$count/" >c.xml
		gtopo search -q -o plan c.xml
		run_split gtopo search --explain -o explained c.xml
		want 0 ""
		cmp plan explained
		[[ $out == *"nodes are not all alike"*"  node 'gpu117' of port.xml: port mlx5_0"* ]]
		[[ $out == *"$(gtopo verify plan | sed -n 's/^value *\([^ ]* GB.s busbw\).*/\1/p')"* ]]
	done
}

@test "what an uneven cluster cannot be planned with is said" {
	cat >mixed.xml <<-END
		<cluster version="1">
		  <node file="$xml/dgx-a100.xml" nets="0" count="2"/>
		  <node file="$xml/h200-vm-4.xml" nets="0" names="small"/>
		  <fabric><level/></fabric>
		</cluster>
	END
	run_split gtopo search --gpus 0,6 mixed.xml
	want 2 "gtopo search: --gpus: node 'small': '6' is no GPU of this \
machine; write 0-3, GPU0,GPU2 or bus ids, which gtopo paths shows"
	sed "s|\.\./\.\./\.\./\.\./share/xml|$xml|; s/names=\"a\"/count=\"16\"/" \
		"$cases/other-node.xml" >c.xml
	run_split gtopo search --algo hier c.xml
	want 2 "gtopo search: c.xml: 'dgx-1v' and 'h200-vm-4' are different \
machines: no GPU has the same bus id in both; templates need nodes that differ \
in links and ports alone; all-reduce of 17 nodes all like 'h200-vm-4' reaches at most 1.309 GB/s, \
like 'dgx-1v' 50.62"
	# No port at all: nothing leads to the third node.
	sed "s|\.\./\.\./\.\./\.\./share/xml|$xml|; s/nets=\"-,0\"/nets=\"-\"/" \
		"$cases/one-card-left.xml" >c.xml
	run_split gtopo search c.xml
	want 1 "gtopo search: no tree joins all 12 GPUs: there are no routes for one"
}

@test "too many nodes that are not alike: what helps, whatever their GPUs" {
	cp "$xml/dgx-h100.xml" good.xml
	sed '0,/speed="400000"/s//speed="100000"/' good.xml >port.xml
	many="nodes or switches are not all alike, which is searched up to 1024 GPUs"
	sick port.xml | sed 's/<fabric>/<fabric sharp="1">/' >c.xml
	run_split gtopo search --algo collnet c.xml
	want 2 "gtopo search: c.xml: $many; name fewer with --gpus"
	sed -i 's/149/1024/' c.xml
	run_split gtopo search --algo collnet --gpus 0 c.xml
	want 2 "gtopo search: c.xml: $many; take nodes out of the file"
}

@test "a broadcast below leaves with half their uplinks is near its bound" {
	cd "$BATS_TEST_TMPDIR"
	cat >leaves.xml <<-EOF
		<cluster version="1" name="leaves">
		<node file="$GTOPO_SRC/share/xml/dgx-h100.xml" kind="whole" nets="0,3-6,9-11" count="12"/>
		<fabric><level nodes="5" oversubscription="2"/><level/></fabric>
		</cluster>
	EOF
	gtopo search -q --coll broadcast -o plan leaves.xml
	run_split gtopo verify --json plan
	[ "$status" -eq 0 ]
	python3 -c '
import json, sys
said = json.loads(sys.argv[1])
value, bound = said["busbw_gbs"], said["bound"]["busbw_gbs"]
assert bound == 384 and 0.95 * bound <= value <= bound and said["bound"]["proven"], (value, bound)' "$out"
}

@test "more than 1024 GPUs: a copy of a file is as the file, a wrong GPU is no node's" {
	cp "$xml/dgx-h100.xml" good.xml
	cp good.xml copy.xml
	sick copy.xml >c.xml
	run_split gtopo search -o plan c.xml
	[ "$status" -eq 0 ]
	[[ $err == *"node 'gpu117' of copy.xml: 'gtopo diff good.xml copy.xml' tells no difference; "* ]]
	run_split gtopo search --gpus 0,99 c.xml
	[ "$status" -eq 2 ]
	[[ $err == *"'99' is no GPU of this machine"*"which gtopo paths shows" ]]
}
