# gtopo search --demand: an alltoall whose blocks are not all alike.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
	cat >demand.csv <<-END
		0,3,5,2
		4,0,0,9
		5,1,0,2
		1,7,3,0
	END
}

search() {
	gtopo search --gpus 0-3 "$@" "$xml/dgx-1v.xml"
}

@test "a table, an array and a plan's key say the same" {
	search --demand demand.csv -o csv.json
	sed 's/,/ ;\t/g; 2s/^/\n/' demand.csv >blanks.txt
	search --demand blanks.txt | cmp - csv.json
	sed 's/.*/[&],/; 1s/^/[/; $s/,$/]/' demand.csv >array.json
	search --demand - <array.json | cmp - csv.json
	search --demand csv.json | cmp - csv.json
	# Only the proportions count, and the diagonal does not.
	sed 's/[1-9]/&000/g; s/^0/77/' demand.csv >large.csv
	search --demand large.csv | grep -v '^    \[\|_gbs' >large
	grep -v '^    \[\|_gbs' csv.json | cmp - large
	follows plan-1 csv.json
}

@test "the best there is, proved, whatever the machine" {
	for machine in dgx-1v dgx-h100 pcie-8gpu mi250x; do
		for ((i = 0; i < 8; i++)); do
			for ((j = 0; j < 8; j++)); do
				printf '%s ' $((i == j ? 0 : (7 * i + 3 * j) % 5))
			done
			echo
		done >eight
		gtopo search --demand eight -o plan.json "$xml/$machine.xml"
		run_split gtopo verify --topology "$xml/$machine.xml" plan.json
		want 0 ""
		[[ $out == *"any schedule over its routes: "*", proven"* ]]
		[[ $out == *" optimal, "* || $out == *" reached"* ]]
	done
	# One pair alone has all that goes from the one to the other.
	printf '0 1\n0 0\n' >pair
	gtopo search --gpus 0,1 --demand pair "$xml/dgx-h100.xml" |
		grep -q '"value": "1854/5"'
	# What is alike is an alltoall.
	printf '6 6 6 6\n%.0s' 1 2 3 4 >alike
	[ "$(search --demand alike | grep '"value"')" = \
		"$(search --coll alltoall | grep '"value"')" ]
}

@test "a switch is full where a rank has most, and nowhere else" {
	printf '0 9 9 9\n1 0 1 1\n2 1 0 1\n2 1 1 0\n' >most
	gtopo search --gpus 0-3 --demand most -o plan.json "$xml/dgx-h100.xml"
	run_split gtopo verify plan.json
	[[ $out == *"value     370.8 GB/s busbw (370.8 algbw)"* ]]
	[[ $out == *"any schedule over its routes: optimal, proven"* ]]
}

@test "more than a million units are rounded up" {
	printf '0 1000000007 3\n999999937 0 5\n7 11 0\n' >fine
	run_split gtopo search --gpus 0-2 --demand fine -o plan.json \
		"$xml/dgx-1v.xml"
	want 0 "gtopo search: fine: planned for whole multiples of 2048 bytes, \
to which the demand is rounded up"
	grep -q '\[0, 1000001536, 2048\]' plan.json
	gtopo verify plan.json
}

@test "several nodes, up to 64 GPUs" {
	for ((i = 0; i < 16; i++)); do
		for ((j = 0; j < 16; j++)); do
			printf '%s ' $(((i + 2 * j) % 3))
		done
		echo
	done >sixteen
	gtopo search --demand sixteen -o plan.json "$xml/2x-dgx-h100.xml"
	gtopo verify plan.json | grep -q ': optimal, proven'
	# Each block goes over all eight rails, in equal parts.
	run_split gtopo search -v --demand sixteen "$xml/2x-dgx-h100.xml"
	[[ $err == *" in 8 channels"*", 772 flows tried in 0 rounds, "* ]]
	run_split gtopo run --plan plan.json --device host -b 16001 -e 16001 \
		-n 1 -w 0
	want 0 ""
	[[ $out == *"# Out of bounds values : 0 OK"* ]]
	run_split gtopo search --nodes 16 --demand sixteen "$xml/dgx-h100.xml"
	want 2 "gtopo search: --demand is for one machine, or up to 64 GPUs"
}

