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
	[[ $err =~ 'gtopo export: '([0-9]+)' channels of '([0-9.]+)' GB/s' ]]
	n=${BASH_REMATCH[1]} speed=${BASH_REMATCH[2]}
	[ "$(grep -c '<channel>' graph.xml)" -eq "$n" ]
	[[ $err =~ ' GB/s busbw the graph file carries '([0-9.]+)' ' ]]
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

@test "slurm-topology: switches of levels, without their rails" {
	run_split gtopo export --to slurm-topology "$xml/dgx-superpod-h100.xml"
	want 0 ""
	diff - <(echo "$out") <<-'END'
	SwitchName=leaf0 Nodes=dgx[001-032]
	SwitchName=leaf1 Nodes=dgx[033-064]
	SwitchName=leaf2 Nodes=dgx[065-096]
	SwitchName=leaf3 Nodes=dgx[097-127]
	SwitchName=spine0 Switches=leaf[0-3]
	END
}

# machines NAME...: the files that a cluster file of this folder names.
machines() {
	local name
	for name; do
		cp "$xml/$name.xml" .
	done
}

@test "slurm-topology: several kinds and levels, names with an end" {
	machines dgx-h100 dgx-a100
	cat >c.xml <<-'END'
	<cluster version="1">
	  <node file="dgx-h100.xml" nets="0,3-6,9-11" names="h[1-3]"/>
	  <node file="dgx-a100.xml" nets="0-7" names="a[08-09]-ib,login"/>
	  <fabric>
	    <level nodes="2"/>
	    <level nodes="4"/>
	    <level nodes="8"/>
	    <level/>
	  </fabric>
	</cluster>
	END
	run_split gtopo export --to slurm-topology c.xml
	want 0 ""
	diff - <(echo "$out") <<-'END'
	SwitchName=leaf0 Nodes=h[1-2]
	SwitchName=leaf1 Nodes=h3,a08-ib
	SwitchName=leaf2 Nodes=a09-ib,login
	SwitchName=spine0 Switches=leaf[0-1]
	SwitchName=spine1 Switches=leaf2
	SwitchName=core0 Switches=spine[0-1]
	SwitchName=level3-0 Switches=core0
	END
}

@test "slurm-topology-yaml has NVLink domains as blocks, too" {
	gtopo export --to slurm-topology-yaml -o t.yaml "$xml/gb200-nvl72.xml"
	grep -Fx '      - switch: leaf0' t.yaml
	grep -Fx '        children: leaf0' t.yaml
	grep -A1 -Fx '    block_sizes:' t.yaml | grep -Fx '      - 18'
	grep -Fx '      - block: nvlink0' t.yaml
	python3 -c 'import yaml' 2>/dev/null || skip "no python3-yaml"
	python3 - t.yaml <<-'END'
	import sys, yaml
	tree, block = yaml.safe_load(open(sys.argv[1]))
	assert tree["cluster_default"] and not block["cluster_default"]
	assert [s["switch"] for s in tree["tree"]["switches"]] == ["leaf0", "spine0"]
	assert block["block"]["blocks"][0]["nodes"] == "gb200-tray-[0-17]"
	END
}

