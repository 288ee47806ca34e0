# gtopo tune: what it writes, what it refuses.  Times are never asserted.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
	gtopo search -o plan.json "$xml/h200-vm-4.xml"
	tune=(gtopo tune --device host -e 16K -f 16)
}

@test "the plan stays right, and keeps its proof and what was measured" {
	run_split "${tune[@]}" --plan plan.json -o tuned.json
	want 0 ""
	# But for the channels, and what is predicted of the rows.
	gtopo verify plan.json | grep -vE '^(correct|rows|  )' >before
	gtopo verify tuned.json | grep -vE '^(correct|rows|  )' | diff before -
	python3 -c '
import json
was, plan = json.load(open("plan.json")), json.load(open("tuned.json"))
for key in "proof", "channels", "links", "ranks":
    assert was[key] == plan[key], key
last = plan["select"][-1]
assert last["max_bytes"] is None and last["algo"] == "ring", last
ways = {(m["algo"], m["protocol"]): m for m in plan["measurements"]}
assert {"one-shot", "two-shot", "ring"} <= {a for a, _ in ways}, ways
assert {p for _, p in ways} == {"simple"}
for m in ways.values():
    assert m["machine"].startswith("host: 4 ranks on "), m
    assert m["bytes"] == [1024, 16384] and len(m["time_us"]) == 2, m
for row in plan["select"]:
    assert (row["algo"], row["protocol"]) in ways, row'
	gtopo run --plan tuned.json --device host -b 512 -e 64K -f 16 -n 1 -w 0
}

@test "again, in place and from standard input" {
	"${tune[@]}" --plan - <plan.json >tuned.json
	"${tune[@]}" --plan tuned.json -b 4K -e 4K -o tuned.json
	python3 -c '
import json
for m in json.load(open("tuned.json"))["measurements"]:
    assert m["bytes"] == [4096], m'
}

@test "all collectives get rows of their own, and can be predicted" {
	"${tune[@]}" --plan plan.json --coll all -o tuned.json
	for coll in allreduce allgather reducescatter broadcast reduce \
		alltoall gather scatter sendrecv; do
		gtopo predict --coll "$coll" -b 1K -e 1K --json tuned.json |
			grep -q '"measured": true'
	done
	gtopo verify tuned.json
	# Another time, one of them only.
	"${tune[@]}" --plan tuned.json --coll gather -b 256 -e 256 -o one.json
	python3 -c '
import json
for m in json.load(open("one.json"))["measurements"]:
    coll = m.get("coll", "allreduce")
    assert (m["bytes"] == [256]) == (coll == "gather"), m'
}

@test "predictions are the measurements, unless there are parameters" {
	"${tune[@]}" --plan plan.json -o tuned.json
	gtopo predict -b 1K -e 16K -f 16 --json tuned.json >said.json
	python3 -c '
import json
times = {}
for m in json.load(open("tuned.json"))["measurements"]:
    for size, time in zip(m["bytes"], m["time_us"]):
        times[m["algo"], size] = time
for row in json.load(open("said.json"))["rows"]:
    want = times[row["algo"], row["bytes"]]
    assert row["measured"] and abs(row["time_us"] / want - 1) < 1e-4, row'
	echo '{"schema": "gtopo.cost/1", "protocols": {}}' >p.json
	run gtopo predict --params p.json -b 1K -e 1K --json tuned.json
	[[ $output == *'"measured": false'* ]]
}

@test "a row's detour is said; CPUs run it without one, tuned they have none" {
	cp "$GTOPO_SRC/tests/cases/plan/good/tuned4-detour/plan.json" .
	run_split gtopo predict -b 16M -e 64M -f 4 plan.json
	want 0 ""
	[[ $out == *" ring   simple measured  0>1 100%"$'\n'* ]]
	[[ $out == *"%, 85/1000 through the host" ]]
	gtopo predict -b 64M -e 64M --json plan.json | python3 -c '
import json, sys
row = json.load(sys.stdin)["rows"][0]
assert row["detour_permille"] == 85 and row["time_us"] == 402, row'
	python3 -c '
import json
plan = json.load(open("plan.json"))
plan["select"] = [row for row in plan["select"] if "detour_permille" in row]
json.dump(plan, open("all.json", "w"))'
	gtopo run --plan all.json --device host -b 1K -e 1M -f 32 -n 1 -w 0
	"${tune[@]}" --plan plan.json -o tuned.json
	[ "$(grep -c detour_permille tuned.json)" -eq 0 ]
	gtopo verify tuned.json
}

@test "a row's limit of blocks is said; CPUs have none" {
	cp "$GTOPO_SRC/tests/cases/plan/good/tuned4-blocks/plan.json" .
	run_split gtopo predict -b 16M -e 64M -f 4 plan.json
	want 0 ""
	[[ $out == *" ring   simple measured  0>1 100%"$'\n'* ]]
	[[ $out == *"%, at most 16 blocks" ]]
	run_split gtopo predict -b 1M -e 1M plan.json
	[[ $out == *"%, at most 1 block" ]]
	gtopo predict -b 64M -e 64M --json plan.json | python3 -c '
import json, sys
row = json.load(sys.stdin)["rows"][0]
assert row["max_blocks"] == 16 and row["time_us"] == 402, row'
	gtopo run --plan plan.json --device host -b 1K -e 1M -f 32 -n 1 -w 0
	"${tune[@]}" --plan plan.json --coll all -o tuned.json
	[ "$(grep -c max_blocks tuned.json)" -eq 0 ]
}

@test "what cannot be tuned" {
	run_split gtopo tune --device host
	want 2 "gtopo tune: the plan is missing; see 'gtopo help tune'"
	run_split "${tune[@]}" --plan plan.json --strict
	want 2 "gtopo tune: --strict is for GPUs; engine 'host' needs none"
	for option in --max-blocks=8 --any-blocks; do
		run_split "${tune[@]}" --plan plan.json "$option"
		[ "$status" -eq 2 ]
		[[ $err == *"${option%=8} is for GPUs; engine 'host'"* ]]
	done
	run_split "${tune[@]}" --plan plan.json -b 32K
	want 2 "gtopo tune: -b '32768' is not within 4 and -e '16384'"
	gtopo search --algo ring -o ring.json "$xml/h200-vm-4.xml"
	run_split "${tune[@]}" --plan ring.json --coll alltoall
	want 2 "gtopo tune: --coll 'alltoall': the plan has nothing for it"
	sed 's/"share": "1"/"share": "2"/' ring.json >wrong.json
	run_split "${tune[@]}" --plan wrong.json
	want 2 "gtopo tune: wrong.json: channels: shares sum to '2', not to 1"
	[ -z "$out" ]
}

@test "on a terminal it ends with a line on what was kept, with -q without" {
	script -qec true /dev/null >/dev/null 2>&1 || skip "no terminal to be had"
	run script -qec "$GTOPO tune --device host -b 16K -e 16K -o t.json \
		plan.json" /dev/null
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} =~ [0-9]+\ ways\ measured\ on\ host:\ 4\ ranks\ on\ .*\ kept\ -\>\ t.json ]]
	run script -qec "$GTOPO tune -q --device host -b 16K -e 16K -o t.json \
		plan.json" /dev/null
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run script -qec "$GTOPO search --algo ring -o s.json \
		$xml/h200-vm-4.xml" /dev/null
	[[ ${lines[-1]} == "ring, "*" GB/s busbw, proven best"*" -> s.json"* ]]
}
