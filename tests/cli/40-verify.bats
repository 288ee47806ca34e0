# gtopo verify beyond the plans of tests/cases/plan: files, options, JSON.

load common

setup() {
	plan=$GTOPO_SRC/tests/cases/plan/good/ring4/plan.json
	bad=$GTOPO_SRC/tests/cases/plan/bad
}

@test "no such file" {
	run_split gtopo verify nowhere.json
	want 2 "gtopo verify: nowhere.json: cannot open: No such file or directory"
}

@test "a ring's plan verifies for every collective" {
	for coll in allreduce allgather reducescatter; do
		run_split gtopo verify --coll "$coll" "$plan"
		want 0 ""
		[[ $out == "correct   $coll of 4 ranks over 1 channel"* ]]
	done
}

@test "--json is JSON, for right and for wrong plans" {
	command -v python3 >/dev/null || skip "no python3"
	gtopo verify --json "$plan" | python3 -c '
import json, sys
says = json.load(sys.stdin)
assert says["correct"] and says["optimal"] and says["bound"]["proven"]
assert says["value"] == says["bound"]["gbs"] == "1854/5"
assert says["busbw_gbs"] == says["bound"]["busbw_gbs"] == 370.8
assert says["algbw_gbs"] == 247.2 and says["schema"] == "gtopo.verdict/1"
assert says["coll"] == says["collective"] == "allreduce"'
	run_split gtopo verify --json "$bad/rank-twice/plan.json"
	[ "$status" -eq 1 ]
	python3 -c '
import json, sys
says = json.loads(sys.argv[1])
assert not says["correct"] and "named twice" in says["fault"]' "$out"
}

@test "-v names the channels on standard error" {
	run_split gtopo verify -v "$plan"
	want 0 "gtopo verify: channel 0: ring, share 1, 370.8 GB/s busbw"
}

@test "a plan's file may be large, but not endless" {
	yes '                                                      ' |
		head -c 68000000 >"$BATS_TEST_TMPDIR/large.json"
	run_split gtopo verify "$BATS_TEST_TMPDIR/large.json"
	[ "$status" -eq 2 ]
	[[ $err == *"large.json: "*67108864* ]]
}

@test "a full disk is told" {
	[ -c /dev/full ] || skip "no /dev/full"
	run_split gtopo verify -o /dev/full "$plan"
	[ "$status" -eq 3 ]
	[[ $err == "gtopo verify: /dev/full: cannot write: "* ]]
}

