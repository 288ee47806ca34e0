# gtopo search: the proof in words, failures, and running out of time.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "--explain names what limits, and what would raise it" {
	run_split gtopo search --algo ring --explain "$xml/pcie-8gpu.xml"
	want 0 ""
	[[ $out == *"8 GPUs: 16 GB/s busbw (9.143 algbw) in 1 channel"* ]]
	[[ $out == *"proved: no rings over its routes and relays reach more
  since every ring has to cross CPU/"*", which is full then"* ]]
	[[ $out == *"this link is full:"*"CPU0–CPU1, 16 GB/s each way"* ]]
	[[ $out == *"a second link CPU0–CPU1: 1.5x, 24 GB/s busbw"* ]]
}

@test "what --explain promises is what a machine with it gets" {
	sed 's/gt_gbs="[^"]*"//' "$xml/dgx-1v.xml" >one.xml
	run_split gtopo search --algo ring --explain one.xml
	want 0 ""
	[[ $out == *"no second link at one place alone"* ]]
	[[ $out == *"beside each of them: 2x, 240 GB/s busbw"* ]]
	# Twice as many NVLinks everywhere.
	sed -E 's/(<nvlink [^>]*count=")1"/\1TWO"/; s/count="2"/count="4"/
		s/TWO/2/' one.xml >two.xml
	gtopo search --algo ring two.xml | grep -q '"value": "240"'
}

@test "--explain of several nodes: links, ports, uplinks" {
	run_split gtopo search --nodes 2 --coll allgather --explain \
		"$xml/dgx-h100.xml"
	want 0 ""
	[[ $out == "allgather of 2 nodes of 8 GPUs: 418.8 GB/s busbw (446.7 algbw)"* ]]
	[[ $out == *"each GPU has to get the blocks of the other 15 GPUs over 418.8 GB/s"* ]]
	[[ $out == *"beside each full GPU–NVS: 1.72x, 720 GB/s busbw"* ]]
	# One port of 10 GB/s a node, whose way to the GPU is wider.
	sed 's/speed="400000"/speed="80000"/' "$xml/dgx-h100.xml" >slow.xml
	cat >slow4.xml <<-END
		<cluster version="1" name="c"><node file="slow.xml" nets="3,0" count="4"/>
		<fabric><level/></fabric></cluster>
	END
	run_split gtopo search --coll allgather --explain slow4.xml
	want 0 ""
	[[ $out == *"allgather of 4 nodes of 8 GPUs: 25.8333 GB/s busbw (26.67 algbw)"* ]]
	[[ $out == *"each node has to get the blocks of the other 24 GPUs over 20 GB/s"* ]]
	[[ $out == *"a second port beside each: 2x, 51.6667 GB/s busbw"* ]]
	[[ $out == *"a second port on rail 1, beside NET0: 1.5x, 38.75 GB/s busbw"* ]]
	cat >thin.xml <<-END
		<cluster version="1" name="c">
		<node file="$xml/dgx-h100.xml" nets="0,3-6,9-11" count="64"/><fabric>
		<level nodes="8" rail="each" oversubscription="32"/><level/></fabric>
		</cluster>
	END
	run_split gtopo search --explain thin.xml
	want 0 ""
	[[ $out == *"uplinks of the switches above 8 nodes, one a rail, 12.5 GB/s each way"* ]]
	[[ $out == *"no oversubscription of the switches above 8 nodes: 3.41x, 389.333 GB/s busbw"* ]]
	sed 's/oversubscription="32"//' thin.xml >wide.xml
	gtopo search -v -o wide.json wide.xml 2>&1 | grep -q 'trees of 389.333 GB/s busbw'
}

@test "full links of one sort and two speeds are told apart" {
	gtopo synth "2 numa: 1 switch: 2 gpu 1 nic" |
		sed '/busid="0000:0[67]:00.0"/s/link_width="16"/link_width="8"/' \
			>narrow.xml
	run_split gtopo search --nodes 2 --explain narrow.xml
	want 0 ""
	grep -F "1 link GPU–PCI, 48 GB/s: " <<<"$out"
	grep -F "2 links GPU–PCI, 24 GB/s: " <<<"$out"
	grep -Fx "  a second link beside each full GPU–PCI of 24 GB/s: 2x, \
48 GB/s busbw" <<<"$out"
}

@test "out of time in a cluster and a forest: a plan with its gap" {
	gtopo search --budget 1ns --nodes 2 -o plan.json "$xml/dgx-h100.xml"
	gtopo verify plan.json
	grep -q '"optimal": false' plan.json
	gtopo search --algo forest --budget 1ns -o plan.json "$xml/mi250x.xml"
	gtopo verify plan.json
	grep -q '"optimal": false' plan.json
	run_split gtopo search --max-channels 2 --nodes 2 "$xml/dgx-h100.xml"
	want 2 "gtopo search: --max-channels of several nodes is for --algo \
ring; templates need as many channels as their trees have shares"
}

@test "--explain of several nodes is about the whole search, whatever the budget" {
	gtopo search -q --budget 1ns --nodes 2 --explain "$xml/dgx-h100.xml" >brief
	gtopo search -q --nodes 2 --explain "$xml/dgx-h100.xml" | diff - brief
}

@test "--explain writes the plan to a file only" {
	run_split gtopo search --algo ring --explain -o plan.json \
		"$xml/h200-vm-4.xml"
	want 0 ""
	[[ $out == "allreduce of 4 GPUs: 370.8 GB/s busbw (247.2 algbw) in"* ]]
	gtopo verify plan.json
}

@test "a failed link is planned around" {
	gtopo search --algo ring --exclude-link GPU0-GPU3 -o plan.json \
		"$xml/dgx-1v.xml"
	gtopo verify plan.json
	! grep '"order"' plan.json | tr -d ' ' | grep -E '[[,](0,3|3,0)[],]'
	gtopo search --algo ring --exclude-link 'GPU0>GPU3' -o one.json \
		"$xml/dgx-1v.xml"
	gtopo verify one.json
}

@test "a failed device is planned around" {
	gtopo search --algo ring --exclude-device GPU3,0000:86:00.0 \
		-o plan.json "$xml/dgx-1v.xml"
	gtopo verify plan.json
	[ "$(grep -c '"rank"' plan.json)" -eq 6 ]
	! grep -q '0000:86:00.0"' plan.json
	# Without NVSwitch everything goes over PCI.
	gtopo search --algo ring --exclude-device NVS/0 -o pci.json \
		"$xml/dgx-h100.xml"
	gtopo verify pci.json
	! grep -q NVL pci.json
}

@test "what is left out is named by number, range or port" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search --algo ring -q -o want.json \
		--exclude-device GPU5,GPU6,GPU7,NET0 "$xml/dgx-1v.xml"
	gtopo search --algo ring -q -o plan.json \
		--exclude-device 5-6,gpu7,mlx5_0 "$xml/dgx-1v.xml"
	cmp want.json plan.json
	gtopo search --algo ring -q -o want.json --exclude-link GPU0-GPU3 \
		"$xml/dgx-1v.xml"
	gtopo search --algo ring -q -o plan.json --exclude-link 0-gpu3 \
		"$xml/dgx-1v.xml"
	cmp want.json plan.json
}

