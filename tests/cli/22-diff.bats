# gtopo diff: what it tells, of two servers and of many, and its ways to fail.

load common

xml=$GTOPO_SRC/share/xml

setup() {
	cd "$BATS_TEST_TMPDIR"
	sed 's/name="dgx-h100"/name="copy"/' "$xml/dgx-h100.xml" >a.xml
	cp a.xml b.xml
	sed '/0000:18:00.0/s/link_width="16"/link_width="8"/' a.xml >narrow.xml
}

@test "a file and itself, and a comment more: nothing" {
	sed '1i <!-- another -->' a.xml >c.xml
	run_split gtopo diff a.xml c.xml
	want 0 ""
	[ -z "$out" ]
}

@test "one narrow link: one line, its place and what it costs" {
	grep -q 'link_width="8"' narrow.xml
	run_split gtopo diff a.xml narrow.xml
	want 1 ""
	[[ $out == 'narrow.xml:10:7: NIC 0000:18:00.0: link of 8 lanes instead of 16; all-reduce bound inside unchanged, between 16 such nodes 381 GB/s, not 406.4' ]]
}

@test "what a fault costs a job of several nodes" {
	run_split gtopo diff --nodes 16 a.xml narrow.xml
	want 1 ""
	[[ $out == *'; all-reduce bound inside unchanged, between 16 such nodes 381 GB/s, not 406.4' ]]
	# The same as the search says that nothing exceeds on 16 such nodes.
	for i in {1..16}; do cp narrow.xml node$i.xml; done
	gtopo fuse -o cluster.xml node?.xml node??.xml
	gtopo search -o plan.json cluster.xml
	gtopo verify plan.json | grep -F '381 GB/s busbw for any schedule'
	# As many nodes as there are files, or 16.
	run_split gtopo diff a.xml b.xml node?.xml node??.xml
	[[ $out == *', between 18 such nodes '* ]]
	run_split gtopo diff a.xml b.xml node?.xml
	[[ $out == *', between 16 such nodes '* ]]
	run_split gtopo diff --nodes 1 a.xml narrow.xml
	[ "$status" -eq 2 ]
}

@test "what costs most is told first" {
	# A driver costs nothing, a narrow link of a port some, a GPU most.
	sed '0,/link_speed="32.0 GT\/s PCIe" link_width="16"/s//link_speed="16.0 GT\/s PCIe" link_width="16"/' \
		"$xml/dgx-h100.xml" >last.xml
	python3 - <<-'END'
		import xml.etree.ElementTree as tree
		file = tree.parse("last.xml")
		root = file.getroot()
		gone = [(p, c) for p in root.iter() for c in p
		        if c.find("gpu") is not None][-1]
		gone[0].remove(gone[1])
		nic = [e for e in root.iter("pci") if e.find("nic") is not None][4]
		nic.set("link_width", "8")
		file.write("last.xml")
	END
	run_split gtopo diff --json --expect "$xml/dgx-h100.xml" last.xml
	[ "$status" -eq 1 ]
	[ "$(jq -c '.groups[1].findings | [.[0].rule, (map(.gpus) | .[0] < .[1]),
		(map(.between_bound_gbs)[1:] | . == sort), length > 2]' \
		<<<"$out")" = '["missing",true,true,true]' ]
	run_split gtopo diff --expect "$xml/dgx-h100.xml" last.xml
	[[ ${out%%$'\n'*} == *'; 7 GPUs, not 8; '* ]]
}

@test "all together has a subject, and a job without a network is not asked for" {
	sed '/0000:1b:00.0/s/link_width="16"/link_width="8"/' narrow.xml >two.xml
	run_split gtopo diff a.xml two.xml
	[[ $out == *$'\ntwo.xml: all 2 together; all-reduce bound inside '* ]]
	sed 's/link_width="16"/link_width="8"/' "$xml/pcie-8gpu.xml" |
		sed '/<net /d' >bare.xml
	sed '/<net /d' "$xml/pcie-8gpu.xml" >norm.xml
	run_split gtopo diff norm.xml bare.xml
	[ "$status" -eq 1 ]
	[[ $out != *' such nodes '* ]]
}