@test "--topology: the machine that the plan was made for" {
	for file in "$GTOPO_SRC"/share/xml/*.xml; do
		grep -q '^<system ' "$file" || continue
		gtopo search -o "$BATS_TEST_TMPDIR/plan" "$file"
		run_split gtopo verify --topology "$file" \
			"$BATS_TEST_TMPDIR/plan"
		want 0 ""
		[[ $out == *"machine   $file has these links and routes" ]]
	done
}

@test "--topology: another machine, other links, other capacities" {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR"
	gtopo search -o plan "$xml/dgx-h100.xml"
	run_split gtopo verify --topology "$xml/dgx-a100.xml" plan
	[ "$status" -eq 1 ]
	[[ $err == "gtopo verify: plan: topology.digest: "*" is another machine than "* ]]

	sed 's/"digest": "[^"]*", //' plan >anonymous
	run_split gtopo verify --topology "$xml/dgx-a100.xml" anonymous
	[ "$status" -eq 1 ]
	[[ $err == "gtopo verify: anonymous: ranks["*"].device: the machine has no GPU "* ]]

	sed '/"rank":/s/"device": "[^"]*"/"device": "0000:99:00.0"/' plan >moved
	run_split gtopo verify --topology "$xml/dgx-h100.xml" moved
	want 1 "gtopo verify: moved: ranks[0].device: the machine has no GPU '0000:99:00.0'"
}

@test "--topology: a machine without what the search did without" {
	dgx=$GTOPO_SRC/share/xml/dgx-1v.xml
	cd "$BATS_TEST_TMPDIR"
	gtopo search --exclude-link GPU0-GPU3 -o plan "$dgx"
	run_split gtopo verify --topology "$dgx" plan
	[ "$status" -eq 1 ]
	run_split gtopo verify --topology "$dgx" --exclude-link GPU0-GPU3 plan
	want 0 ""
	gtopo search --exclude-device GPU7 -o plan "$dgx"
	run_split gtopo verify --topology "$dgx" --exclude-device GPU7 plan
	want 0 ""
	run_split gtopo verify --exclude-device GPU7 plan
	want 2 "gtopo verify: --exclude-link, --exclude-device and --p2p are of the machine that --topology names"
}

@test "--topology: the file of a cluster, and nodes planned as one machine" {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR"
	gtopo search -o plan "$xml/4x-dgx-h100.xml"
	run_split gtopo verify --topology "$xml/4x-dgx-h100.xml" plan
	want 0 ""
	gtopo search --nodes 2 --coll alltoall -o plan "$xml/dgx-h100.xml"
	run_split gtopo verify --topology "$xml/dgx-h100.xml" plan
	want 2 "gtopo verify: $xml/dgx-h100.xml: cannot be compared with a plan of several nodes as one machine; leave out --topology"
}

@test "--topology: a file that is none" {
	run_split gtopo verify --topology "$plan" "$plan"
	[ "$status" -eq 2 ]
}

@test "verify looks at all that a plan names, or all that it can do" {
	local auto=$GTOPO_SRC/tests/cases/plan/good/auto4/plan.json
	run_split gtopo verify "$auto"
	[ "$status" -eq 0 ]
	[[ $out == "correct   allreduce, broadcast, alltoall of 4 ranks"* ]]
	run_split gtopo verify --coll all "$auto"
	[ "$status" -eq 0 ]
	[[ $out == *", gather, scatter, sendrecv of 4 ranks"* ]]
	run_split gtopo verify --coll reduce "$auto"
	[[ $out == "correct   reduce of 4 ranks"* ]]
	run_split gtopo verify --coll sort "$auto"
	[ "$status" -eq 2 ]
	[[ $err == "gtopo verify: --coll 'sort' is not one of "* ]]
}

@test "the shares of every row are in proportion to what its channels carry" {
	cd "$BATS_TEST_TMPDIR"
	run_split gtopo search -q --nodes 2 -o two "$GTOPO_SRC/share/xml/dgx-h100.xml"
	[ "$status" -eq 0 ]
	sed '/"shape": "tree"/,/"share"/s/"share": "[^"]*"/"share": "1\/18"/' two >even
	run_split gtopo verify even
	[ "$status" -eq 1 ]
	[[ $err == "gtopo verify: even: select[0].channels: shares of channels "*" are not in proportion to their gbs" ]]
}

@test "verify says which sizes take the proven row, and how far the others are" {
	command -v python3 >/dev/null || skip "no python3"
	cd "$BATS_TEST_TMPDIR"
	gtopo search -q --nodes 2 -o two "$GTOPO_SRC/share/xml/dgx-h100.xml"
	run_split gtopo verify two
	[ "$status" -eq 0 ]
	[[ $out == *"rows      tree up to "*" bytes: "*" GB/s busbw there, "*"% of the bound, predicted"* ]]
	[[ $out == *"          hier for larger ones: the row that value and bound are about"* ]]
	gtopo verify --json two | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
assert [row["algo"] for row in rows] == ["tree", "hier"]
assert [row["proof"] for row in rows] == [False, True]
assert 0.5 < rows[0]["of_bound"] < 1 and rows[1]["max_bytes"] is None'
}

@test "verdicts are coloured as --color says" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search --algo ring -o ring.json "$GTOPO_SRC/share/xml/dgx-1v.xml"
	run_split gtopo verify ring.json
	want 0 ""
	[[ $out != *$'\e'* ]]
	run_split gtopo verify --color always ring.json
	[[ $out == $'\e[32mcorrect\e[0m   allreduce'*\
$': \e[32moptimal\e[0m, \e[32mproven\e[0m\n'* ]]
	run_split gtopo verify --color always --json ring.json
	[[ $out != *$'\e'* ]]
}

@test "no message that a GPU holds goes by a slower row, and above the bound is explained" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search -q -o one "$GTOPO_SRC/share/xml/dgx-h100.xml"
	run_split gtopo verify one
	[ "$status" -eq 0 ]
	[[ $out == *"two-shot up to 137438953472 bytes: "*" GB/s busbw there, 10"[0-9]"% of the bound, predicted"* ]]
	[[ $out == *"(above 100%: the bound counts NCCL's link rates, "* ]]
}

@test "--json is as its schema says, for right and for wrong plans" {
	cd "$BATS_TEST_TMPDIR"
	for file in "$GTOPO_SRC"/tests/cases/plan/good/*/plan.json \
		"$bad"/{steps-race-in-place,wrong-*}/plan.json; do
		[ -f "$file" ] || continue
		n=$((n + 1))
		gtopo verify --json "$file" >"$n.json" || [ $? -eq 1 ]
	done
	gtopo search -q -o plan "$GTOPO_SRC/share/xml/dgx-1v.xml"
	gtopo verify --json --topology "$GTOPO_SRC/share/xml/dgx-1v.xml" plan \
		>searched.json
	follows verdict-1 *.json
	grep -q '"fault"' *.json
	grep -q '"rows"' *.json
}
