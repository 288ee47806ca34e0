# Machines whose GPUs do not reach each other: routes go through the host's
# memory, and what is proved holds for those.
load common

xml=$GTOPO_SRC/share/xml

# Machines without peer access, and of what it would bring to have it the most
# that is proved: rings and trees of all-reduce, all-to-all, in GB/s busbw.
machines() {
	cat <<-'M'
		rtx4090-8gpu 16 24 7
		rtx5090-4gpu 48 48 48
		rtx3090-2gpu 48 48 48
		l40s-8gpu-vm 12 12 7
	M
}

# shut FILE: the same machine, all peer access off.
shut() {
	python3 - "$1" <<-'P'
		import re, sys
		text = open(sys.argv[1], encoding="utf-8").read()
		text = re.sub(r' gt_p2p="[^"]*"', "", text)
		devs = sorted(int(d) for d in re.findall(
		    r'<gpu\b[^>]*\bdev="(\d+)"', text))
		def words(match):
		    me = int(re.search(r'\bdev="(\d+)"', match[0])[1])
		    row = " ".join("x" if d == me else "---" for d in devs)
		    return '<gpu gt_p2p="%s"' % row + match[0][4:]
		sys.stdout.write(re.sub(r"<gpu\b[^>]*", words, text))
	P
}

# carried PLAN: each hop of a ring is by a CPU's memory, no link carries more
# than it can, and one carries all that it can.  Nothing of gtopo adds up here.
carried() {
	python3 - "$1" <<-'P'
		import json, sys
		from fractions import Fraction
		plan = json.load(open(sys.argv[1]))
		room = {l["id"]: Fraction(l["gbs"]) for l in plan["links"]}
		load = dict.fromkeys(room, Fraction(0))
		for channel in plan["channels"]:
		    for hop in channel["hops"]:
		        route = hop["route"]
		        assert any(r.split(">")[1].startswith("CPU/")
		            for r in route), hop
		        assert len(set(route)) == len(route), hop
		        for link in route:
		            load[link] += Fraction(channel["gbs"])
		assert all(load[l] <= room[l] for l in room), load
		assert any(load[l] == room[l] for l in room), load
	P
}

@test "GPUs behind one switch: up to the host's memory and down again" {
	run_split gtopo paths --from GPU0 --to GPU1 "$xml/pcie-8gpu.xml"
	want 0 ""
	[[ $out == "GPU0 to GPU1: PIX, 2 links"* ]]
	[[ $out != *"no peer access"* ]]
	run_split gtopo paths --from GPU0 --to GPU1 "$xml/l40s-8gpu-vm.xml"
	want 0 ""
	[[ $out == "GPU0 to GPU1: PHB, 4 links, 24 GB/s one way"* ]]
	[[ $out == *"The two have no peer access (gt_p2p)"* ]]
	run_split gtopo paths --from GPU0 --to GPU4 "$xml/l40s-8gpu-vm.xml"
	want 0 ""
	[[ $out == "GPU0 to GPU4: SYS, 5 links, 16 GB/s one way"* ]]
	[[ $out == *"The two have no peer access (gt_p2p)"* ]]
}

@test "some pairs: those that have access keep their routes" {
	cd "$BATS_TEST_TMPDIR"
	sed 's/dev="0" sm="89" rank="0" gdr="1"/& gt_p2p="x rwa --- rwa rwa rwa rwa rwa"/' \
		"$xml/pcie-8gpu.xml" >some.xml
	gtopo paths --from GPU0 --to GPU1 some.xml | grep -q ': PIX, 2 links'
	gtopo paths --from GPU0 --to GPU2 some.xml | grep -q ': PHB, 4 links'
	# Either of the two may say it.
	gtopo paths --from GPU2 --to GPU0 some.xml | grep -q ': PHB, 4 links'
	# A row of another length is of another machine.
	sed 's/gt_p2p="x rwa --- /gt_p2p="x --- /' some.xml >other.xml
	gtopo paths --from GPU0 --to GPU2 other.xml | grep -q ': PIX, 2 links'
	# NVLink is of no use without access.
	shut "$xml/dgx-1v.xml" >dgx.xml
	gtopo paths --from GPU0 --to GPU1 "$xml/dgx-1v.xml" | grep -q ': NV'
	gtopo paths --from GPU0 --to GPU1 dgx.xml | grep -q ': PHB, '
}

@test "machines without peer access: nothing odd, the optimum is found" {
	cd "$BATS_TEST_TMPDIR"
	machines | while read -r name ring tree all; do
		gtopo lint "$xml/$name.xml"
		while read -r value algo coll; do
			gtopo search --algo "$algo" --coll "$coll" -o plan \
				"$xml/$name.xml"
			gtopo verify --topology "$xml/$name.xml" plan >verdict
			grep -q "^value  *$value GB/s busbw" verdict
			grep -q 'optimal, proven' verdict
			gtopo run --plan plan --device host --coll "$coll" \
				-b 64000 -e 64000 -n 1 -w 0 -q
		done <<-W
			$ring ring allreduce
			$tree forest allreduce
			$all flow alltoall
		W
	done
}

@test "real machines with peer access off: proved, and the loads add up" {
	local n=0
	[ -n "${GTOPO_TEST_TOPOLOGIES:-}" ] || skip "no GTOPO_TEST_TOPOLOGIES"
	cd "$BATS_TEST_TMPDIR"
	for file in "$GTOPO_TEST_TOPOLOGIES"/*.xml; do
		shut "$file" >shut.xml
		# Some have no GPUs, one, or those of AMD, whose file says nothing.
		gtopo search -q --algo ring -o plan shut.xml 2>/dev/null ||
			continue
		grep -q gt_p2p shut.xml || continue
		gtopo verify plan | grep -q -E 'for rings over its routes( and relays)?: optimal'
		carried plan
		n=$((n + 1))
	done
	echo "# $n machines"
	[ "$n" -ge 20 ]
}
