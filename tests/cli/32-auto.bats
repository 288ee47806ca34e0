# gtopo search --algo auto and mesh: which way at which size.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "auto is as quick as anything else at every size" {
	for machine in h200-vm-4 dgx-1v pcie-8gpu; do
		for algo in auto ring mesh; do
			gtopo search --algo "$algo" -o "$algo.json" \
				"$xml/$machine.xml"
			gtopo verify "$algo.json"
			gtopo predict -b 8 -e 4G --json "$algo.json" \
				>"$algo.times"
		done
		python3 -c '
import json
times = {a: {r["bytes"]: r["time_us"] for r in json.load(open(a + ".times"))["rows"]}
         for a in ("auto", "ring", "mesh")}
for size, time in times["auto"].items():
    best = min(times["ring"][size], times["mesh"][size])
    assert time <= best * 1.04, (size, time, best)'
	done
}

@test "auto proves as much as any of its shapes, though others are quicker" {
	while read -r coll nodes machine algos; do
		for algo in auto $algos; do
			gtopo search -q --algo "$algo" --coll "$coll" \
				--nodes "$nodes" -o "$algo.json" "$xml/$machine.xml"
			gtopo verify --json "$algo.json" >"$algo.verdict"
		done
		python3 -c '
import json, sys
proved = {a: json.load(open(a + ".verdict"))["busbw_gbs"] for a in sys.argv[1:]}
assert proved["auto"] == max(proved.values()), proved' auto $algos
	done <<-'EOF'
		allgather 2 dgx-2 ring hier
		reducescatter 16 dgx-2 ring hier
		allreduce 16 gb200-tray ring hier
		allreduce 128 workstation-4gpu ring hier
		broadcast 12500 dgx-h100 ring tree
	EOF
}

@test "small messages go straight, large ones around, with the rings' proof" {
	gtopo search -o plan.json "$xml/h200-vm-4.xml"
	python3 -c '
import json
plan = json.load(open("plan.json"))
rows = plan["select"]
assert rows[0]["algo"] == "one-shot" and rows[-1]["algo"] == "ring", rows
assert rows[-1]["max_bytes"] is None and plan["proof"]["class"] == "ring"
assert plan["proof"]["optimal"]
used = {c for row in rows for c in row["channels"]}
assert used == {c["id"] for c in plan["channels"]}'
}

@test "packets of 128 bytes go over NVLink alone, copy engines do not add" {
	gtopo search -o plan.json "$xml/h200-vm-4.xml"
	grep -q '"protocol": "ll128"' plan.json
	gtopo search -o plan.json "$xml/pcie-8gpu.xml"
	[ "$(grep -c '"protocol": "ll128"' plan.json)" -eq 0 ]
	gtopo search --coll allgather -o plan.json "$xml/h200-vm-4.xml"
	grep -q '"protocol": "ce"' plan.json
	gtopo search --coll reducescatter -o plan.json "$xml/h200-vm-4.xml"
	[ "$(grep -c '"protocol": "ce"' plan.json)" -eq 0 ]
}

@test "a mesh has what all pairs can move at once" {
	gtopo search --algo mesh -o plan.json "$xml/dgx-h100.xml"
	gtopo verify plan.json
	# 370.8 GB/s of a GPU's NVLinks for seven others.
	grep -q '"gbs": "1854/35"' plan.json
	for coll in allgather reducescatter; do
		gtopo search --algo mesh --coll "$coll" -o plan.json \
			"$xml/pcie-8gpu.xml"
		gtopo verify plan.json
	done
}

@test "ranks on CPUs run every row" {
	gtopo search -o plan.json "$xml/h200-vm-4.xml"
	gtopo run --plan plan.json --device host -b 1K -e 16M -f 64 -n 2 -w 0
}

@test "one GPU, two GPUs" {
	for gpus in 5 0,1; do
		gtopo search --gpus "$gpus" -o plan.json "$xml/dgx-h100.xml"
		gtopo verify plan.json
	done
}

@test "a cluster: templates, rings and trees side by side" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search --nodes 2 --gpus 0,1,4,5 -o plan "$xml/dgx-h100.xml"
	[ "$(jq -r '.select | length > 1 and .[-1].max_bytes == null' plan)" = \
		true ]
	[ "$(jq -r '[.select[].algo] | unique | join(",")' plan)" = hier,tree ]
	run_split gtopo verify plan
	want 0 ""
	[[ $out == *"for any schedule"*"proven"* ]]
	gtopo predict plan | grep -q " tree "
	run_split gtopo run --plan plan --device host -b 64K -e 64K
	[[ $out == *"Out of bounds values : 0 OK"* ]]
	jq '.select[0].channels += [0]' plan >mixed
	run_split gtopo verify mixed
	want 1 "gtopo verify: mixed: select[0].channels[8]: channel '0' is a \
template; algo 'tree' cannot use it"
}

@test "auto broadcasts over several nodes as fast as trees of all of them" {
	command -v python3 >/dev/null || skip "no python3"
	cd "$BATS_TEST_TMPDIR"
	gtopo synth -o box.xml "2 numa: 2 switch: gpu 1 nic"
	gtopo search -q --coll broadcast --nodes 2 -o auto box.xml
	gtopo search -q --coll broadcast --nodes 2 --algo forest -o forest box.xml
	python3 -c '
import json
algbw = lambda name: json.load(open(name))["proof"]["algbw_gbs"]
assert algbw("auto") >= algbw("forest"), (algbw("auto"), algbw("forest"))'
}

@test "a chain of many nodes is as quick as one of few" {
	cd "$BATS_TEST_TMPDIR"
	for coll in broadcast reduce; do
		gtopo search -q --nodes 16 --coll $coll -o plan \
			"$GTOPO_SRC/share/xml/pcie-8gpu.xml"
		run_split gtopo verify plan
		[[ $out == *"value     24 GB/s busbw (24 algbw)"* ]]
		[[ $out == *"any bound 24 GB/s busbw for any schedule: optimal, proven"* ]]
	done
}
