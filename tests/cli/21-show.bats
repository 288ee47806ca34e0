# gtopo show: the tree, its encodings, what it marks.

load common

xml=$GTOPO_SRC/share/xml
cases=$GTOPO_SRC/tests/cases/show

# shown FILE NAME: the tree is the one in tests/cases/show, but for the title.
shown() {
	run_split gtopo show "$1"
	want 0 ""
	sed "s|$GTOPO_SRC/||g" <<<"$out" | diff "$cases/$2.txt" -
}

@test "the tree of a DGX H100" {
	shown "$xml/dgx-h100.xml" dgx-h100
}

@test "the tree of a DGX-1V, with direct NVLinks" {
	shown "$xml/dgx-1v.xml" dgx-1v
}

@test "what is odd about a machine is marked" {
	shown "$cases/sick.xml" sick
}

@test "ASCII where the locale is not UTF-8" {
	LC_ALL=C gtopo show "$cases/sick.xml" >"$BATS_TEST_TMPDIR/c"
	run grep -P '[^\x20-\x7e]' "$BATS_TEST_TMPDIR/c"
	[ "$status" -eq 1 ]
	grep -F '|  `- GPU3 0000:13:00.0' "$BATS_TEST_TMPDIR/c"
}

@test "colours on a terminal only, and not with NO_COLOR" {
	script -qec true /dev/null >/dev/null 2>&1 || skip "no terminal to be had"
	esc=$(printf '\033')
	export TERM=xterm
	run script -qec "$GTOPO show $xml/dgx-h100.xml" /dev/null
	[[ $output == *"$esc[32mGPU0 0000:1b:00.0$esc[0m"* ]]
	NO_COLOR=1 run script -qec "$GTOPO show $xml/dgx-h100.xml" /dev/null
	[[ $output == *GPU0* && $output != *"$esc["* ]]
	TERM=dumb run script -qec "$GTOPO show $xml/dgx-h100.xml" /dev/null
	[[ $output == *GPU0* && $output != *"$esc["* ]]
	run gtopo show "$xml/dgx-h100.xml"
	[[ $output != *"$esc["* ]]
}

@test "rates as gtopo paths has them" {
	run_split gtopo show --rates nccl "$xml/dgx-h100.xml"
	[[ $out == *"NVSwitch "*"370.8 GB/s  GPU0-7, 18 x 20.6 each"* ]]
	[[ $out == *"gen5 x16  48.0 GB/s"* ]]
}

@test "reads standard input, refuses what is no topology" {
	gtopo show - <"$xml/pcie-8gpu.xml" >"$BATS_TEST_TMPDIR/a"
	gtopo show -o "$BATS_TEST_TMPDIR/b" "$xml/pcie-8gpu.xml"
	diff <(tail -n +2 "$BATS_TEST_TMPDIR/a") \
		<(tail -n +2 "$BATS_TEST_TMPDIR/b")
	run_split gtopo show "$GTOPO_SRC/README.md"
	[ "$status" -eq 2 ]
	[ -z "$out" ]
}

@test "real machines are shown, each GPU and port once" {
	need_topologies
	for file in "$GTOPO_TEST_TOPOLOGIES"/*.xml; do
		gtopo show "$file" >"$BATS_TEST_TMPDIR/t"
		read -r gpus nets < <(sed -nE '1s/.*: ([0-9]+) GPUs?, ([0-9]+) network.*/\1 \2/p' \
			"$BATS_TEST_TMPDIR/t")
		[ "$(grep -cE '─ GPU[0-9]+ ' "$BATS_TEST_TMPDIR/t")" -eq "$gpus" ]
		[ "$(grep -oE ' NET[0-9]+(#[0-9]+)?[ ,]' "$BATS_TEST_TMPDIR/t" |
			wc -l)" -eq "$nets" ]
	done
}