@test "what is not there cannot be left out" {
	run_split gtopo search --exclude-link GPU0-GPU9 "$xml/dgx-1v.xml"
	want 2 "gtopo search: $xml/dgx-1v.xml: there is no node 'GPU9'"
	run_split gtopo search --exclude-link GPU0-GPU7 "$xml/dgx-1v.xml"
	want 2 "gtopo search: $xml/dgx-1v.xml: there is no link 'GPU0-GPU7'"
	run_split gtopo search --exclude-link GPU0 "$xml/dgx-1v.xml"
	want 2 "gtopo search: $xml/dgx-1v.xml: 'GPU0' is not a link; write two nodes as in CPU0-CPU1"
	run_split gtopo search --exclude-device '' "$xml/dgx-1v.xml"
	want 2 "gtopo search: $xml/dgx-1v.xml: there is no node ''"
}

@test "out of time: the best so far, and its gap" {
	for time in 1us 100us 1ms; do
		gtopo search --algo ring --budget $time -o plan.json \
			"$xml/dgx-1v.xml"
		gtopo verify plan.json
	done
	grep -q '"bound"' plan.json
	gtopo search --algo ring --budget 1m "$xml/dgx-1v.xml" |
		grep -q '"optimal": true'
}

@test "what NVSwitches that reduce would allow, where there are some" {
	# 2 (n - 1) / (n + 1) of a GPU's NVLinks.
	run_split gtopo search --explain "$xml/dgx-h100.xml"
	[[ $out == *"NVSwitches (NVLS), which NCCL has and gtopo does not: up to \
576.8 GB/s busbw, some 481 as NCCL was measured" ]]
	run_split gtopo search --explain --gpus 0-3 "$xml/dgx-h100.xml"
	[[ $out == *"up to 444.96 GB/s busbw, some 371 "* ]]
	run_split gtopo search --explain "$xml/gb200-nvl72.xml"
	[[ $out == *"up to 1404.05 GB/s busbw, some 1057 "* ]]
	# Two GPUs gain nothing, all-gather neither, nor what is older or not joined.
	run_split gtopo search --explain --gpus 0-1 "$xml/dgx-h100.xml"
	[[ $out != *NVLS* ]]
	run_split gtopo search --explain --coll allgather "$xml/dgx-h100.xml"
	[[ $out != *NVLS* ]]
	run_split gtopo search --explain "$xml/dgx-a100.xml"
	[[ $out != *NVLS* ]]
	run_split gtopo search --explain "$xml/2x-dgx-h100.xml"
	[[ $out != *NVLS* ]]
}
