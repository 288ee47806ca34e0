# gtopo predict: what it prints, and that it agrees with what was measured.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

@test "columns, one row a size" {
	gtopo search --algo ring -o plan.json "$xml/dgx-1v.xml"
	run_split gtopo predict -b 1K -e 64K -f 4 plan.json
	want 0 ""
	[ "$(grep -cv '^#' <<<"$out")" -eq 4 ]
	[[ $out == *" 65536         16384    float     sum     -1 "* ]]
}

@test "a collective that the plan has not is refused with what makes one" {
	gtopo search --algo ring -o plan.json "$xml/dgx-1v.xml"
	run_split gtopo predict --coll alltoall plan.json
	want 2 "gtopo predict: plan.json: nothing in select is for 'alltoall'; \
gtopo search --coll alltoall makes a plan for it"
}

@test "large messages reach what the plan is worth" {
	gtopo search --algo ring -o plan.json "$xml/dgx-1v.xml"
	gtopo predict -b 1G -e 1G --json plan.json | python3 -c '
import json, sys
row = json.load(sys.stdin)["rows"][0]
assert 0.94 * 120 < row["busbw_gbs"] <= 120, row
assert row["busy"] > 0.97, row'
}

# Workers are added instead; the race has the same (docs/design/cost-model.md).
@test "rings take the same time while more bytes get more workers" {
	gtopo search --algo ring -o plan.json "$xml/h200-vm-4.xml"
	gtopo predict -b 64K -e 1M -f 4 --json plan.json | python3 -c '
import json, sys
with open(sys.argv[1]) as file:
    race = {row["bytes"]: row["gtopo"]["time_us"]
            for row in json.load(file)["rows"]
            if row["coll"] == "allreduce" and not row["graph"]
            and not row["inplace"]}
took = {row["bytes"]: row["time_us"] for row in json.load(sys.stdin)["rows"]}
assert abs(took[1 << 18] / took[1 << 16] - 1) < 0.01, took
assert abs(race[1 << 18] / race[1 << 16] - 1) < 0.03, race
for size, time in took.items():
    assert abs(time / race[size] - 1) < 0.06, (size, time, race[size])' \
		"$GTOPO_SRC/bench/results/fitted/h200x4-d9c4d09.json"
}

@test "a cluster of any size" {
	local n nodes="2 16 12500"
	[ -z "${GTOPO_TEST_BRIEF:-}" ] || nodes="2 12500"
	for n in $nodes; do
		gtopo search --nodes $n -o plan.json "$xml/dgx-h100.xml"
		gtopo predict -b 64 -e 16T -f 4096 --json plan.json |
			python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
times = [row["time_us"] for row in rows]
assert len(times) == 4 and times == sorted(times), times
plan = json.load(open("plan.json"))
ns = plan["proof"]["value"].split("/") + ["1"]
top = int(ns[0]) / int(ns[1])
assert all(row["algbw_gbs"] < top for row in rows), (top, rows)
assert rows[0]["ranks"] == int(sys.argv[1]) * 8, rows' $n
	done
}

@test "predictions agree with the races on 4 and 2 H200" {
	for n in 4 2; do
		gpus=$(seq -s, 0 $((n - 1)))
		gtopo search --algo ring --gpus "$gpus" -o plan.json \
			"$xml/h200-vm-4.xml"
		for coll in allreduce allgather reducescatter; do
			gtopo predict --coll "$coll" -b 64 -e 1G -f 4 --json \
				plan.json >"$coll.json"
		done
		python3 - "$GTOPO_SRC/bench/results/fitted/h200x$n-d9c4d09.json" <<'END'
import json, math, sys
said = {}
for coll in "allreduce", "allgather", "reducescatter":
    for row in json.load(open(coll + ".json"))["rows"]:
        said[coll, row["bytes"]] = row["time_us"]
off = [abs(math.log(said[row["coll"], row["bytes"]] / row["gtopo"]["time_us"]))
       for row in json.load(open(sys.argv[1]))["rows"]
       if not row["graph"] and row["bytes"] >= 64]
assert len(off) == 39 and sum(off) / len(off) < 0.05, off
END
	done
}

@test "bench/fit finds the parameters that made a report" {
	fit=$(dirname "$GTOPO")/bench/fit
	[ -x "$fit" ] || skip "$fit is not built"
	gtopo search --algo ring -o plan.json "$xml/h200-vm-4.xml"
	cat >true.json <<'END'
{"schema": "gtopo.cost/1", "protocols": {"simple": {
 "base_us": "10", "hop_us": {"NVL": "2.5"}, "rate": "0.8"}}}
END
	gtopo predict --params true.json -b 256 -f 4 --json plan.json >report
	"$fit" plan.json report >found.json
	python3 -c '
import json
found = json.load(open("found.json"))
p = found["protocols"]["simple"]
assert found["residual"] < 0.002, found
assert abs(float(p["base_us"]) - 10) < 0.5, p
assert abs(float(p["hop_us"]["NVL"]) - 2.5) < 0.1, p
assert abs(float(p["rate"]) - 0.8) < 0.01, p'
	gtopo predict --params found.json plan.json >/dev/null
	# What is kept stays the default.
	"$fit" -k base,rate plan.json report >kept.json
	grep -q '"base_us": "6.3000"' kept.json
	grep -q '"rate": "0.9900"' kept.json
	run_split "$fit" -k speed plan.json report
	want 2 "usage: fit [-k NAMES] PLAN REPORT..."
}

@test "a plan whose ranks wait for each other has no price" {
	for name in slots-1-deadlock mesh-slots-1-deadlock; do
		plan=$GTOPO_SRC/tests/cases/plan/bad/$name/plan.json
		run_split gtopo predict "$plan"
		want 1 "gtopo predict: $plan: deadlock: ranks wait for each \
other; gtopo verify says where"
		run_split gtopo verify "$plan"
		[[ $status -eq 1 && $err == *"deadlock with 1 slot"* ]]
	done
}

@test "wrong parameters are refused" {
	gtopo search --algo ring -o plan.json "$xml/h200-vm-4.xml"
	echo '{"schema": "gtopo.cost/1", "protocols": {"fast": {}}}' >p.json
	run_split gtopo predict --params p.json plan.json
	want 2 "gtopo predict: p.json: protocols.fast: 'fast' is not a known protocol"
	echo '{"schema": "gtopo.cost/1", "protocols": {"simple":
		{"rate": "0"}}}' >p.json
	run_split gtopo predict --params p.json plan.json
	want 2 "gtopo predict: p.json: protocols.simple.rate: it has to be above 0"
	run_split gtopo predict -b 2K -e 1K plan.json
	want 2 "gtopo predict: -b '2048' is larger than -e '1024'"
}