# What Graphviz and its libraries leave behind is not ours to free.
# The text of a picture, a word a line; skips where none can be drawn.
picture() { # FILE
	export LSAN_OPTIONS=suppressions=$BATS_TEST_DIRNAME/leaks.supp:print_suppressions=0
	run_split gtopo show --svg "$1"
	[[ $err != *Graphviz* ]] || skip "$err"
	want 0 ""
	sed -n 's/.*<text [^>]*>\(.*\)<\/text>.*/\1/p' <<<"$out"
}

@test "SVG has every device, and the rates of its links" {
	picture "$xml/dgx-h100.xml" >"$BATS_TEST_TMPDIR/words"
	for i in 0 1 2 3 4 5 6 7; do
		grep -q "^GPU$i 0000:" "$BATS_TEST_TMPDIR/words"
	done
	[ "$(grep -c '^NET.* 50.0 GB/s$' "$BATS_TEST_TMPDIR/words")" -eq 12 ]
	[ "$(grep -cx '450.0' "$BATS_TEST_TMPDIR/words")" -eq 8 ]
	[ "$(grep -cx 'gen5 x16 63.0' "$BATS_TEST_TMPDIR/words")" -eq 26 ]
}

@test "pictures mark what is down-trained or assumed" {
	picture "$cases/sick.xml" >"$BATS_TEST_TMPDIR/words"
	grep -x 'runs at gen3 x16' "$BATS_TEST_TMPDIR/words"
	grep -x '1 xGMI, 46.0 GB/s' "$BATS_TEST_TMPDIR/words"
	grep -x '2 C2C links, 100.0 GB/s' "$BATS_TEST_TMPDIR/words"
	grep -x 'x16 15.8?' "$BATS_TEST_TMPDIR/words"
}

@test "xGMI is called so where the file has no vendors" {
	sed -E '/<gpu /!s/ vendor="0x[^"]*"//' "$xml/mi250x.xml" \
		>"$BATS_TEST_TMPDIR/amd.xml"
	gtopo show "$BATS_TEST_TMPDIR/amd.xml" >"$BATS_TEST_TMPDIR/tree"
	grep -q xGMI "$BATS_TEST_TMPDIR/tree"
	! grep -q NVLink "$BATS_TEST_TMPDIR/tree"
	gtopo paths --matrix "$BATS_TEST_TMPDIR/amd.xml" |
		grep -q 'XGMI *xGMI'
	gtopo paths --from GPU0 --to GPU1 "$BATS_TEST_TMPDIR/amd.xml" |
		grep -q 'one way: xGMI$'
}

@test "PNG is one, and no file is left by a failure" {
	picture "$xml/dgx-1v.xml" >/dev/null
	export LSAN_OPTIONS=suppressions=$BATS_TEST_DIRNAME/leaks.supp:print_suppressions=0
	gtopo show --png -o "$BATS_TEST_TMPDIR/p.png" "$xml/dgx-1v.xml"
	[ "$(head -c 4 "$BATS_TEST_TMPDIR/p.png" | tail -c 3)" = PNG ]
	run_split gtopo show --png --svg -o "$BATS_TEST_TMPDIR/q" \
		"$xml/dgx-1v.xml"
	want 2 "gtopo show: only one of --dot, --svg, --png and --json at a time"
	[ ! -e "$BATS_TEST_TMPDIR/q" ]
}

@test "--dot writes text that names boxes, whatever the file says" {
	run_split gtopo show --dot "$cases/sick.xml"
	want 0 ""
	[ "${out:0:18}" = "digraph topology {" ]
	[ "$(grep -c 'subgraph cluster_' <<<"$out")" -eq 2 ]
	sed 's/gt_name="[^"]*"/gt_name="a\\\&quot;]; evil \&lt;b\&gt;"/' \
		"$cases/sick.xml" >"$BATS_TEST_TMPDIR/evil.xml"
	run_split gtopo show --dot "$BATS_TEST_TMPDIR/evil.xml"
	[[ $out == *'a\\\"]; evil <b>"'* ]]
}