@test "CPU ranks move these bytes, and no others" {
	for machine in dgx-1v mi250x dgx-h100; do
		gtopo search --gpus 0-3 --demand demand.csv -o plan.json \
			"$xml/$machine.xml"
		for dtype in int8 float double; do
			run_split gtopo run --plan plan.json --device host \
				--dtype $dtype -b 1 -e 500000 -f 79 -n 1 -w 0
			want 0 ""
			[[ $out == *"# Out of bounds values : 0 OK"* ]]
		done
		gtopo run --plan plan.json --device host --workers 3 --slots 1 \
			-b 300001 -e 300001 -n 2 -w 0
	done
	# Between processes, which are told how long each slice is.
	for link in shm tcp; do
		gtopo run --plan plan.json --device host --procs 2 --link $link \
			-b 100000 -e 100000 -n 1 -w 0
	done
	# What a rank has for itself is a copy, even if it is the most.
	printf '90 0 7\n1 0 0\n3 12 5\n' >own
	gtopo search --gpus 0-2 --demand own -o own.json "$xml/dgx-1v.xml"
	gtopo run --plan own.json --device host -b 70000 -e 70000 -n 1 -w 0
}

@test "size and busbw are of the rank that has most" {
	command -v jq >/dev/null || skip "no jq"
	# Rank 1 sends 13 of which 9 go to one rank, rank 3 gets 13.
	search --demand demand.csv -o plan.json
	gtopo run --plan plan.json --device host --json -b 52000 -e 52000 -n 1 \
		-w 0 >report.json
	[ "$(jq -c '.rows[] | [.bytes, .count,
		(.busbw_gbs / .algbw_gbs * 100 | round), .wrong]' report.json)" = "[52000,9000,100,0]" ]
}

# predicted KEY PLAN SIZE
predicted() {
	gtopo predict --json -b "$3" -e "$3" "$2" | jq ".rows[0].$1"
}

@test "a time is predicted" {
	command -v jq >/dev/null || skip "no jq"
	# What is alike takes as long as an alltoall by the same channels.
	printf '6 6 6 6\n%.0s' 1 2 3 4 >alike
	search --demand alike -o alike.json
	search --coll alltoall --algo flow -o even.json
	for size in 4M 256M; do
		[ "$(predicted time_us alike.json $size)" = \
			"$(predicted time_us even.json $size)" ]
	done
	# Much takes as long as the links need that are full, and busbw is of
	# the rank that has most.
	search --demand demand.csv -o plan.json
	value=$(jq .proof.busbw_gbs plan.json)
	busbw=$(predicted busbw_gbs plan.json 64G)
	jq -en "$busbw / $value | . > 0.97 and . < 1"
	# A rank sends 13, of which 9 are for one other.
	gtopo predict -b 52000 -e 52000 plan.json | grep -q ' 52000 *9000 '
	gtopo compare plan.json plan.json
	run_split gtopo predict --coll allgather plan.json
	want 2 "gtopo predict: plan.json: nothing in select is for \
'allgather'; gtopo search --coll allgather makes a plan for it"
}

