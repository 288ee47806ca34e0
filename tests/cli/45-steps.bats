# gtopo steps: programs in words, and that the words are the whole of them.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR"
}

@test "a ring: its first rank, chunk by chunk" {
	gtopo search --algo ring -o ring.json "$xml/dgx-1v.xml"
	run_split gtopo steps --rank 0 --channel 0 ring.json
	want 0 ""
	[ "$(wc -l <<<"$out")" -eq 18 ] # 3 of a head, 2 (8 - 1) + 1 steps
	[[ $(sed -n 2p <<<"$out") == "channel 0: ring, share 1/3, in 8 chunks" ]]
	[ "$(sed -n 3p <<<"$out")" = "  rank 0 (0000:06:00.0)" ]
	next=$(sed -n 's/^ *0  takes chunk 7 of its input, sends it to rank //p' <<<"$out")
	[ -n "$next" ]
	[ "$(grep -c "sends it to rank $next\$" <<<"$out")" -eq 14 ]
	[ "$(grep -c 'adds chunk [0-7] of its input' <<<"$out")" -eq 7 ]
	[ "$(grep -o 'keeps it as chunk [0-7] of its output' <<<"$out" |
		sort -u | wc -l)" -eq 8 ]
}

# balanced FILE: between two ranks as many slices are sent as received.
balanced() {
	python3 - "$1" <<-'END'
	import collections, re, sys
	sent = collections.Counter()
	got = collections.Counter()
	for line in open(sys.argv[1]):
	    channel = re.match(r"channel (\d+)", line) or None
	    if channel:
	        at = channel[1]
	    rank = re.match(r"  rank (\d+)", line)
	    if rank:
	        me = rank[1]
	    for other in re.findall(r"to rank (\d+)", line):
	        sent[at, me, other] += 1
	    for other in re.findall(r"from rank (\d+)", line):
	        got[at, other, me] += 1
	assert sent and sent == got, (sent - got, got - sent)
	END
}

@test "what is sent is received, whatever the plan" {
	for how in "--algo ring dgx-1v" "--algo mesh dgx-h100" \
		"--algo forest pcie-8gpu" "--algo flow --coll alltoall dgx-1v" \
		"--coll broadcast dgx-1v" 2x-dgx-h100; do
		gtopo search -q -o plan.json ${how% *} "$xml/${how##* }.xml" ||
			gtopo search -q -o plan.json "$xml/$how.xml"
		gtopo steps plan.json >steps.txt
		balanced steps.txt
		gtopo steps -b 1K plan.json >steps.txt
		balanced steps.txt
	done
}

@test "a picture: as many arrows as slices, as many dots as steps" {
	for how in "--algo ring dgx-1v" "--algo forest pcie-8gpu" \
		"--algo mesh dgx-h100" "--algo flow --coll alltoall dgx-1v"; do
		gtopo search -q -o plan.json ${how% *} "$xml/${how##* }.xml"
		gtopo steps --svg -o steps.svg plan.json
		gtopo steps plan.json >steps.txt
		python3 - <<-'END'
		import re
		import xml.etree.ElementTree as ET
		tree = ET.parse("steps.svg")
		name = "{http://www.w3.org/2000/svg}"
		arrows = [p for p in tree.iter(name + "path")
		          if p.get("marker-end")]
		words = open("steps.txt").read()
		# A step with no word of another rank has no arrow.
		told = len(re.findall(r" to rank \d+|tells rank|of rank \d+",
		                      words))
		dots = len(list(tree.iter(name + "circle")))
		assert dots == len(re.findall(r"(?m)^    +\d+  ", words)), dots
		assert arrows and len(arrows) == told, (len(arrows), told)
		END
	done
	run_split gtopo steps --svg --rank 1 plan.json
	want 2 "gtopo steps: --svg draws all ranks; leave --rank out"
}

@test "what is not there" {
	gtopo search --algo ring -o ring.json "$xml/dgx-1v.xml"
	run_split gtopo steps --rank 8 ring.json
	want 2 "gtopo steps: ring.json: has 8 ranks, no rank '8'"
	run_split gtopo steps --channel 99 ring.json
	want 2 "gtopo steps: ring.json: does not use channel '99' at this size"
	gtopo search -q --algo flow --coll alltoall -o flow.json "$xml/dgx-1v.xml"
	run_split gtopo steps --coll allreduce flow.json
	want 2 "gtopo steps: flow.json: has no channels that can do 'allreduce'"
	gtopo search -q -o large.json "$xml/dgx-superpod-h100.xml"
	run_split gtopo steps large.json
	want 2 "gtopo steps: large.json: has 1016 ranks; name one with --rank"
	gtopo steps --rank 1015 large.json | grep -q '^  rank 1015 '
}

@test "plans need not say which GPUs their ranks are" {
	for plan in "$GTOPO_SRC"/tests/cases/plan/good/*/plan.json; do
		gtopo steps --rank 0 "$plan" >steps.txt || {
			grep -q '"algo": "\(nvls\|collnet\)"' "$plan"
		}
	done
	gtopo run -q --device host -e 1K -n 1 --trace trace.json --plan \
		"$GTOPO_SRC/tests/cases/plan/good/minimal/plan.json" >run.txt
	grep -F 'rank 0 unnamed' trace.json
}