@test "a plan's channels are lanes of arrows, a hop each" {
	gtopo search --algo ring -o "$BATS_TEST_TMPDIR/plan" "$xml/dgx-1v.xml"
	run_split gtopo show --dot --plan "$BATS_TEST_TMPDIR/plan" \
		"$xml/dgx-1v.xml"
	want 0 ""
	channels=$(grep -c '"shape": "ring"' "$BATS_TEST_TMPDIR/plan")
	[ "$(grep -c 'dir=forward' <<<"$out")" -eq $((8 * channels)) ]
	[[ $out == *'label="channel 0\nring\n40 GB/s"'* ]]
}

@test "a plan needs a picture, and a machine that has its GPUs" {
	gtopo search --algo ring -o "$BATS_TEST_TMPDIR/plan" "$xml/dgx-1v.xml"
	run_split gtopo show --plan "$BATS_TEST_TMPDIR/plan" "$xml/dgx-1v.xml"
	want 2 "gtopo show: --plan needs --dot, --svg or --png"
	run_split gtopo show --dot --plan "$BATS_TEST_TMPDIR/plan" \
		"$xml/dgx-h100.xml"
	want 2 "gtopo show: $BATS_TEST_TMPDIR/plan: the GPU '0000:06:00.0' of rank 0 is not in '$xml/dgx-h100.xml'"
	run_split gtopo show --dot --plan "$xml/dgx-1v.xml" "$xml/dgx-1v.xml"
	[ "$status" -eq 2 ]
	[ -z "$out" ]
}

@test "what detect tells beside the wiring is shown" {
	cases=$GTOPO_SRC/tests/cases/detect
	run_split gtopo show "$cases/dgx-2socket/expect.xml"
	want 0 ""
	[[ $out == *$'\nIOMMU translating, CUDA 12.4, NVSwitches visible, '* ]]
	[[ $out == *'NET0 mlx5_0 50.0 GB/s, firmware 28.39.1002, rail 0?'* ]]
	[[ $out == *'! down-trained: runs at gen5 x8, 31.5 GB/s; mlx5_1 is down'* ]]
	run_split gtopo show "$cases/container/expect.xml"
	[[ $out == *$'\ncontainer (docker), IOMMU passthrough\n'* ]]
	[[ $out == *'! cut into instances (MIG), hidden by CUDA_VISIBLE_DEVICES'* ]]
	[[ $out == *'! NVLinks down: 2'* ]]
	run_split gtopo show "$cases/bond/expect.xml"
	[[ $out == *'NIC 0000:31:00.0'*'no port'* ]]
}

@test "switches that are joined by a link of their own" {
	sed 's#<pci busid="0000:87:00.0".*>#&<pcilink target="0000:82:00.0"/>#' \
		"$GTOPO_SRC/share/xml/dgx-1v.xml" >"$BATS_TEST_TMPDIR/joined.xml"
	run_split gtopo show "$BATS_TEST_TMPDIR/joined.xml"
	want 0 ""
	[ "$(grep -c 'switch 0000:87:00.0 .*, joined to 0000:82:00.0$' \
		<<<"$out")" -eq 1 ]
	run_split gtopo show --dot "$BATS_TEST_TMPDIR/joined.xml"
	want 0 ""
	[ "$(grep -c 'style=dotted' <<<"$out")" -eq 1 ]
}

