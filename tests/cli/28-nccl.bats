# gtopo nccl: what NCCL chooses on a machine, and why; what it was told.

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

# made_graph MACHINE: writes the graph file that is proposed.
made_graph() {
	gtopo search --algo ring --equal --max-channels 16 --rates nccl "$1" \
		2>/dev/null | gtopo export --to nccl-graph - \
		>"$BATS_TEST_TMPDIR/graph.xml"
}

@test "the graph file it proposes carries what it says, and fits" {
	local value
	value=$(gtopo nccl --json dgx-h100 | jq .best.graph_file_gbs)
	made_graph dgx-h100
	gtopo nccl --json --topo dgx-h100 "$BATS_TEST_TMPDIR/graph.xml" |
		jq -e ".schema == \"gtopo.nccl-graph/1\" and
			.graphs[0].gbs == $value and
			.graphs[0].fullest_part == 1 and
			(.graphs[0].orders | length) == 16"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/graph.xml" --topo dgx-h100
	[ "$status" -eq 0 ]
	grep -Fx "ring    16 channels of 23.175 GB/s, 370.8 together, over NVL" \
		<<<"$out"
	grep -F "carries 100 % of its width" <<<"$out"
}

@test "a graph file that asks for too much is told, as NCCL does not" {
	made_graph dgx-h100
	sed -i 's/23.175/24/g' "$BATS_TEST_TMPDIR/graph.xml"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/graph.xml" --topo dgx-h100
	[ "$status" -eq 0 ]
	grep -F "too much: link 'GPU/0000:1b:00.0>NVS/0' carries 103.6 %" \
		<<<"$out"
}

@test "through an Intel host bridge a graph loads PCI links by 6/5" {
	local dev
	{
		echo '<system version="1"><cpu numaid="0" arch="x86_64"
			vendor="GenuineIntel" familyid="6" modelid="143">'
		for dev in 0 1; do
			echo "<pci busid='0:$((dev + 1)):0.0' class='0x030200'
				link_speed='8.0 GT/s PCIe' link_width='16'>
				<gpu dev='$dev' sm='80' rank='$dev'/></pci>"
		done
		echo '</cpu></system>'
	} >"$BATS_TEST_TMPDIR/intel.xml"
	graph 'pattern="4" crossnic="0" nchannels="1" speedintra="12"
		speedinter="12" typeintra="PHB" typeinter="PIX"
		samechannels="1"' \
		'<channel><gpu dev="0x0"/><gpu dev="0x1"/></channel>'
	gtopo nccl --json --topo "$BATS_TEST_TMPDIR/intel.xml" \
		"$BATS_TEST_TMPDIR/graph.xml" |
		jq -e '.graphs[0].fullest_part == 1.2'
}

@test "a graph file for another machine is refused" {
	made_graph dgx-h100
	run_split gtopo nccl "$BATS_TEST_TMPDIR/graph.xml" --topo h200-vm-4
	[ "$status" -eq 1 ]
	grep -F "has no GPU 4, which the graph on line 2 has" <<<"$err"
}

# graph ATTRIBUTES CHANNELS: a graph file of a dump's shape.
graph() {
	echo "<graphs version=\"1\"><graph id=\"0\" $1>$2</graph></graphs>" \
		>"$BATS_TEST_TMPDIR/graph.xml"
}

@test "a dump of a job on several machines has its ports" {
	graph 'pattern="4" crossnic="0" nchannels="1" speedintra="12"
		speedinter="6" latencyinter="0" typeintra="NVL" typeinter="PIX"
		samechannels="0"' '<channel><net dev="0x0"/>
		<gpu dev="0x0" rank="0"/><gpu dev="0xb" rank="1"/>
		<net dev="0x1"/></channel>'
	run_split gtopo nccl "$BATS_TEST_TMPDIR/graph.xml"
	[ "$status" -eq 0 ]
	grep -Fx "ring    1 channel of 12 GB/s, 12 together, over NVL; \
6 GB/s between machines, over PIX" <<<"$out"
	grep -Fx "         1 x  NET0 0 11 NET1" <<<"$out"
}

