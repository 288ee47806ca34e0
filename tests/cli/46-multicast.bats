# gtopo search --algo nvls and collnet: switches that multicast and add up.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

# What verify says of the value, and that the bound is proven.
value() { # FILE
	gtopo verify "$1" >verdict
	grep -q '^bound .* through its switches: optimal, proven$' verdict
	sed -n 's/^value *//p' verdict
}

@test "NVSwitches of one machine, for all that does not only move" {
	for coll in allreduce allgather reducescatter broadcast reduce; do
		gtopo search --algo nvls --coll $coll -o $coll.json \
			"$xml/dgx-h100.xml"
		value $coll.json
		follows plan-1 $coll.json
		gtopo verify --topology "$xml/dgx-h100.xml" $coll.json
	done >values
	grep '(' values | grep -v machine >told
	[ "$(grep -c '^576.8 GB/s busbw (329.6 algbw)' told)" = 1 ]
	[ "$(grep -c '^324.45 GB/s busbw (370.8 algbw)' told)" = 2 ]
	[ "$(grep -c '^370.8 GB/s busbw (370.8 algbw)' told)" = 2 ]
}

@test "a whole NVL72, and SHARP between nodes" {
	gtopo search --algo nvls -o rack.json "$xml/gb200-nvl72.xml"
	[ "$(value rack.json)" = "1404.05 GB/s busbw (711.9 algbw)" ]
	gtopo search --algo collnet -o pod.json "$xml/dgx-superpod-h100.xml"
	[ "$(value pod.json)" = "658.551 GB/s busbw (329.6 algbw)" ]
	# Four of eight cards limit what the NVSwitches would carry.
	sed 's/nets="[^"]*" names="[^"]*"/nets="0,3-5" count="2"/; s/nodes="32" //
		s|file="|&'"$xml"'/|' "$xml/dgx-superpod-h100.xml" >four.xml
	gtopo search --algo collnet -o four.json four.xml
	gtopo verify four.json | grep '^value'
}

@test "the bound is of all who may drive, over all cards" {
	python3 "$GTOPO_SRC/tests/cli/switch_exits.py" "$GTOPO" 1 30
	cat >two.xml <<-E
		<cluster version="1">
		  <node file="$xml/dgx-h100.xml" count="2"/>
		  <fabric sharp="1"><level/></fabric>
		</cluster>
	E
	gtopo search --algo collnet -o plan.json two.xml
	gtopo verify plan.json
	# Whoever drives whose link has no price makes a tree that costs less.
	python3 - <<-'E'
		import json
		plan = json.load(open('plan.json'))
		prices = plan['proof']['certificate']['prices']
		first, second = sorted(prices)[:2]
		prices[first], prices[second] = '0', '2/9'
		json.dump(plan, open('free.json', 'w'))
	E
	run_split gtopo verify free.json
	[ "$status" != 0 ]
	[[ $err$out == *"costs less than 1"* ]]
}

@test "what NCCL's NVLS was measured to reach" {
	gtopo search --algo nvls -o h100.json "$xml/dgx-h100.xml"
	run_split gtopo predict --json -b 8G -e 8G h100.json
	busbw=$(sed -n 's/.*"busbw_gbs": \([0-9]*\).*/\1/p' <<<"$out")
	[ "$busbw" = 480 ]
	for gpus in 5:258 6:265 7:270; do
		gtopo search --algo nvls --gpus 0-$((${gpus%:*} - 1)) \
			-o few.json "$xml/dgx-h100.xml"
		run_split gtopo predict --json -b 8G -e 8G few.json
		algbw=$(sed -n 's/.*"algbw_gbs": \([0-9]*\).*/\1/p' <<<"$out")
		((algbw >= ${gpus#*:} - 2 && algbw <= ${gpus#*:} + 2))
	done
	run_split gtopo search --explain "$xml/dgx-h100.xml"
	[[ $out == *"up to 576.8 GB/s busbw, some 481 as NCCL was measured"* ]]
}

@test "graphs for NCCL" {
	gtopo search --algo nvls -o h100.json "$xml/dgx-h100.xml"
	gtopo export --to nccl-graph -o graph.xml h100.json
	grep -q 'id="3" pattern="5".*nchannels="8" speedintra="41.2"' graph.xml
	[ "$(grep -c '<gpu ' graph.xml)" = 8 ]
	run_split gtopo nccl --topo "$xml/dgx-h100.xml" graph.xml
	[[ $out == *"nvls "*"8 channels of 41.2 GB/s, 329.6 together"* ]]
	gtopo search --algo collnet -o pod.json "$xml/dgx-superpod-h100.xml"
	gtopo export --to nccl-graph -o graph.xml pod.json
	grep -q 'id="4" pattern="6".*nchannels="8"' graph.xml
	[ "$(grep -c '<gpu ' graph.xml)" = 72 ]
	[ "$(grep -c '<net dev="11"/>' graph.xml)" = 4 ]
}

@test "no engine runs such a plan" {
	gtopo search --algo nvls --gpus 0-1 -o plan.json "$xml/dgx-h100.xml"
	for command in "run --plan" tune "export --to dot" "export --to msccl"; do
		run_split gtopo $command plan.json
		[ "$status" = 2 ]
		[[ $err == *"plan.json: has switches multicast and add up (nvls)"* ]]
	done
}

@test "where switches cannot" {
	refuse() { # WORDS OPTION...
		run_split gtopo search "${@:2}"
		[ "$status" != 0 ]
		[[ $err == *"$1"* ]]
	}
	refuse "rank 0 has sm 80" --algo nvls "$xml/dgx-a100.xml"
	refuse "--algo nvls cannot do alltoall" --algo nvls --coll alltoall \
		"$xml/dgx-h100.xml"
	refuse "--explain is not for --algo nvls" --algo nvls --explain \
		"$xml/dgx-h100.xml"
	refuse "is for two GPUs or more" --algo nvls --gpus 3 "$xml/dgx-h100.xml"
	refuse "NVLinks to; plan for GPUs of one machine that it joins (--gpus), or \
take --algo auto, which needs none" --algo nvls \
		"$xml/2x-dgx-h100.xml"
	refuse 'neither sharp="1" of the fabric nor coll="1" of all its ports; if they do, write that into the <fabric> of the cluster file' --algo collnet \
		"$xml/2x-dgx-h100.xml"
	refuse "--algo collnet is for several nodes" --algo collnet \
		"$xml/dgx-h100.xml"
	refuse "--algo collnet cannot do broadcast" --algo collnet \
		--coll broadcast "$xml/dgx-superpod-h100.xml"
	# Every port says so, in place of the fabric.
	sed 's/gdr="1"\/>/gdr="1" coll="1"\/>/' "$xml/dgx-h100.xml" >coll.xml
	gtopo search --algo collnet --nodes 4 coll.xml >plan.json
	gtopo verify plan.json
}
