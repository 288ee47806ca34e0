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

# carried TOPOLOGY PLAN: what the plan's rings load, by a reader of its own.
carried() {
	python3 "$GTOPO_SRC/tests/cli/staged_loads.py" "$@"
}

refused() {
	carried "$@" 2>why && return 1
	grep -q AssertionError why
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
	[[ $out == *"With access it would be PIX, 2 links, 24 GB/s one way."* ]]
	[[ $out != *"Most likely"* ]]
	run_split gtopo paths --from GPU0 --to GPU4 "$xml/l40s-8gpu-vm.xml"
	want 0 ""
	[[ $out == "GPU0 to GPU4: SYS, 5 links, 16 GB/s one way"* ]]
	[[ $out == *"The two have no peer access (gt_p2p)"* ]]
}

@test "why there is no peer access, and what it would bring" {
	local said=$GTOPO_SRC/tests/cases/detect/no-peers/expect.xml
	cd "$BATS_TEST_TMPDIR"
	gtopo paths --from GPU0 --to GPU1 "$said" |
		grep -q '^Most likely, the driver gives no access to this model'
	gtopo paths --from GPU2 --to GPU1 "$said" |
		grep -q '^Most likely, the driver gives no access on this chipset'
	gtopo show "$said" | grep -q 'GPUs do not reach the memory of all others'
	# What the driver says comes before what the model tells.
	sed 's/ gt_p2p_why="[^"]*"//' "$said" >unsaid.xml
	gtopo paths --from GPU0 --to GPU1 unsaid.xml |
		grep -q '^Most likely, the driver gives GeForce cards no access'
	gtopo search --explain --algo ring "$xml/l40s-8gpu-vm.xml" -o plan |
		grep -q '^  peer access between all GPUs: 1.33x, 16 GB/s busbw'
	gtopo search --explain --algo ring "$xml/pcie-8gpu.xml" -o plan >said
	[ "$(grep -c 'peer access' said)" -eq 0 ]
}

@test "a plan says which hops are by the host's memory, and the engine's ways" {
	local coll
	cd "$BATS_TEST_TMPDIR"
	for coll in allreduce broadcast reducescatter alltoall; do
		gtopo search --coll $coll -o plan "$xml/rtx4090-8gpu.xml"
		python3 - <<-'P'
			import json
			plan = json.load(open("plan"))
			hops = [h for c in plan["channels"] for h in c["hops"]]
			assert {h["transport"] for h in hops} == {"shm"}
			assert all(r["staged"] for r in
			    plan["proof"]["certificate"]["routes"])
			ways = {s["protocol"] for s in plan["select"]}
			assert ways <= {"ll", "simple", "ce"} and "ll" in ways
		P
		gtopo verify --topology "$xml/rtx4090-8gpu.xml" plan
	done
	# The last row of what has no ring is what carries it: copy engines.
	gtopo predict --coll alltoall -b 16M -e 16M plan | grep -q ' ce '
	# The plan is of another machine if the GPUs reach each other there.
	sed 's/ gt_p2p="[^"]*"//' "$xml/rtx4090-8gpu.xml" >open.xml
	run_split gtopo verify --topology open.xml plan
	[ "$status" -eq 1 ]
	gtopo search --coll alltoall -o plan open.xml
	[ "$(grep -c '"shm"\|"staged"' plan)" -eq 0 ]
	run_split gtopo verify --topology "$xml/rtx4090-8gpu.xml" plan
	[ "$status" -eq 1 ]
}

# As measured on 2 H200 whose peer access was off: rings in the host's memory
# between two processes, and a prototype of packets in one shot.
@test "predictions agree with two H200 through the host's memory" {
	cd "$BATS_TEST_TMPDIR"
	shut "$xml/h200-vm-4.xml" >shut.xml
	gtopo search --gpus 0,1 -o plan shut.xml
	python3 - <<-'P'
		import json, math, os, statistics, subprocess
		K, M = 1 << 10, 1 << 20
		ring = {K: 19.7, 16 * K: 21.0, 64 * K: 23.5, 256 * K: 29.4,
		    M: 50.4, 4 * M: 146, 16 * M: 542, 64 * M: 2031, 256 * M: 7688}
		packets = {K: 5.9, 16 * K: 6.6, 64 * K: 8.4, 256 * K: 21, M: 70}
		plan = json.load(open("plan"))
		for name, measured in ("ring", ring), ("one-shot", packets):
		    row = [s for s in plan["select"] if s["algo"] == name]
		    last = dict(plan["select"][-1], max_bytes=None)
		    only = [dict(row[0], max_bytes=1 << 40), last]
		    json.dump(dict(plan, select=only), open("only", "w"))
		    said = subprocess.check_output([
		        os.environ["GTOPO"], "predict", "-b", "1K",
		        "-e", "256M", "-f", "4", "--json", "only"])
		    times = {r["bytes"]: r["time_us"]
		        for r in json.loads(said)["rows"]}
		    off = [abs(math.log(times[b] / measured[b]))
		        for b in measured]
		    assert statistics.median(off) < 0.06 and max(off) < 0.2, off
	P
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

# The engine stages all ranks as soon as two are apart, so NVLinks of islands
# bring nothing, in what is predicted either.
@test "islands are predicted as they are carried: through the host's memory" {
	local name
	cd "$BATS_TEST_TMPDIR"
	shut "$xml/dgx-1v.xml" >shut.xml
	python3 - <<-'P' >islands.xml
		import re
		text = open("shut.xml").read()
		def words(match):
		    row = match[1].split()
		    row[row.index("x") ^ 1] = "rwa"
		    return 'gt_p2p="%s"' % " ".join(row)
		print(re.sub('gt_p2p="([^"]*)"', words, text), end="")
	P
	for name in shut islands; do
		gtopo search -q --coll alltoall -o "$name.plan" "$name.xml"
		python3 - "$name.plan" <<-'P'
			import json, sys
			plan = json.load(open(sys.argv[1]))
			mesh = [s for s in plan["select"] if s["protocol"] == "ll"][0]
			plan["select"] = [dict(mesh, max_bytes=1 << 30),
			    plan["select"][-1]]
			json.dump(plan, open(sys.argv[1], "w"))
		P
		gtopo predict -b 1K -e 1M -f 32 "$name.plan" |
			awk '/^ / {print $6}' >"$name.times"
	done
	grep -q '"peer"' islands.plan && grep -q '"shm"' islands.plan
	# Over NVLink one of seven peers would cost nothing.
	paste shut.times islands.times | awk '
		NF != 2 || $2 < $1 * 0.95 || $2 > $1 * 1.05 { exit 1 }
		END { exit NR != 3 }'
}

@test "a script of its own confirms what links, memories and sockets carry" {
	local name
	cd "$BATS_TEST_TMPDIR"
	for name in rtx4090-8gpu rtx5090-4gpu l40s-8gpu-vm pcie-8gpu dgx-1v; do
		shut "$xml/$name.xml" >shut.xml
		gtopo search -q --algo ring -o plan shut.xml
		carried shut.xml plan
	done
	# It fails where a link has more than it carries, or a hop other links.
	sed 's/"gbs": "12"/"gbs": "13"/' plan >other
	refused shut.xml other
	gtopo search -q --algo ring -o plan "$xml/dgx-1v.xml"
	refused shut.xml plan
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
		carried shut.xml plan
		n=$((n + 1))
	done
	echo "# $n machines"
	[ "$n" -ge 20 ]
}