@test "what cannot take it says so" {
	search --demand demand.csv -o plan.json
	local why="plan.json: has a demand, blocks that are not all alike, \
which gtopo"
	for command in 'tune --plan plan.json --device host' \
		'export --to dot plan.json'; do
		# shellcheck disable=SC2086
		run_split gtopo $command
		want 2 "gtopo ${command%% *}: $why ${command%% *} cannot do \
yet; gtopo verify, predict and run can"
	done
	# What Graphviz and its libraries leave behind is not ours to free.
	ASAN_OPTIONS=detect_leaks=0 gtopo page --plan plan.json -o page.html \
		"$xml/dgx-1v.xml"
	grep -q 'class="verdict"' page.html
	grep -q "not all alike are not drawn" page.html
	grep -q 'class="curves"' page.html
	run_split gtopo show --dot --plan plan.json "$xml/dgx-1v.xml"
	want 2 "gtopo show: $why show cannot do yet; gtopo verify, predict and run \
can"
	for options in '--coll allgather' '--algo ring' '--algo mesh'; do
		# shellcheck disable=SC2086
		run_split search $options --demand demand.csv
		want 2 "gtopo search: --demand is for --coll alltoall, and \
--algo auto or flow"
	done
	run_split search --explain --demand demand.csv
	want 2 "gtopo search: --explain is not for plans with --demand"
}

@test "files that are no demand" {
	run_split gtopo search --demand demand.csv "$xml/dgx-1v.xml"
	want 2 "gtopo search: --demand: the matrix is of 4 ranks, but there are \
8 GPUs"
	# wrong TEXT COMPLAINT
	wrong() {
		printf "$1" >bad
		run_split search --demand bad
		want 2 "gtopo search: $2"
	}
	wrong '' "bad: is empty"
	wrong '0 1\n2 x\n' "bad:2: what is no whole number stands there"
	wrong '0 1\n2 -3\n' "bad:2: what is no whole number stands there"
	wrong '0 1.5\n2 3\n' "bad:1: what is no whole number stands there"
	wrong '0 1\0\n2 3\n' "bad:1: what is no whole number stands there"
	wrong '0 1\n2 3 4\n' \
		"bad:2: the line has not as many numbers as those before"
	wrong '0 1\n' "bad: has 1 lines of 2 numbers; a demand has as many as \
there are ranks"
	wrong '0 99999999999999999999\n1 0\n' \
		"bad:1: a number needs more than 64 bits"
	wrong '0 4611686018427387904\n4611686018427387904 0\n' \
		"demand: the sum of all bytes needs more than 62 bits"
	wrong '0,18446744073709551615\n2305843009213693953,0\n' \
		"demand: the sum of all bytes needs more than 62 bits"
	python3 -c 'for i in range(1024):
		print(*[1 << 63 if (i, k) == (0, 1) else int(i == 1 and k == 0)
			for k in range(1024)])' >large
	run_split search --demand large
	want 2 "gtopo search: demand: the sum of all bytes needs more than 62 \
bits"
	wrong '5 0\n0 5\n' "demand: no rank has bytes for another one"
	wrong '{"demands": []}' "bad: 'demand' is missing"
	wrong '[[0, 1], [2]]' "bad: [1]: has 1 numbers for 2 ranks"
	wrong '[[0, 1], [2, -1]]' \
		"bad: [1][1]: '-1' is not within 0 and 9223372036854775807"
}

@test "64 GPUs below rails, each of which asks for experts of its own" {
	cat >rails.xml <<-END
		<cluster version="1">
		  <node file="$xml/dgx-h100.xml" nets="0,3-6,9-11" count="8"/>
		  <fabric><level rail="each"/></fabric>
		</cluster>
	END
	# Zipf's law of exponent 1.2 over 256 experts, in another order each.
	python3 - >experts.csv <<-'END'
		import random
		draw, n = random.Random(3), 256
		total = sum((e + 1) ** -1.2 for e in range(n))
		for rank in range(64):
		    order, row = list(range(n)), [0] * 64
		    draw.shuffle(order)
		    for e in range(n):
		        row[order[e] // 4] += int(2 ** 26 * (e + 1) ** -1.2 / total)
		    print(*row, sep=",")
	END
	gtopo search -q --coll alltoall --demand experts.csv -o plan rails.xml
	gtopo verify --json plan >said
	jq -e '.bound.proven and .busbw_gbs >= 0.97 * .bound.busbw_gbs' said
}