@test "graph files that NCCL would misread are refused, with their place" {
	local ok='pattern="4" crossnic="0" speedintra="12" speedinter="6"
 typeintra="NVL" typeinter="PIX" samechannels="0"' one
	one='<channel><gpu dev="0x0"/></channel>'
	refused() {
		run_split gtopo nccl "$BATS_TEST_TMPDIR/graph.xml"
		[ "$status" -eq 2 ]
		grep -F "$1" <<<"$err"
	}
	graph "$ok nchannels=\"2\"" "$one"
	refused "graph has 1 channel and says 2"
	graph "$ok" "$one"
	refused "graph has no nchannels"
	graph "$ok nchannels=\"65\"" "$one"
	refused "nchannels '65' is not between 0 and 64"
	graph "$ok nchannels=\"1\"" '<channel/>'
	refused "channel has no gpu"
	graph "$ok nchannels=\"1\"" \
		'<channel><gpu dev="0x0"/><gpu dev="0x0"/></channel>'
	refused "gpu '0x0' is twice in the channel"
	graph "$ok nchannels=\"1\"" '<channel><gpu dev="x"/></channel>'
	refused "dev 'x' is not a hexadecimal number"
	graph "${ok/NVL/FAR} nchannels=\"1\"" "$one"
	refused "typeintra 'FAR' is no kind of route"
	echo '<graphs version="2"/>' >"$BATS_TEST_TMPDIR/graph.xml"
	refused "version '2' of graphs is not 1"
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

@test "JSON follows its schemas" {
	local name
	cd "$BATS_TEST_TMPDIR"
	for name in dgx-1v dgx-h100 pcie-8gpu; do
		gtopo nccl --json "$name" >"$name.json"
		follows nccl-1 "$name.json"
	done
	made_graph dgx-h100
	gtopo nccl --json --topo dgx-h100 graph.xml >graph.out
	follows nccl-graph-1 graph.out
	for name in "$GTOPO_SRC"/tests/cases/nccl/*.log; do
		gtopo nccl --json "$name" >log.out
		follows nccl-log-1 log.out
	done
}

@test "GPUs whose ports are faster than what joins them are told" {
	run_split gtopo nccl pcie-8gpu
	[ "$status" -eq 0 ]
	grep -F "apart   NCCL takes GPU4 for another machine's" <<<"$out"
	grep -F "set     NCCL_NET_DISABLE_INTRA=1" <<<"$out"
	grep -F "set     NCCL_P2P_LEVEL=SYS  16 of 28 pairs" <<<"$out"
}

@test "without time for the best NCCL's choice is the same" {
	run_split gtopo nccl --budget 1ns dgx-1v
	[ "$status" -eq 0 ]
	grep -Fx "rings   6 channels of 20 GB/s, 120 together, over NVL" \
		<<<"$out"
	grep "^best " <<<"$out"
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
}

@test "of a cluster what NCCL chooses inside a node of each kind" {
	run_split gtopo nccl 2x-dgx-h100
	want 0 ""
	[[ ${out%%$'\n'*} == *"2x-dgx-h100.xml: 2 nodes; what NCCL chooses \
inside one is told, not between them" ]]
	machine=$(realpath "$xml/dgx-h100.xml")
	diff <(tail -n +2 <<<"$out") <(gtopo nccl "$machine")
	diff <(gtopo nccl --json 2x-dgx-h100) \
		<(gtopo nccl --json "$xml/dgx-h100.xml")
	cat >"$BATS_TEST_TMPDIR/two.xml" <<-END
		<cluster version="1">
		  <node file="$xml/dgx-h100.xml"/>
		  <node file="$xml/dgx-a100.xml"/>
		  <fabric/>
		</cluster>
	END
	run_split gtopo nccl "$BATS_TEST_TMPDIR/two.xml"
	want 0 ""
	[ "$(grep -c ' one machine, by the rules of NCCL' <<<"$out")" -eq 2 ]
	run_split gtopo nccl --json "$BATS_TEST_TMPDIR/two.xml"
	want 2 "gtopo nccl: $BATS_TEST_TMPDIR/two.xml: has 2 kinds of nodes; \
--json tells of one machine, such as '$xml/dgx-h100.xml'"
}

@test "logs of jobs are as their cases say" {
	local log
	cd "$GTOPO_SRC/tests/cases/nccl"
	for log in *.log; do
		gtopo nccl "$log" >"$BATS_TEST_TMPDIR/out"
		diff "${log%.log}.expect" "$BATS_TEST_TMPDIR/out"
	done
}

@test "a log as JSON" {
	gtopo nccl --json "$GTOPO_SRC/tests/cases/nccl/no-gpudirect.log" |
		jq -e '.schema == "gtopo.nccl-log/1" and .ranks == 4 and
			.machines == 2 and (.slow | map(.what)) == ["gdr"] and
			(.communicators | length) == 1 and
			(.communicators[0] | .name == null and .ranks == 4 and
			.ranks_heard == 4 and .machines == 2 and
			.rings == [[0,1,2,3],[0,3,2,1]] and
			.connections[1] == {"by": "NET/IB", "count": 2})'
}

# said TEXT...: a log of these lines, as rank 0 writes them.
said() {
	local line
	for line; do
		echo "node:1:2 [0] NCCL INFO $line"
	done >"$BATS_TEST_TMPDIR/job.log"
}

@test "a log with fewer rings than the machine gets is told" {
	said "NCCL_MAX_NCHANNELS set by environment to 2." \
		"comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0" \
		"Channel 00/02 : 0 1 2 3 4 5 6 7" \
		"Channel 01/02 : 0 1 2 3 4 5 6 7"
	run_split gtopo nccl --topo dgx-a100 "$BATS_TEST_TMPDIR/job.log"
	[ "$status" -eq 0 ]
	grep -Fx "slow    the job has 2 rings; on this machine NCCL would \
choose 12 or more" <<<"$out"
	grep -Fx "do      leave out NCCL_MAX_NCHANNELS" <<<"$out"
}

@test "rings in another order than the machine gets are told" {
	local name="comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0"
	said "$name" "Channel 00/02 : 0 1 2 3 4 5 6 7" \
		"Channel 01/02 : 0 2 1 3 4 5 6 7"
	gtopo nccl --json --topo dgx-h100 "$BATS_TEST_TMPDIR/job.log" \
		>"$BATS_TEST_TMPDIR/json"
	jq -e '.slow | map(.what) == ["channels", "orders"] and (.[1].text |
		startswith("1 of 2 rings are in another order") and
		endswith("such as 0 2 1 3 4 5 6 7 where it would choose " +
			"0 1 2 3 4 5 6 7"))' "$BATS_TEST_TMPDIR/json"
	follows nccl-log-1 "$BATS_TEST_TMPDIR/json"
	# What NCCL would choose there, each ring begun elsewhere.
	gtopo nccl --json dgx-1v | jq -r '.rings.orders[] | .[3:] + .[:3] |
		join(" ")' | sort >"$BATS_TEST_TMPDIR/rings"
	mapfile -t rings <"$BATS_TEST_TMPDIR/rings"
	rings=("${rings[@]/#/Channel 00/06 : }")
	for i in "${!rings[@]}"; do
		rings[i]=${rings[i]/00/0$i}
	done
	said "$name" "${rings[@]}"
	gtopo nccl --json --topo dgx-1v "$BATS_TEST_TMPDIR/job.log" |
		jq -e '.slow == [] and (.communicators[0].rings | length) == 6'
	# Ranks count GPUs, whose numbers may have a gap.
	sed 's/<gpu dev="7"/<gpu dev="9"/' "$GTOPO_SRC/share/xml/dgx-1v.xml" \
		>"$BATS_TEST_TMPDIR/gap.xml"
	grep -q '<gpu dev="9"' "$BATS_TEST_TMPDIR/gap.xml"
	gtopo nccl --json --topo "$BATS_TEST_TMPDIR/gap.xml" \
		"$BATS_TEST_TMPDIR/job.log" | jq -e '.slow == []'
	# Backwards it is another ring.
	said "$name" "Channel 00/01 : 7 6 5 4 3 2 1 0"
	gtopo nccl --topo dgx-h100 "$BATS_TEST_TMPDIR/job.log" |
		grep -F "1 of 1 rings are in another order"
}

@test "variables limit at the values at which NCCL heeds them" {
	local setting
	for setting in NCCL_P2P_DISABLE=1 NCCL_P2P_DISABLE=0x1 \
		NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=-1 NCCL_PXN_DISABLE=2 \
		NCCL_P2P_LEVEL={LOC,NVL,NVB,C2C,PIX,0,1,01} \
		NCCL_NET_GDR_LEVEL={LOC,PIX,0,1} NCCL_NET={Socket,socket,SOCKET} \
		NCCL_NVLS_ENABLE={0,0x0} NCCL_NET_GDR_READ=0 \
		NCCL_MAX_NCHANNELS={0,2,63} NCCL_MAX_CTAS={1,8} \
		NCCL_BUFFSIZE={1048576,0x100000} NCCL_ALGO=Ring NCCL_PROTO=^LL; do
		said "${setting/=/ set by environment to }."
		gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
			jq -e --arg set "$setting " '.slow | length == 1 and
				(.[0].text | startswith($set))' ||
			{ echo "$setting" && return 1; }
	done
	for setting in NCCL_P2P_DISABLE={0,2} NCCL_SHM_DISABLE={0,2} \
		NCCL_IB_DISABLE=0 NCCL_PXN_DISABLE=0 \
		NCCL_P2P_LEVEL={PXB,PHB,SYS,2,3,4,5,99,pix,nvl,NET} \
		NCCL_NET_GDR_LEVEL={PXB,P2C,PHB,SYS,2,3,loc} \
		NCCL_NET={IB,Sockets} NCCL_NVLS_ENABLE={1,2} \
		NCCL_NET_GDR_READ={1,-2} NCCL_MAX_NCHANNELS={64,128} \
		NCCL_MAX_CTAS={0,-1,64} NCCL_BUFFSIZE={0,-2,4194304,8388608}; do
		said "${setting/=/ set by environment to }."
		gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
			jq -e '.slow == []' || { echo "$setting" && return 1; }
	done
}

@test "rings of communicators without a name are told apart by their size" {
	said "Channel 00/01 : 0 1" "Channel 00/02 : 0 1 2 3" \
		"Channel 00/01 : 0 2" "Channel 01/02 : 0 3 2 1" \
		"Channel 01/02 : 3 2 1 0"
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
		jq -e '[.communicators[].rings] ==
			[[[0,1,2,3],[0,3,2,1]], [[0,1]]]'
}

# one_rank HOST TID LINE...: lines of one thread, added to a log.
one_rank() {
	local host=$1 tid=$2 line
	shift 2
	for line; do
		echo "$host:7:$tid [0] NCCL INFO $line"
	done >>"$BATS_TEST_TMPDIR/job.log"
}

@test "what goes between machines is not told of a communicator in one" {
	local host rank
	: >"$BATS_TEST_TMPDIR/job.log"
	for rank in 0 1; do
		host=node$rank
		one_rank $host 8 "comm 0x1 rank $rank nRanks 2 nNodes 2 \
localRanks 1 localRank 0 MNNVL 0" \
			"Channel 00/0 : $rank[0] -> $((1 - rank))[0] [send] \
via NET/IB/0/GDRDMA"
		one_rank $host 9 "comm 0x2 rank 0 nRanks 2 nNodes 1 \
localRanks 2 localRank 0 MNNVL 0" \
			"comm 0x3 rank 1 nRanks 2 nNodes 1 localRanks 2 \
localRank 1 MNNVL 0" "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
	done
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
		jq -e '.slow == [] and ([.communicators[] | [.machines,
			.ranks_heard, .connections[0].by]] | sort) ==
			[[1,2,"P2P/CUMEM"],[1,2,"P2P/CUMEM"],
			[2,2,"NET/IB/GDRDMA"]]'
}

# made ADDRESS RANK ID: a rank of two has made a communicator, in its process.
made() {
	local comm="ncclCommInitRank comm $1 rank $2 nranks 2 cudaDev $2 \
nvmlDev $2 busId 1000 commId $3"
	one_rank "node$2" 8 "$comm - Init START" \
		"comm $1 rank $2 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0" \
		"Channel 00/0 : $2[0] -> $((1 - $2))[0] [send] via NET/IB/0" \
		"$comm - Init COMPLETE"
}

# ended ADDRESS RANK WORD
ended() {
	one_rank "node$2" 7 \
		"comm $1 rank $2 nranks 2 cudaDev $2 busId 1000 - $3 COMPLETE"
}

# comms: what is told of each communicator: heard ranks and connections.
comms() {
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" | jq -c \
		'[.communicators[] | [.ranks_heard, .connections[0].count]]'
}

@test "communicators whose ranks one host logged all are on one machine" {
	local rank comm
	: >"$BATS_TEST_TMPDIR/job.log"
	for comm in 1 2; do
		for rank in 0 1; do
			one_rank node0 $comm$rank \
				"comm 0x$comm$rank rank $rank nranks 2 cudaDev $rank busId $rank commId 0x$comm - Init COMPLETE"
		done
	done
	machines() {
		gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
			jq -c '[.communicators[] | [.ranks_heard, .machines]]'
	}
	[ "$(machines)" = '[[2,1],[2,1]]' ]
	# Of which a rank is silent, it may be elsewhere.
	sed -i '/0x21 rank 1/d' "$BATS_TEST_TMPDIR/job.log"
	[ "$(machines)" = '[[2,1],[1,0]]' ]
}

@test "a communicator that ends twice is one" {
	local rank
	: >"$BATS_TEST_TMPDIR/job.log"
	for rank in 0 1; do
		made 0x1 $rank 0xaa
		ended 0x1 $rank Abort
		ended 0x1 $rank Destroy
		ended 0x1 $rank Destroy
	done
	[ "$(comms)" = "[[2,2]]" ]
}

@test "a communicator that is made again is another one" {
	local rank
	: >"$BATS_TEST_TMPDIR/job.log"
	for rank in 0 1; do # one id, as NCCL_COMM_ID gives, and one address
		made 0x1 $rank 0xaa
		ended 0x1 $rank Destroy
		made 0x1 $rank 0xaa
		made 0x2 $rank 0xaa
		ended 0x2 $rank Abort
		ended 0x1 $rank Destroy
	done
	[ "$(comms)" = "[[2,2],[2,2],[2,2]]" ]
	: >"$BATS_TEST_TMPDIR/job.log"
	for rank in 0 1; do # no end is logged
		made 0x1 $rank 0xaa
		made 0x1 $rank 0xbb
	done
	[ "$(comms)" = "[[2,2],[2,2]]" ]
}

@test "lines that are in a log twice make no other communicator" {
	: >"$BATS_TEST_TMPDIR/job.log"
	made 0x1 0 0xaa
	made 0x1 1 0xaa
	sed -i p "$BATS_TEST_TMPDIR/job.log"
	[ "$(comms)" = "[[2,4]]" ]
}

@test "logs of old versions name communicators when they are complete" {
	said "Channel 00/02 : 0 1 2 3" "Channel 01/02 : 0 1 2 3" \
		"Channel 00 : 0[1000] -> 1[2000] via P2P/IPC" \
		"comm 0x1 rank 0 nranks 4 cudaDev 0 busId 1000 - Init COMPLETE"
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
		jq -e '.communicators | length == 1 and .[0].ranks == 4 and
			(.[0].rings | length) == 2 and
			.[0].connections[0].count == 1'
}

@test "connections that NCCL makes later are of nobody where two may be" {
	: >"$BATS_TEST_TMPDIR/job.log"
	one_rank a 1 "comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 \
localRank 0 MNNVL 0"
	one_rank a 2 "Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA"
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
		jq -e '[.communicators[].ranks] == [2]'
	one_rank a 1 "comm 0x2 rank 0 nRanks 2 nNodes 1 localRanks 2 \
localRank 0 MNNVL 0"
	one_rank a 2 "Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA"
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
		jq -e '[.communicators[].ranks] == [2,2,0] and .slow == []'
	run_split gtopo nccl "$BATS_TEST_TMPDIR/job.log"
	grep -Fx "comm    of some of these, NCCL does not log which" <<<"$out"
}

@test "a log of more communicators than there is room for is told as far" {
	local i
	for i in {1..1100}; do
		echo "n:1:$i [0] NCCL INFO comm 0x$i rank 0 nranks 2 cudaDev 0 \
commId 0x$i - Init START"
		echo "n:1:$i [0] NCCL INFO Channel 00/01 : 0 1"
	done >"$BATS_TEST_TMPDIR/job.log"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/job.log"
	[ "$status" -eq 0 ]
	grep -F ", 1024 of 1100 communicators of up to 2 ranks" <<<"$out"
	grep -F "comm    1024 times 2 ranks: 0x1, ..." <<<"$out"
	grep -Fx "more    76 further communicators left out" <<<"$out"
	[ "$(grep -c "^more " <<<"$out")" -eq 1 ]
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" >"$BATS_TEST_TMPDIR/json"
	jq -e '.communicators_left_out == 76 and .lines_left_out == 0 and
		(.communicators | length) == 1024' "$BATS_TEST_TMPDIR/json"
	follows nccl-log-1 "$BATS_TEST_TMPDIR/json"
}

@test "warnings beyond what is told are counted" {
	local i
	for i in {1..20}; do
		echo "n:1:2 [0] NCCL WARN bad thing $i"
	done >"$BATS_TEST_TMPDIR/job.log"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/job.log"
	want 0 ""
	grep -Fx "more    4 further lines left out" <<<"$out"
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" >"$BATS_TEST_TMPDIR/json"
	jq -e '.communicators_left_out == 0 and .lines_left_out == 4 and
		(.warnings | length) == 16' "$BATS_TEST_TMPDIR/json"
	follows nccl-log-1 "$BATS_TEST_TMPDIR/json"
}

@test "lines that are cut or made up do no harm" {
	said "Channel" "Channel 00/" "Channel 00/08 :" "Channel 99/08 : 0 1" \
		"Channel 00/99 : 0 1" "Channel 00/08 : 0 1 x" \
		"Channel 00/0 : 1[" "Channel 00/0 : 1[0] -> " \
		"Channel 00/0 : 1[0] -> 2[1] via " "Pattern 4, crossNic" \
		"comm 0x0 rank 0 nRanks 99999999999999 nNodes" \
		" set by environment to " "Channel 00/1 : 4294967295 7" \
		"comm 0x1 rank 3 nRanks 2 nNodes 1" "comm 0x rank 0 nranks 2" \
		"comm 0xffffffffffffffffffffff rank 0 nranks 1" \
		"comm 0x1 rank 0 nranks 2 parent 0x commId 0x - Init START" \
		"comm 0x1 rank 0 nranks 2 parent 0x5 x 99999999999 color -9"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/job.log"
	[ "$status" -eq 0 ]
	head -c 100000 "$GTOPO" | tr -d '<N' >"$BATS_TEST_TMPDIR/noise"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/noise"
	[ "$status" -eq 2 ]
	: >"$BATS_TEST_TMPDIR/empty"
	run_split gtopo nccl "$BATS_TEST_TMPDIR/empty"
	want 2 "gtopo nccl: $BATS_TEST_TMPDIR/empty: is neither XML nor a log \
of NCCL; NCCL_DEBUG=INFO has a job write one"
}

@test "what is no one log is told how to be one" {
	cd "$BATS_TEST_TMPDIR"
	cp "$GTOPO_SRC/tests/cases/nccl/no-gpudirect.log" a.log
	run_split gtopo nccl a.log a.log
	want 2 "gtopo nccl: 'a.log' is one operand too many; 'cat *.log | \
gtopo nccl -' reads the logs of all processes of a job"
	gzip -k a.log
	run_split gtopo nccl a.log.gz
	want 2 "gtopo nccl: a.log.gz: is compressed; 'zcat a.log.gz | gtopo \
nccl -' reads it"
	gtopo search --algo ring -o plan.json "$GTOPO_SRC/share/xml/dgx-1v.xml"
	run_split gtopo nccl plan.json
	want 2 "gtopo nccl: plan.json: is JSON, neither a topology nor a log \
of NCCL; of a plan 'gtopo show --plan' tells"
}

@test "a log's hosts are the machines of its only communicator" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s:1:1 [0] NCCL INFO comm %s rank %d nranks %d %s COMPLETE\n' \
		a 0x1 0 2 'cudaDev 0 busId 1000 commId 0x7 - Init' \
		b 0x1 1 2 'cudaDev 0 busId 1000 commId 0x7 - Init' >job.log
	gtopo nccl --json job.log | jq -e '.machines == 2 and
		[.communicators[].machines] == [2]'
	# Of two nobody knows which host is in which.
	printf '%s:1:1 [0] NCCL INFO comm %s rank %d nranks %d %s COMPLETE\n' \
		c 0x2 0 1 'cudaDev 0 busId 1000 commId 0x8 - Init' >>job.log
	gtopo nccl --json job.log | jq -e '.machines == 3 and
		[.communicators[].machines] == [0, 0]'
}

@test "a log with a terminal's ends of lines is the same log" {
	local log=$GTOPO_SRC/tests/cases/nccl/no-gpudirect.log
	sed 's/$/\r/' "$log" >"$BATS_TEST_TMPDIR/job.log"
	diff <(gtopo nccl --json "$log" | jq 'del(.file)') \
		<(gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
			jq 'del(.file)')
}

@test "bandwidths in a log that are no numbers are passed over" {
	said "Pattern 4, crossNic 0, nChannels 2, bw inf/24.0, type NVL/PIX" \
		"Pattern 4, crossNic 0, nChannels 2, bw 24.0/nan, type NVL/PIX" \
		"Pattern 4, crossNic 0, nChannels 2, bw 24.0/12.0, type NVL/PIX"
	gtopo nccl --json "$BATS_TEST_TMPDIR/job.log" |
		jq -e '[.communicators[].graphs[].channel_gbs] == [24]'
}

@test "a machine has no machine" {
	run_split gtopo nccl --topo dgx-a100 dgx-h100
	[ "$status" -eq 2 ]
	grep -F "is a machine itself" <<<"$err"
}

@test "a command that is proposed quotes the file's name" {
	cd "$BATS_TEST_TMPDIR"
	for name in "it's; a \$x.xml" -o.xml plain.xml; do
		cp "$xml/dgx-h100.xml" "./$name"
		gtopo nccl -- "$name" >out
		words=$(sed -n "s/.*--rates nccl \\(.*\\) | gtopo export.*/\\1/p" out)
		eval "set -- $words"
		[ "$#" -eq 1 ]
		[ -e "$1" ]
		[[ $1 != -* ]]
	done
	[ "$words" = plain.xml ]
}

@test "reasons that the budget leaves no time for are left out" {
	run_split gtopo nccl --budget 1ns "$xml/dgx-h100.xml"
	[ "$status" -eq 0 ]
	grep -Fx "why     the budget was spent before all reasons were looked for" \
		<<<"$out"
	[ "$(grep -c '^why ' <<<"$out")" -eq 1 ]
	gtopo nccl --json --budget 1ns "$xml/dgx-h100.xml" |
		jq -e '.without_rule_gbs == {}'
}