@test "slurm-topology where NVLink alone joins nodes" {
	machines gb200-tray
	cat >n.xml <<-'END'
	<cluster version="1">
	  <node file="gb200-tray.xml" nets="0-3" names="t[1-6]"/>
	  <fabric over="nvlink"><level nodes="4"/></fabric>
	</cluster>
	END
	run_split gtopo export --to slurm-topology n.xml
	[ "$status" -eq 0 ] || skip "$err"
	[ "$out" = "BlockName=nvlink0 Nodes=t[1-4]
BlockName=nvlink1 Nodes=t[5-6]
BlockSizes=2" ]
}

@test "k8s-labels of a machine, and of a cluster's nodes" {
	run_split gtopo export --to k8s-labels "$xml/dgx-h100.xml"
	want 0 ""
	[ "$(head -6 <<<"$out")" = "gtopo/gpus=8
gtopo/gpu-model=H100-SXM5-80GB
gtopo/gpu-sm=90
gtopo/nvlink-gbs=450
gtopo/ports=12
gtopo/numa-nodes=2" ]
	shape=$(sed -n 's/^gtopo\/shape=//p' <<<"$out")
	[[ $shape =~ ^[0-9a-f]{16}$ ]]
	run_split gtopo export --to k8s-labels "$xml/dgx-superpod-h100.xml"
	want 0 ""
	[ "$(grep -c '^kind: Node$' <<<"$out")" -eq 127 ]
	[ "$(grep -c "gtopo/shape: \"$shape\"" <<<"$out")" -eq 127 ]
	[ "$(grep -c 'network.topology.nvidia.com/leaf: "leaf3"' \
		<<<"$out")" -eq 31 ]
	run_split gtopo export --to k8s-labels "$xml/gb200-nvl72.xml"
	[[ $out == *'network.topology.nvidia.com/accelerator: "nvlink0"'* ]]
}

@test "labels have no characters that Kubernetes does not take" {
	sed 's|<gpu |<gpu gt_name=" .Gr\&#246;\&#223;e: \&quot;1\&quot; / 2 (a_b), which is far too long to be a value of a label there._" |' \
		"$xml/pcie-8gpu.xml" >odd.xml
	gtopo export --to k8s-labels odd.xml >labels
	grep -Fx 'gtopo/gpu-model=Gr-e-1-2-a_b-which-is-far-too-long-to-be-a-value-of-a-label-the' labels
	! grep -vE '^[a-z/-]+=[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$' labels
}

@test "what schedulers cannot have" {
	run_split gtopo export --to slurm-topology "$xml/dgx-h100.xml"
	[ "$status" -eq 2 ]
	[[ $err == *"is one server; Slurm's topology is of a cluster, which gtopo fuse makes of several" ]]
	machines dgx-h100
	cat >names.xml <<-'END'
	<cluster version="1">
	  <node file="dgx-h100.xml" nets="0" names="A[1-2]"/>
	  <fabric><level/></fabric>
	</cluster>
	END
	gtopo export --to slurm-topology names.xml
	run_split gtopo export --to k8s-labels names.xml
	want 2 "gtopo export: names.xml: the node 'A1' has a name that Kubernetes does not take; rename it with names="
	sed -i 's/A\[1-2\]/a b/' names.xml
	run_split gtopo export --to slurm-topology names.xml
	[ "$status" -eq 2 ]
	run_split gtopo export --to slurm-topology \
		"$GTOPO_SRC/tests/cases/cluster/good/links.xml"
	[ "$status" -eq 2 ]
	[[ $err == *"has single links between switches; Slurm's tree takes a fabric of levels" ]]
}

# map LINE...: what the virtual machine was given.
map() {
	printf '%s\n' "$@" >map.txt
}

@test "a virtual machine has the host's devices by its own bus ids" {
	cd "$BATS_TEST_TMPDIR"
	map "# two GPUs and a port" "07:00.0 0000:00:06.0" "" \
		"0000:0F:00.0 00000000:00:05.0  # spelled as others do" \
		"0000:0c:00.0 0000:00:07.0 mlx5_9" "CPU3 cpu0"
	run_split gtopo export --to vm --map map.txt \
		"$GTOPO_SRC/share/xml/dgx-a100.xml"
	want 0 ""
	printf '%s\n' "$out" >vm.xml
	gtopo show vm.xml | sed 's/ *$//' | diff - <(cat <<-'END'
	vm.xml: 2 GPUs, 1 network port, 1 NUMA node; GB/s at line rate
	├─ NUMA 0                                        x86_64 AuthenticAMD
	│  └─ switch ffff:00:00.0   gen4 x16  31.5 GB/s  PEX880xx
	│     ├─ GPU1 0000:00:06.0  gen4 x16  31.5 GB/s  A100 SXM4 80GB, sm_80, rank 1
	│     ├─ NIC 0000:00:07.0   gen4 x16  31.5 GB/s  ConnectX-6, NET0 mlx5_9 25.0 GB/s
	│     └─ GPU0 0000:00:05.0  gen4 x16  31.5 GB/s  A100 SXM4 80GB, sm_80, rank 0
	└─ NVSwitch                 NVLink   300.0 GB/s  GPU0-1, 12 x 25.0 each
	END
	)
	[ -z "$(gtopo lint vm.xml)" ]
	[[ $out != *affinity* ]]
	if command -v xmllint >/dev/null; then
		xmllint --noout --relaxng \
			"$GTOPO_SRC/share/schema/gtopo-topology.rng" vm.xml
	fi
}

@test "a virtual machine has the NVLinks among its GPUs, and one NUMA node" {
	cd "$BATS_TEST_TMPDIR"
	map "06:00.0 08:00.0" "07:00.0 07:00.0" "85:00.0 06:00.0" "CPU1 CPU0"
	gtopo export --to vm --map map.txt -o vm.xml \
		"$GTOPO_SRC/share/xml/dgx-1v.xml"
	# GPU0-GPU1 one link, GPU0-GPU4 two of them, GPU1-GPU5 is not there.
	[ "$(grep -o 'nvlink target="[^"]*" count="[0-9]*"' vm.xml | sort | uniq -c |
		sed 's/^ *//')" = '1 nvlink target="0000:06:00.0" count="2"
1 nvlink target="0000:07:00.0" count="1"
1 nvlink target="0000:08:00.0" count="1"
1 nvlink target="0000:08:00.0" count="2"' ]
	[ "$(grep -c '<cpu ' vm.xml)" -eq 1 ]
	[ "$(grep -c '<net ' vm.xml)" -eq 0 ]
	gtopo search -q -o plan.json vm.xml
	gtopo verify -q plan.json
}

@test "a map that is wrong is refused with its line" {
	cd "$BATS_TEST_TMPDIR"
	xml=$GTOPO_SRC/share/xml/dgx-1v.xml
	refused() { # WORDS
		run_split gtopo export --to vm --map map.txt "$xml"
		want 2 "gtopo export: $1"
	}
	map "06:00.0 08:00.0" "06:00.0 09:00.0"
	refused "map.txt:2: '0000:06:00.0' of the host stands in a line before"
	map "06:00.0 08:00.0" "07:00.0 08:00.0"
	refused "map.txt:2: '0000:08:00.0' of the virtual machine stands in a \
line before"
	map "06:00.0 GPU0"
	refused "map.txt:1: 'GPU0' is neither a bus id nor a NUMA node such as \
CPU0"
	map "06:00.0"
	refused "map.txt:1: '06:00.0' begins no line of two or three words: a \
device of the host, its bus id in the virtual machine, and its name there"
	map "CPU0 06:00.0"
	refused "map.txt:1: 'cpu0' is a NUMA node, or becomes one, and the other \
is a device"
	map "06:00.0 08:00.0" "99:00.0 09:00.0"
	refused "map.txt:2: the host has no '0000:99:00.0'"
	map "# nothing"
	refused "map.txt: has no GPU of the host"
	run_split gtopo export --to vm "$xml"
	want 2 "gtopo export: --to vm needs --map FILE: lines of a bus id of the \
host and one of the virtual machine"
	run_split gtopo export --to dot --map map.txt "$xml"
	want 2 "gtopo export: --map 'map.txt' is for --to vm"
}

@test "dot: no rate is made up, and slow links are not 0" {
	cd "$BATS_TEST_TMPDIR"
	xml=$GTOPO_SRC/share/xml
	gtopo search -q --algo ring -o ring.json "$xml/dgx-1v.xml"
	gtopo export --to dot ring.json | grep -q 'label="allreduce: 120 GB/s busbw"'
	# An imported plan has no proof, and so no rate.
	gtopo export --to msccl -o algo.xml ring.json
	gtopo import -q --topology "$xml/dgx-1v.xml" -o plan.json algo.xml
	gtopo export --to dot plan.json >plan.dot
	grep -q 'label="allreduce";' plan.dot
	[ "$(grep -cE '[ "]0 GB/s' plan.dot)" -eq 0 ]
	sed 's/speed="400000"/speed="100"/' "$xml/dgx-h100.xml" >slow.xml
	cat >cluster.xml <<-END
		<cluster version="1"><node file="slow.xml" nets="0,3" count="4"/>
		<fabric><level/></fabric></cluster>
	END
	gtopo show --dot cluster.xml >cluster.dot
	grep -q 'tooltip="0.0125 GB/s each way", label="0.0125"' cluster.dot
	run_split gtopo show slow.xml
	[[ $out == *"NET0 mlx5_0 0.0125 GB/s"* ]]
}
