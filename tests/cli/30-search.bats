# gtopo search: rings on machines that are cases.

load common

h100() {
	echo "$GTOPO_SRC/share/xml/dgx-h100.xml"
}

@test "eight GPUs on NVSwitch: one ring at full speed, proved" {
	run_split gtopo search --algo ring "$(h100)"
	want 0 ""
	[[ $out == *'"order": [0, 1, 2, 3, 4, 5, 6, 7]'* ]]
	[[ $out == *'"value": "1854/5"'* ]]
	[[ $out == *'"optimal": true'* ]]
}

@test "the same input gives the same plan, also from standard input" {
	cd "$BATS_TEST_TMPDIR"
	cp "$(h100)" node.xml
	gtopo search -o a node.xml
	gtopo search -o b node.xml
	cmp a b
	gtopo search - <node.xml | grep -v '"source"' >c
	grep -v '"source"' a | diff - c
}

@test "-v says what was found" {
	run_split gtopo search -v "$(h100)"
	[ "$status" -eq 0 ]
	[[ $err == *"8 GPUs: rings of 370.8 GB/s in 1 channels"* ]]
	[[ $err == *"proved: no rings reach more"* ]]
}

@test "--gpus takes devs and bus ids, in order of rank" {
	run_split gtopo search --gpus 3,0,0000:52:00.0 "$(h100)"
	want 0 ""
	[[ $out == *'{"rank": 0, "node": "n0", "device": "0000:61:00.0", "dev": 3}'* ]]
	[[ $out == *'{"rank": 1, "node": "n0", "device": "0000:1b:00.0", "dev": 0}'* ]]
	[[ $out == *'{"rank": 2, "node": "n0", "device": "0000:52:00.0", "dev": 2}'* ]]
	[[ $out == *'"order": [0, 1, 2]'* ]]
}

@test "one GPU has a plan without hops" {
	run_split gtopo search --gpus 5 "$(h100)"
	want 0 ""
	[[ $out == *'"order": [0]'* ]]
}

@test "two GPUs" {
	run_split gtopo search --gpus 0,1 --coll allgather "$(h100)"
	want 0 ""
	[[ $out == *'"order": [0, 1]'* ]]
	[[ $out == *'"optimal": true'* ]]
}

@test "an entry of --gpus that is wrong is named" {
	run_split gtopo search --gpus 0,8 "$(h100)"
	want 2 "gtopo search: --gpus: '8' is neither the dev nor the bus id of \
a GPU; see 'gtopo paths'"
	run_split gtopo search --gpus 0,1,0 "$(h100)"
	want 2 "gtopo search: --gpus: '0' is named twice"
	run_split gtopo search --gpus 0,,1 "$(h100)"
	want 2 "gtopo search: --gpus: '' is neither the dev nor the bus id of \
a GPU; see 'gtopo paths'"
}

@test "a file without GPUs is refused, and says what is missing" {
	cd "$BATS_TEST_TMPDIR"
	echo '<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49" affinity="f"/></system>' >none.xml
	run_split gtopo search none.xml
	[ "$status" -eq 2 ]
	[ -z "$out" ]
	[[ $err == "gtopo search: none.xml"* ]]
}

@test "a missing file and a full disk are told" {
	cd "$BATS_TEST_TMPDIR"
	run_split gtopo search nowhere.xml
	[ "$status" -eq 2 ]
	[[ $err == "gtopo search: nowhere.xml: "* ]]
	[ -c /dev/full ] || skip "no /dev/full"
	run_split gtopo search -o /dev/full "$(h100)"
	[ "$status" -eq 3 ]
}

@test "--max-channels keeps to its limit" {
	run_split gtopo search --max-channels 1 "$(h100)"
	want 0 ""
	run_split gtopo search --max-channels 0 "$(h100)"
	[ "$status" -eq 2 ]
}