@test "a GPU less is told with the bound of what is left" {
	command -v python3 >/dev/null || skip "no python3"
	python3 - <<-'END'
		import xml.etree.ElementTree as ET
		tree = ET.parse("a.xml")
		ups = {c: p for p in tree.iter() for c in p}
		gpu = [p for p in tree.iter("pci") if p.find("gpu") is not None][0]
		ups[gpu].remove(gpu)
		tree.write("less.xml")
	END
	run_split gtopo diff a.xml less.xml
	want 1 ""
	[ "$(wc -l <<<"$out")" -eq 1 ]
	[[ $out == *'GPU 0000:1b:00.0: is missing on switch 0000:15:00.0 (CPU 0); 7 GPUs, not 8; '* ]]
	run_split gtopo diff less.xml a.xml
	[[ $out == *'GPU 0000:1b:00.0: is extra on switch 0000:15:00.0 (CPU 0)'* ]]
}

@test "of many the most common is the norm" {
	run_split gtopo diff narrow.xml a.xml b.xml
	want 1 ""
	[[ $out == *'2 as the norm: a,b'* ]]
	[[ $out == *'1 differs: narrow'* ]]
	[[ $out == *'  narrow.xml:10:7: NIC 0000:18:00.0: link of 8'* ]]
	run_split gtopo diff a.xml b.xml a.xml
	want 0 ""
	[ -z "$out" ]
}

@test "servers that differ in the same way are one group" {
	cp narrow.xml too.xml
	run_split gtopo diff a.xml narrow.xml b.xml too.xml a.xml
	[[ $out == *'2 differ alike: narrow,too'* ]]
	[ "$(grep -c 'link of 8' <<<"$out")" -eq 1 ]
}

@test "nodes are named as a list" {
	for i in 08 09 10 12; do cp a.xml node$i.xml; done
	cp narrow.xml node11.xml
	run_split gtopo diff node*.xml
	[[ $out == *'4 as the norm: node[08-10,12]'* ]]
	[[ $out == *'1 differs: node11;'* ]]
	for i in 1 2 3; do mkdir n$i && cp a.xml n$i/topo.xml; done
	cp narrow.xml n2/topo.xml
	run_split gtopo diff n?/topo.xml
	[[ $out == *'2 as the norm: n[1,3]'* ]]
}

@test "a file that cannot be read is a group, the rest is compared" {
	head -c 500 a.xml >broken.xml
	run_split gtopo diff a.xml broken.xml b.xml narrow.xml
	want 1 ""
	[[ $out == *'2 as the norm: a,b'* ]]
	[[ $out == *$'1 cannot be read: broken\n  broken.xml:'* ]]
	[[ $out == *'1 differs: narrow'* ]]
	run_split gtopo diff broken.xml a.xml b.xml
	want 1 ""
	[[ $out == *'2 as the norm: a,b'* ]]
	run_split gtopo diff --expect ./a.xml broken.xml b.xml
	[ "$status" -eq 1 ]
	[[ $out == *'1 as expected: b'* ]]
}

@test "a fleet of which too little can be read is refused" {
	head -c 500 a.xml >broken.xml
	for files in "a.xml broken.xml" "broken.xml a.xml" \
		"broken.xml a.xml broken.xml" \
		"--expect ./broken.xml a.xml b.xml"; do
		run_split gtopo diff $files
		[ "$status" -eq 2 ] && [ -z "$out" ]
		[[ $err == *'broken.xml:'* ]]
	done
}