@test "cards that are alike are one box of a picture" {
	local node='<pci busid="0000:XX:00.0" class="0x020000" vendor="0x1d0f"'
	node+=' device="0xefa1" link_speed="16.0 GT/s PCIe" link_width="8">'
	node+='<nic><net name="rdmap" dev="XX" speed="100000" port="1"/></nic>'
	node+='</pci>'
	{
		echo '<system version="1"><cpu numaid="0" arch="x86_64">'
		for i in 10 11 12 13; do
			echo "${node//XX/$i}"
		done
		echo '</cpu></system>'
	} >"$BATS_TEST_TMPDIR/efa.xml"
	run_split gtopo show --dot "$BATS_TEST_TMPDIR/efa.xml"
	want 0 ""
	[[ $out == *'label="4 x EFA\nNET10-13\n12.5 GB/s each"'* ]]
	[ "$(grep -c 'fillcolor="#ddf4ff"' <<<"$out")" -eq 1 ]
	sed '0,/speed="100000"/s//speed="50000"/' "$BATS_TEST_TMPDIR/efa.xml" \
		>"$BATS_TEST_TMPDIR/slow.xml"
	run_split gtopo show --dot "$BATS_TEST_TMPDIR/slow.xml"
	[[ $out == *'label="3 x EFA\nNET11-13\n12.5 GB/s each"'* ]]
	[ "$(grep -c 'fillcolor="#ddf4ff"' <<<"$out")" -eq 2 ]
}

@test "what lint finds wrong with the machine is marked" {
	cd "$GTOPO_SRC/tests/cases/lint"
	run_split gtopo show gpu-of-8-lanes/input.xml
	[[ $out == *'GPU0 0000:17:00.0  gen5 x8 '*'! 8 lanes, where others of model '* ]]
	run_split gtopo show - <link-degraded/input.xml
	[[ $out == *'NIC 0000:19:00.0 '*'! link runs at x8, can do x16'* ]]
	run_split gtopo show acs-on/input.xml
	[[ $out == *'! ports of switch '* ]]
	run_split gtopo show gpu-lost/input.xml
	[[ $out == *$'\n! GPU 0000:28:00.0: does not answer, where others '* ]]
	run_split gtopo show iommu-translating/input.xml
	[[ $out == *$'\n! the IOMMU translates what goes between devices' ]]
}

@test "what lint finds wrong is marked in pictures, too" {
	cd "$GTOPO_SRC/tests/cases/lint"
	red='color="#cf222e", penwidth=2.5'
	run_split gtopo show --dot gpu-of-8-lanes/input.xml
	[ "$(grep -cF "$red" <<<"$out")" -eq 1 ]
	grep -F "$red" <<<"$out" | grep -F 'label="GPU0 0000:17:00.0\nH100'
	[[ $out == *'fontcolor="#cf222e", label="! GPU0 0000:17:00.0: 8 lanes, where others of model '* ]]
	run_split gtopo show --dot acs-on/input.xml
	grep -F "$red" <<<"$out" | grep -F 'tooltip="GPU0 0000:17:00.0: ports of switch '
	run_split gtopo show --dot gpu-lost/input.xml
	[[ $out == *'label="! GPU 0000:28:00.0: does not answer, where others '* ]]
	run_split gtopo show --dot iommu-translating/input.xml
	[[ $out == *'label="! the IOMMU translates what goes between devices\l"'* ]]
	run_split gtopo show --dot ../detect/dgx-2socket/expect.xml
	grep -F "$red" <<<"$out" |
		grep -F 'label="ConnectX-7 0000:9a:00.0\n! mlx5_1 is down"'
	# Nothing is wrong with a reference machine.
	run_split gtopo show --dot "$xml/dgx-h100.xml"
	[[ $out != *cf222e* ]]
}

@test "pictures have bus ids, and words in place of Graphviz's names" {
	run_split gtopo show --dot "$xml/dgx-1v.xml"
	[[ $out == *'label="GPU0 0000:06:00.0\nV100 SXM2 16GB"'* ]]
	[[ $out == *'tooltip="switch 0000:02:00.0 to GPU0 0000:06:00.0: gen3 x16, 15.8 GB/s"'* ]]
	[[ $out == *'graph [tooltip="NUMA 1: all that hangs on it", ]'* ]]
	[[ $out == *'label="6.0?"'* ]]
	[[ $out == *'label="dgx-1v.xml: 8 GPUs, 4 network ports, 2 NUMA nodes\l"'* ]]
	[[ $out != *"$xml"* ]]
}

@test "roots of trees are filled" {
	gtopo search --algo tree -o "$BATS_TEST_TMPDIR/plan" "$xml/dgx-1v.xml"
	run_split gtopo show --dot --plan "$BATS_TEST_TMPDIR/plan" \
		"$xml/dgx-1v.xml"
	want 0 ""
	trees=$(grep -c '"shape": "tree"' "$BATS_TEST_TMPDIR/plan")
	[ "$(grep -c ': root", shape=circle, .*fontcolor="white"' <<<"$out")" \
		-eq "$trees" ]
	[ "$(grep -c 'dir=forward' <<<"$out")" -eq $((14 * trees)) ]
}

@test "a cluster's plan is drawn into a node: equal channels once, the network beside" {
	cluster=$xml/2x-dgx-h100.xml
	gtopo search -o "$BATS_TEST_TMPDIR/plan" "$cluster"
	run_split gtopo show --dot --plan "$BATS_TEST_TMPDIR/plan" \
		"$xml/dgx-h100.xml"
	want 0 ""
	[[ $out == *'label="channels 0-15\na tree for each GPU\n'* ]]
	[[ $out == *'label="n\ne\nt\nw\no\nr\nk"'* ]]
	[ "$(grep -c '^c0_.*tooltip="to the network"' <<<"$out")" -eq 8 ]
	[ "$(grep -c '^c0_.*tooltip="from the network"' <<<"$out")" -eq 8 ]
	gtopo show --dot --plan "$BATS_TEST_TMPDIR/plan" "$cluster" |
		grep -F 'a tree for each GPU'
}

@test "--json has every node and link, as its schema says" {
	cd "$BATS_TEST_TMPDIR"
	for file in $(grep -l '^<system ' "$xml"/*.xml) \
		"$GTOPO_SRC"/tests/cases/detect/*/expect.xml; do
		n=$((n + 1))
		gtopo show --json -o "$n.json" "$file"
	done
	follows machine-1 *.json
	command -v jq >/dev/null || skip "no jq"
	gtopo show --json "$xml/dgx-1v.xml" >one
	[ "$(jq -r '.schema, .rates, (.nodes[] | select(.id == "NET/0") |
		.name, .up), (.links[] | select(.from == "GPU/0000:06:00.0" and
		.to == "GPU/0000:07:00.0") | .kind, .count, .bw_gbs)' one |
		paste -sd ' ')" = \
		"gtopo.machine/1 line mlx5_0 NIC/0000:05:00.0 NVL 1 25" ]
	# No link and no place to hang on is one that the file does not have.
	[ "$(jq '[.nodes[].id] as $ids | [(.links[] | .from, .to),
		(.nodes[].up // empty)] - $ids' one)" = "[]" ]
	run_split gtopo show --json "$xml/2x-dgx-h100.xml"
	want 2 "gtopo show: $xml/2x-dgx-h100.xml: is a cluster; --json shows \
one server, so name a node's file"
	run_split gtopo show --json --svg "$xml/dgx-1v.xml"
	want 2 "gtopo show: only one of --dot, --svg, --png and --json at a time"
}

@test "many problems do not push the figures of arcs out of the legend" {
	sed 's/<gpu /<gpu gt_mig="1" /' "$xml/dgx-1v.xml" \
		>"$BATS_TEST_TMPDIR/mig.xml"
	run_split gtopo show --dot "$BATS_TEST_TMPDIR/mig.xml"
	[ "$(grep -c 'label="! GPU[0-7] .*cut into instances' <<<"$out")" -eq 8 ]
	[[ $out == *'label="1 NVLink, 25.0 GB/s\l"'* ]]
	[[ $out == *'label="2 NVLinks, 50.0 GB/s\l"'* ]]
}

@test "show --list names the reference machines, wherever they are" {
	export GTOPO_XML=$xml
	run_split gtopo show --list
	want 0 ""
	[ "$out" = "$(cd "$xml" && ls *.xml | sed 's/\.xml$//' | LC_ALL=C sort)" ]
	mkdir "$BATS_TEST_TMPDIR/few"
	cp "$xml/dgx-2.xml" "$BATS_TEST_TMPDIR/few/mine.xml"
	GTOPO_XML=$BATS_TEST_TMPDIR/few run_split gtopo show --list
	want 0 ""
	[ "$out" = mine ]
	run_split gtopo show --list dgx-2
	want 2 "gtopo show: --list takes no FILE"
	run_split gtopo show
	want 2 "gtopo show: FILE is missing; see 'gtopo help show'"
}