@test "a file that cannot be read is a finding in JSON" {
	command -v jq >/dev/null || skip "no jq"
	head -c 500 a.xml >broken.xml
	gtopo diff --json a.xml broken.xml b.xml >out.json || true
	run jq -r '.groups[] | select(.findings[0].kind == "unreadable") |
		.files[0], (.findings[0].text | startswith("broken.xml:"))' out.json
	[ "$output" = 'broken.xml
true' ]
}

@test "--expect a reference machine by name or file" {
	export GTOPO_XML=$xml
	run_split gtopo diff --expect dgx-h100 a.xml b.xml
	want 0 ""
	run_split gtopo diff --expect dgx-h100 narrow.xml
	[ "$status" -eq 1 ]
	run_split gtopo diff --expect ./narrow.xml a.xml
	[[ $out == *'link of 16 lanes instead of 8'* ]]
	run_split gtopo diff --expect nowhere a.xml
	[ "$status" -eq 2 ]
	[[ $err == "gtopo diff: 'nowhere' is no reference machine in "* ]]
}

@test "what is ignored may differ" {
	run_split gtopo diff --ignore width,driver a.xml narrow.xml
	want 0 ""
	run_split gtopo diff --ignore speed a.xml narrow.xml
	[ "$status" -eq 1 ]
	run_split gtopo diff --ignore colour a.xml narrow.xml
	[ "$status" -eq 2 ]
	[[ $err == "gtopo diff: --ignore 'colour' is none of model, "* ]]
}

@test "what one file does not know is no difference" {
	sed -e 's/vendor="0x1000" device="0xc030"/vendor="0x0000" device="0x0000"/' \
		-e 's/arch="x86_64" .*modelid="143"//' a.xml >vague.xml
	run_split gtopo diff a.xml vague.xml
	want 0 ""
}

@test "JSON has groups, findings and exact bounds" {
	command -v jq >/dev/null || skip "no jq"
	gtopo diff --json a.xml b.xml narrow.xml >out.json || true
	run jq -r '.norm, (.groups | length), (.groups[0].files | join(" ")),
		(.groups[1].findings[0] | .kind, .device, .where),
		(.groups[1].norm_bound == .groups[1].bound),
		.nodes, .groups[1].gpus, .groups[1].between_bound_gbs' out.json
	[ "$output" = 'a.xml
2
a.xml b.xml
width
NIC 0000:18:00.0
narrow.xml:10:7
true
16
8
381' ]
}

@test "one file is nothing to compare" {
	run_split gtopo diff a.xml
	want 2 "gtopo diff: nothing to compare 'a.xml' with; name another file or '--expect'"
	run_split gtopo diff a.xml nowhere.xml
	want 2 "gtopo diff: nowhere.xml: cannot open: No such file or directory"
	run_split gtopo diff a.xml /dev/null
	[ "$status" -eq 2 ]
}

@test "real topologies are compared, whatever they are" {
	need_topologies
	for file in "$GTOPO_TEST_TOPOLOGIES"/*.xml \
		"$GTOPO_TEST_TOPOLOGIES"/quirks/*.xml; do
		run_split timeout 20 "$GTOPO" diff "$file" "$file"
		[ "$status" -eq 0 ] && [ -z "$out$err" ] || [ "$status" -eq 2 ]
		run_split timeout 20 "$GTOPO" diff a.xml "$file"
		[ "$status" -eq 1 ] || [ "$status" -eq 2 ]
	done
}

@test "what detect tells beside the wiring: one line a fault" {
	local from='' to='' says='' name=''
	cp "$GTOPO_SRC/tests/cases/detect/dgx-2socket/expect.xml" d.xml
	while IFS='|' read -r name from to says; do
		sed "s/$from/$to/" d.xml >other.xml
		run_split gtopo diff d.xml other.xml
		want 1 ""
		[[ $out == other.xml:*": $says; all-reduce bound "* ]] || {
			echo "$out"
			return 1
		}
		[ "$(wc -l <<<"$out")" -eq 1 ]
		run_split gtopo diff --ignore "$name" d.xml other.xml
		want 0 ""
	done <<-'END'
		firmware|28.39.1002|28.39.1|NIC 0000:18:00.0: firmware 28.39.1 instead of 28.39.1002
		firmware|rank="1" gdr="1" gt_name="NVIDIA H100 80GB HBM3" gt_firmware="96|rank="1" gdr="1" gt_name="NVIDIA H100 80GB HBM3" gt_firmware="95|GPU 0000:9d:00.0: firmware 95.00.74.00.01 instead of 96.00.74.00.01
		driver-version|0000:29:00.0\(.*\) 23.10-1.1.9|0000:29:00.0\1 23.10|NIC 0000:29:00.0: driver version 23.10 instead of 23.10-1.1.9
		state|gt_netdev="ens1f0" gt_state="active"|gt_netdev="ens1f0" gt_state="init"|port mlx5_2: state init instead of active
		layer|gt_state="active" gt_layer="ib"|gt_state="active" gt_layer="eth"|port mlx5_0: link layer eth instead of ib
		acs|0000:9d:00.0\(.*\)acs="0x0000"|0000:9d:00.0\1acs="0x001d"|GPU 0000:9d:00.0: redirection of peers by the port above (ACS): on instead of off
		p2p|gt_p2p="rwa x"|gt_p2p="rw- x"|GPU 0000:9d:00.0: access to most peers: rw- instead of rwa
		mig,p2p|gt_mig="0" gt_p2p="rwa x"|gt_mig="1" gt_p2p="--- x"|GPU 0000:9d:00.0: MIG mode on instead of off
		visible|gt_mig="0" gt_p2p="rwa x"|gt_hidden="CUDA_VISIBLE_DEVICES" gt_mig="0" gt_p2p="rwa x"|GPU 0000:9d:00.0: visible to programs: no instead of yes
		iommu|iommu="translating"|iommu="off"|server: IOMMU off instead of translating
		gdr|rank="1" gdr="1"|rank="1" gdr="0"|GPU 0000:9d:00.0: GPUDirect RDMA off instead of on
		gdr|guid="0xa088c20300549000" gdr="1"|guid="0xa088c20300549000" gdr="0"|port mlx5_1: GPUDirect RDMA off instead of on
		gdr|peermem="nvidia_peermem" dmabuf="1"|dmabuf="0"/;s/ gdr="1"/|server: GPUDirect RDMA off instead of on
	END
}

# A ring of GPUs below one switch, each with a link of its own to the next.
ring() { # GPUS
	echo '<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
	echo '<pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">'
	for ((i = 0; i < $1; i++)); do
		printf '<pci busid="0000:02:%02x.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="90" rank="%d">' $i $i $i
		for to in $(((i + 1) % $1)) $(((i + $1 - 1) % $1)); do
			printf '<nvlink target="0000:02:%02x.0" count="1" tclass="0x030200"/>' $to
		done
		echo '</gpu></pci>'
	done
	echo '</pci></cpu></system>'
}

@test "many GPUs that are alike take no time" {
	for n in 64 128; do
		ring $n >norm.xml
		ring $((n + 1)) >more.xml
		sed '0,/0000:02:07.0" class="0x030200" link_speed="16.0 GT\/s PCIe" link_width="16"/s//0000:02:07.0" class="0x030200" link_speed="16.0 GT\/s PCIe" link_width="8"/' norm.xml >narrow.xml
		run_split bash -c "ulimit -t 2; exec '$GTOPO' diff norm.xml more.xml"
		want 1 ""
		[ "$(grep -c "is extra on switch\|0 NVLinks to GPU" <<<"$out")" -eq 2 ]
		[ "$(wc -l <<<"$out")" -eq 3 ]
		run_split bash -c "ulimit -t 2; exec '$GTOPO' diff norm.xml narrow.xml"
		want 1 ""
		[ "$(wc -l <<<"$out")" -eq 1 ]
		[[ $out == *'GPU 0000:02:07.0: link of 8 lanes instead of 16'* ]]
	done
}

@test "a GPU that is gone is told where its switch stays, under other bus ids" {
	command -v python3 >/dev/null || skip "no python3"
	python3 - "$GTOPO_SRC/tests/diff" <<-'END'
		import random, sys
		import xml.etree.ElementTree as ET
		sys.path.insert(0, sys.argv[1])
		from mutate import rename
		tree = ET.parse("a.xml")
		ups = {c: p for p in tree.iter() for c in p}
		gpus = [p for p in tree.iter("pci") if p.find("gpu") is not None]
		switch = ups[gpus[3]]
		switch[:] = []
		rename(tree.getroot(), random.Random(7))
		tree.write("less.xml")
	END
	run_split gtopo diff a.xml less.xml
	want 1 ""
	[[ $out == *'GPU '*': is missing on switch '* ]]
	[[ $out != *'is on switch'* ]]
}

@test "a link to a GPU that is lost is no fault of its own" {
	sed '/busid="0000:0b:00.0"/,/<\/pci>/d' "$xml/dgx-1v.xml" >less.xml
	grep -q 'target="0000:0b:00.0"' less.xml
	run_split gtopo diff "$xml/dgx-1v.xml" less.xml
	want 1 ""
	[ "$(wc -l <<<"$out")" -eq 1 ]
	[[ $out == *'GPU 0000:0b:00.0: is missing on switch '* ]]
}

@test "links to a processor are not counted with those to switches" {
	sed '0,/<nvlink[^>]*count="18"/s/count="18"/count="17"/' \
		"$xml/gb200-tray.xml" >less.xml
	run_split gtopo diff "$xml/gb200-tray.xml" less.xml
	want 1 ""
	[[ $out == *': 17 NVLinks to switches instead of 18;'* ]]
}

@test "names of files that are no UTF-8 are JSON all the same" {
	command -v jq >/dev/null || skip "no jq"
	cp narrow.xml $'\xff\xc3.xml'
	gtopo diff --json a.xml $'\xff\xc3.xml' >out.json || true
	run jq -r '.groups[1].files[0]' out.json
	[ "$output" = $'\ufffd\ufffd.xml' ]
}

@test "losses, groups and places are coloured as --color says" {
	run_split gtopo diff a.xml narrow.xml
	[[ $out != *$'\e'* ]]
	run_split gtopo diff --color always a.xml narrow.xml
	want 1 ""
	[[ $out == $'\e[1mnarrow.xml:10:7\e[0m: NIC'*\
$' such nodes \e[1;31m381 GB/s, not 406.4\e[0m' ]]
	run_split gtopo diff --color always narrow.xml a.xml b.xml
	[[ $out == $'\e[32m2 as the norm\e[0m: \e[1ma,b\e[0m\n'*\
$'\e[1;31m1 differs\e[0m: \e[1mnarrow\e[0m'* ]]
	run_split gtopo diff --color always --json a.xml narrow.xml
	[[ $out != *$'\e'* ]]
}

@test "names of files do not control the terminal" {
	local evil=$'n\e[31m\nb.xml'
	cp narrow.xml "$evil"
	run_split gtopo diff a.xml "$evil"
	want 1 ""
	[[ $out == 'n\x1b[31m\x0ab.xml:10:7: NIC '* ]]
	run_split gtopo diff a.xml b.xml "$evil"
	[[ $out == *'1 differs: n\x1b[31m\x0ab'* && $out != *$'\e'* ]]
	echo '<' >"$evil"
	run_split gtopo diff a.xml b.xml "$evil"
	[[ $out == *'1 cannot be read: n\x1b[31m\x0ab'* && $out != *$'\e'* ]]
}

@test "a cluster that cannot be read differs, the rest is compared" {
	gtopo fuse -o one.xml a.xml b.xml
	cp a.xml d.xml
	gtopo fuse -o more.xml a.xml b.xml d.xml
	head -c 60 more.xml >broken.xml
	echo '<cluster><x/></cluster>' >wrong.xml
	run_split gtopo diff one.xml broken.xml more.xml a.xml wrong.xml
	want 1 ""
	[[ $out == 'broken.xml: cannot be read: broken.xml:'* ]]
	[[ $out == *$'\nmore.xml: '* ]]
	[[ $out == *$'\na.xml: cannot be read: a.xml: is a server'* ]]
	[[ $out == *$'\nwrong.xml: cannot be read: wrong.xml:'* ]]
	run_split gtopo diff one.xml broken.xml one.xml
	want 1 ""
	for files in "one.xml broken.xml" "one.xml broken.xml wrong.xml" \
		"broken.xml one.xml more.xml"; do
		run_split gtopo diff $files
		[ "$status" -eq 2 ] && [ -z "$out" ]
		[[ $err == *'broken.xml:'* ]]
	done
	run gtopo diff --json one.xml broken.xml more.xml
	[[ $output == *'"text": "broken.xml: cannot be read: broken.xml:'* ]]
}

@test "a cluster's name does not control the terminal, and is coloured" {
	local evil=$'c\e[31m.xml'
	gtopo fuse -o c.xml a.xml b.xml
	cp a.xml d.xml
	gtopo fuse -o "$evil" a.xml b.xml d.xml
	run_split gtopo diff c.xml "$evil"
	want 1 ""
	[[ $out == 'c\x1b[31m.xml: '* && $out != *$'\e'* ]]
	run_split gtopo diff --color always c.xml "$evil"
	[[ $out == $'\e[1mc\\x1b[31m.xml\e[0m: '* ]]
}

@test "JSON is as its schema says" {
	head -c 500 a.xml >broken.xml
	sed '0,/<nvlink [^>]*>/s///' "$xml/dgx-1v.xml" >linked.xml
	gtopo diff --json a.xml b.xml >same.json
	gtopo diff --json a.xml b.xml narrow.xml broken.xml >differ.json || true
	gtopo diff --json "$xml/dgx-1v.xml" linked.xml >links.json || true
	gtopo diff --json --expect "$xml/pcie-8gpu.xml" a.xml >other.json || true
	follows diff-1 same.json differ.json links.json other.json
	grep -q '"rule": "unreadable"' differ.json
	grep -q '"rule": "nvlink"' links.json
}

@test "different kinds of machines: a line says so, and the rest is on request" {
	xml=$GTOPO_SRC/share/xml
	run_split gtopo diff "$xml/dgx-1v.xml" "$xml/dgx-h100.xml"
	[ "$status" -eq 1 ]
	[[ $(head -1 <<<"$out") == "$xml/dgx-h100.xml: a different kind of machine: 8 GPUs of 0x10de:0x2330 where the norm has 8 GPUs of 0x10de:0x1db1; "*" differences, of which 6 follow ('gtopo diff --all' tells all)" ]]
	[ "$(wc -l <<<"$out")" -eq 8 ]
	n=$(sed -n '1s/.*; \([0-9]*\) differences.*/\1/p' <<<"$out")
	run_split gtopo diff --all "$xml/dgx-1v.xml" "$xml/dgx-h100.xml"
	[ "$(wc -l <<<"$out")" -eq "$((n + 1))" ]
	[ "$(gtopo diff --json "$xml/dgx-1v.xml" "$xml/dgx-h100.xml" |
		grep -c '"rule"')" -eq "$n" ]
}

@test "a machine of the same kind is told all its faults, however many" {
	sed '/<net /!s/link_width="16"/link_width="8"/; s/speed="400000"/speed="200000"/
		s/count="5"/count="4"/' a.xml >sick.xml
	run_split gtopo diff a.xml sick.xml
	[ "$status" -eq 1 ]
	[[ $out != *"different kind"* ]]
	[ "$(wc -l <<<"$out")" -gt 17 ]
	gtopo diff --all a.xml sick.xml | diff - <(echo "$out")
}
