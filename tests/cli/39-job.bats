# gtopo search --job: all that a job's ranks say in a step, and their places.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cases=$GTOPO_SRC/tests/cases/job
	cd "$BATS_TEST_TMPDIR" || return
}

# job JSON: a job of two axes that says this.
job() {
	cat >job.json <<-END
		{"schema": "gtopo.job/1",
		 "axes": [{"name": "dp", "size": $1}, {"name": "tp", "size": $2}],
		 "communication": [$3]}
	END
}

@test "collectives are known however written, with text sizes" {
	for name in all-reduce all_reduce AllReduce allreduce; do
		job 2 4 "{\"name\": \"all\", \"collective\": \"$name\",
			 \"over\": [\"tp\"], \"bytes\": \"64M\"}"
		run_split gtopo search --json --job job.json "$xml/dgx-1v.xml"
		want 0 ""
		[[ $out == *'"collective": "allreduce"'* ]]
	done
}

@test "-o names a folder, and what went there is told" {
	job 2 4 '{"name": "all", "collective": "allreduce", "over": ["tp"],
	          "bytes": "64M"}'
	run_split gtopo search --job job.json -o placed "$xml/dgx-1v.xml"
	want 0 ""
	[[ $out == *"written   placed/: report.json, plan-0.json ..., ranks.csv, hosts, order.json" ]]
	for file in report.json plan-0.json ranks.csv hosts order.json; do
		[ -s placed/$file ]
	done
	for file in placed/plan-*.json; do
		gtopo verify "$file"
	done
	# Again into the same folder, which is replaced; JSON has no such line.
	run_split gtopo search --json --job job.json -o placed "$xml/dgx-1v.xml"
	want 0 ""
	echo "$out" | diff - placed/report.json
	run_split gtopo search --job job.json -o plan.json "$xml/dgx-1v.xml"
	want 2 "gtopo search: plan.json: would be a folder, for --job has several \
files to write: name it without '.json', or take the report alone by --json >FILE"
	[ ! -e plan.json ]
	run_split gtopo search --job job.json -o job.json "$xml/dgx-1v.xml"
	want 2 "gtopo search: job.json: is no folder, and --job has several files \
to write: name one, or take the report alone by --json >FILE"
	grep -q schema job.json
}

# Every job on every cluster that is large enough; a script of its own adds the
# loads up, and the program verifies each plan.
@test "loads of real jobs add up, and plans are right" {
	for file in "$cases"/good/*.json; do
		for site in "$xml/dgx-superpod-h100.xml" "$xml/gb200-nvl72.xml" \
			"--nodes 16 $xml/mi300x.xml" "--nodes 16 $xml/dgx-a100.xml"; do
			[[ $file$site != *llama-70b*gb200* ]] || continue
			rm -rf out
			# shellcheck disable=SC2086
			gtopo search -q --job "$file" -o out $site >text
			grep -q '^bound  ' text
			python3 "$GTOPO_SRC/tests/cli/job_loads.py" out
			[ "$(wc -l <out/hosts)" -eq "$(($(wc -l <out/ranks.csv) - 1))" ]
			for plan in out/plan-*.json; do
				gtopo verify "$plan" >/dev/null
			done
		done
	done
}

# Where a launcher gives nodes ranks in turn the assignment gains; the same script
# adds up what both put on links.
@test "ranks that were put onto nodes in turn gain by their places" {
	while read -r least file site; do
		rm -rf out
		# shellcheck disable=SC2086
		gtopo search -q --by-node --job "$cases/good/$file.json" \
			-o out --nodes 16 "$xml/$site.xml" >text
		grep -q '^by number .* times as long$' text
		python3 "$GTOPO_SRC/tests/cli/job_loads.py" out
		python3 -c '
import json, sys
made = json.load(open("out/report.json"))
best, first = made["assignment"], made["by_number"]
assert first["expected_s"] > float(sys.argv[1]) * best["expected_s"]
nodes = [at["node"] for at in sorted(first["ranks"], key=lambda at: at["rank"])]
count = len(set(nodes))
assert count == len(nodes) / 8 and len(set(nodes[:count])) == count
assert nodes == nodes[:count] * 8' "$least"
		for plan in out/plan-*.json; do
			gtopo verify "$plan" >/dev/null
		done
	done <<-END
		9 llama-70b mi300x
		1.4 moe-ep16 mi300x
		17 llama-70b dgx-a100
	END
	run_split gtopo search --by-node "$xml/dgx-1v.xml"
	want 2 "gtopo search: --by-node is for --job"
}

# By bytes alone the order of the axes is the best there, and 1.15 times as long.
@test "a nesting with more bytes and less latency is found" {
	gtopo search --json --job "$cases/good/moe-ep16.json" --nodes 16 \
		"$xml/dgx-a100.xml" | python3 -c '
import json, sys
made = json.load(sys.stdin)
best, first = made["assignment"], made["by_number"]
assert best["seconds"] > first["seconds"]
assert first["expected_s"] > 1.1 * best["expected_s"]'
}

@test "the gap is told, and small, or proven to be none" {
	run_split gtopo search --job "$cases/good/zero3-64.json" --nodes 8 \
		"$xml/dgx-h100.xml"
	[[ $out == *"optimal, proven"* ]]
	for machine in dgx-h100 mi300x; do
		for file in llama-70b moe-ep16; do
			gtopo search --json --job "$cases/good/$file.json" \
				--nodes 16 "$xml/$machine.xml" | python3 -c '
import json, sys
made = json.load(sys.stdin)
gap = 1 - made["bound_s"] / made["assignment"]["seconds"]
assert 0 <= gap < 0.02, gap
assert made["nodes_bounded"] and made["complete"]'
		done
	done
}

# What follows from several values, such as ranks that are twice in groups, only
# the program can tell.
@test "the schema of jobs takes what is right, and refuses wrong keys and values" {
	follows job-1 "$cases"/good/*.json
	for name in axis-size axis-zero both broadcast bytes-zero collective \
		count key name no-axes no-bytes no-entry over-and-groups \
		over-twice schema; do
		run follows job-1 "$cases/bad/$name.json"
		[ "$status" -eq 1 ]
	done
}

# entry KEY JSON: a job whose only entry has this.
entry() {
	jq -n --arg key "$1" --argjson value "$2" '{schema: "gtopo.job/1",
		axes: [{name: "tp", size: 2}], communication: [{name: "all",
		collective: "allreduce", over: ["tp"], bytes: 64, phase: "p"} |
		.[$key] = $value]}'
}

# both WORD KEY JSON...: what reader and schema are to say of such entries.
both() {
	local word=$1 key=$2 value
	shift 2
	for value; do
		entry "$key" "$value" >"$word-$((++number)).json"
		run_split gtopo search --json --job "$word-$number.json" \
			--nodes 2 one.xml
		case $word in
		good) want 0 "" ;;
		bad) [ "$status" -eq 2 ] && [[ $err == *".$key: "* ]] ;;
		esac || {
			echo "$key $value: $status $err"
			return 1
		}
	done
}

@test "the schema of jobs and the reader agree on words and limits" {
	local number=0 long
	gtopo synth "1 numa: 1 switch: 1 gpu 1 nic" -o one.xml
	long=$(printf 'é%.0s' {1..64})
	both good collective '"allreduce"' '"all-reduce"' '"all_reduce"' \
		'"AllReduce"' '"ALL REDUCE"' '"-all--reduce_"' '"All-Gather"' \
		'"Reduce_Scatter"' '"all-to-all"' '"SendRecv"'
	both bad collective '"all-reduse"' '"broadcast"' '"all.reduce"' \
		'"allreduces"' '"all2all"' '""' '7' null
	both good bytes 1 1125899906842624 '"1"' '"64M"' '"64k"' '"64KiB"' \
		'"64gb"' '"007"' '"1024T"' '"1048576G"' '"1073741824M"' \
		'"1099511627776K"' '"1125899906842624"' '"1023TiB"' \
		'"999999999999999"'
	both bad bytes 0 -1 1125899906842625 1.5 '"0"' '"0M"' '""' '"M"' \
		'"64X"' '"64MM"' '"64Bi"' '"64B"' '"-1"' '" 1"' '"1.5M"' \
		'"1025T"' '"1048577G"' '"1073741825M"' '"1099511627777K"' \
		'"1125899906842625"' '"99999999999999999999"' null '["1"]'
	both good phase '"x"' "\"$long\"" '"a b"'
	both bad phase '""' "\"${long}x\"" '"a\u0007b"' '"\u007f"' 7 null
	both good name "\"$long\""
	both bad name '""' "\"x$long\"" '"a\nb"'
	both good count 1 1048576
	both bad count 0 1048577 '"1"'
	[ "$number" -gt 70 ]
	follows job-1 good-*.json
	run follows job-1 bad-*.json
	for file in bad-*.json; do
		grep -F "$file: " <<<"$output" >/dev/null || {
			cat "$file"
			return 1
		}
	done
}

# first: the names at the beginnings of lines.
first() {
	sed -n 's/^\( *[a-z]*\)[: ].*/\1/p'
}

@test "phases are in the order of the file, and explained longest first" {
	job 1 8 '{"name": "small", "collective": "allreduce", "over": ["tp"],
	          "bytes": "1M", "phase": "both"},
	         {"name": "alone", "collective": "allgather", "over": ["tp"],
	          "bytes": "1G"},
	         {"name": "large", "collective": "alltoall", "over": ["tp"],
	          "bytes": "64M", "phase": "both"}'
	run_split gtopo search --explain --job job.json "$xml/dgx-h100.xml"
	want 0 ""
	sed -n '/^  communication/,/^$/p' <<<"$out" | first |
		diff - <(printf '%s\n' "  communication" "  both" "    small" \
			"    large" "  alone")
	sed -n '/^what limits/,$p' <<<"$out" | grep -xE "  [a-z]+" |
		diff - <(printf '%s\n' "  alone" "  both")
}

@test "axes that are numbered badly are put right" {
	job 8 8 '{"name": "layers", "collective": "allreduce", "over": ["tp"],
	          "bytes": "64M", "count": 100},
	         {"name": "gradients", "collective": "allreduce", "over": ["dp"],
	          "bytes": "64M"}'
	run_split gtopo search --job job.json --nodes 8 -o out "$xml/dgx-h100.xml"
	want 0 ""
	[[ $out == *"by number "*" times as long"* ]]
	[[ $out == *$'\nin a node tp 8\namong     dp 8\n'* ]]
	python3 "$GTOPO_SRC/tests/cli/job_loads.py" out
	# Rank 1 is the second of dp, on the first GPU of the second node.
	head -4 out/ranks.csv | diff - <(printf '%s\n' rank,node,gpu 0,node-0,0 \
		1,node-1,0 2,node-2,0)
	head -2 out/hosts | diff - <(printf '%s\n' node-0 node-1)
	[[ $(<out/order.json) == "[0, 8, 16, 24, 32, 40, 48, 56, 1, "* ]]
}

@test "switches between nodes are counted" {
	cat >cluster.xml <<-END
		<cluster version="1">
		  <node file="$xml/dgx-h100.xml" nets="0,3-6,9-11" count="8"/>
		  <fabric><level nodes="4" oversubscription="4"/><level/></fabric>
		</cluster>
	END
	job 8 8 '{"name": "all", "collective": "allgather", "over": ["dp"],
	          "bytes": "64M", "count": 100},
	         {"name": "tokens", "collective": "alltoall", "over": ["dp"],
	          "bytes": "64M", "count": 100},
	         {"name": "layers", "collective": "allreduce", "over": ["tp"],
	          "bytes": "64M", "count": 9999}'
	run_split gtopo search --explain --job job.json -o out cluster.xml
	want 0 ""
	python3 "$GTOPO_SRC/tests/cli/job_loads.py" out
	grep -q '"switch0.1>switch1.0"' out/report.json
}

@test "tokens may go to more than 64 GPUs" {
	job 8 64 '{"name": "tokens", "collective": "alltoall",
	           "over": ["dp", "tp"], "bytes": "1G"}'
	run_split gtopo search --job job.json -o out \
		"$xml/dgx-superpod-h100.xml"
	want 0 ""
	python3 "$GTOPO_SRC/tests/cli/job_loads.py" out
	# 256 GPUs have half of what they send for the 256 of the other leaves.
	grep -qF '"switch0.0>switch1.0", "gbs": 1600, "bytes": [17179869184]' \
		out/report.json
}

@test "who shares a link, and what would help" {
	job 2 8 '{"name": "one", "collective": "allgather", "over": ["dp"],
	          "bytes": 3000000000, "phase": "end"},
	         {"name": "other", "collective": "allgather", "over": ["dp"],
	          "bytes": 1000000000, "phase": "end"}'
	run_split gtopo search --explain --job job.json \
		--nodes 2 "$xml/dgx-h100.xml"
	want 0 ""
	[[ $out == *"all at the same time"* ]]
	job 2 4 '{"name": "one", "collective": "allgather", "over": ["tp", "dp"],
	          "bytes": 3000000000, "phase": "end"},
	         {"name": "other", "collective": "allgather", "over": ["tp", "dp"],
	          "bytes": 1000000000, "phase": "end"}'
	run_split gtopo search --explain --job job.json "$xml/dgx-h100.xml"
	want 0 ""
	[[ $out == *"   75% of it is one"* && $out == *"   25% of it is other"* ]]
	[[ $out == *"if all links like these were twice as wide: "* ]]
}

@test "ranks may be listed, and a job may be of one machine" {
	cat >job.json <<-END
		{"schema": "gtopo.job/1", "ranks": 4, "communication": [
		 {"name": "pairs", "collective": "sendrecv", "bytes": 1024,
		  "groups": [[0, 1], [2, 3]]},
		 {"name": "alone", "collective": "allreduce", "bytes": 1,
		  "groups": [[3]]}]}
	END
	gtopo search --job job.json -o out "$xml/dgx-1v.xml" >/dev/null
	python3 "$GTOPO_SRC/tests/cli/job_loads.py" out
	gtopo search --job - "$xml/dgx-1v.xml" <job.json >/dev/null
}

# Groups that are listed stay where they are, so every assignment of 8 ranks to
# two nodes of four GPUs is a job of its own.
@test "no assignment that can be planned is quicker than the one found" {
	cat >every.py <<-'END'
		import itertools, json, subprocess, sys
		gtopo, machine = sys.argv[1:]
		axes, entries = [('tp', 2), ('dp', 4)], [
		    ('tp', 'allreduce', 3000), ('dp', 'allgather', 2000)]
		def run(job):
		    out = subprocess.run(
		        [gtopo, 'search', '-q', '--json', '--job', '-', '--nodes', '2',
		         machine], input=json.dumps(job), capture_output=True,
		        text=True)
		    return json.loads(out.stdout) if not out.returncode else None
		found = run({'schema': 'gtopo.job/1', 'axes': [
		    {'name': name, 'size': size} for name, size in axes],
		    'communication': [{'name': over, 'over': [over], 'bytes': bytes,
		                       'collective': coll}
		                      for over, coll, bytes in entries]})
		groups = {'tp': [[2 * i, 2 * i + 1] for i in range(4)],
		          'dp': [[0, 2, 4, 6], [1, 3, 5, 7]]}
		times = []
		for first in itertools.combinations(range(1, 8), 3):
		    order = [0, *first]
		    order += [rank for rank in range(8) if rank not in order]
		    made = run({'schema': 'gtopo.job/1', 'ranks': 8, 'communication': [
		        {'name': over, 'bytes': bytes, 'collective': coll,
		         'groups': [[order.index(rank) for rank in group]
		                    for group in groups[over]]}
		        for over, coll, bytes in entries]})
		    if made:
		        times.append(made['assignment']['seconds'])
		best = found['assignment']['seconds']
		assert len(times) >= 4, times
		assert min(times) >= best * (1 - 1e-9), (min(times), best)
		assert min(times) <= best * (1 + 1e-9), (min(times), best)
		assert found['bound_s'] <= best * (1 + 1e-9)
		print(len(times), 'of 35 planned')
	END
	for machine in h200-vm-4 gb200-tray; do
		python3 every.py "$GTOPO" "$xml/$machine.xml"
	done
}

# A GPU of a DGX-1 has double NVLinks to two others, and no nesting gives each
# pair one: these are 0-4, 1-5, 2-3 and 6-7.
@test "pairs of ranks are put where NVLinks are double" {
	job 4 2 '{"name": "layers", "collective": "allreduce", "over": ["tp"],
	          "bytes": "64M", "count": 100}'
	run_split gtopo search --job job.json -o out "$xml/dgx-1v.xml"
	want 0 ""
	[[ $out == *"optimal, proven"*"by number "*" 2 times as long"* ]]
	[[ $out == *$'\ntried     the best of 840 placements\n'* ]]
	[[ $out == *$'\nGPUs      0,1,2,6,4,5,3,7, in order of rank\n'* ]]
	python3 "$GTOPO_SRC/tests/cli/job_loads.py" out
}

@test "small jobs go where no other placement takes less" {
	local jobs=16 machines=("$xml/dgx-1v.xml" "$xml/pcie-8gpu.xml"
		"$xml/workstation-4gpu.xml" "$xml/mi300x.xml")
	[ -z "${GTOPO_TEST_BRIEF:-}" ] ||
		jobs=4 machines=("$xml/workstation-4gpu.xml")
	run python3 -B "$GTOPO_SRC/tests/cli/job_placements.py" "$GTOPO" 1 4 3 \
		"${machines[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"$jobs jobs: the bound is reached in "* ]]
	[[ $output == *"the least of all placements is found in $jobs,"* ]]
}

# By bytes alone ranks by number were the best, and took 1.4 times as long.
@test "latency counts, and nothing is slower than ranks by number" {
	job 2 8 '{"name": "x", "collective": "sendrecv", "over": ["tp"],
	          "bytes": 4096, "count": 10},
	         {"name": "y", "collective": "allgather", "over": ["dp"],
	          "bytes": 65536, "count": 10}'
	for machine in pcie-8gpu dgx-h100 dgx-a100; do
		gtopo search --json --job job.json --nodes 2 \
			"$xml/$machine.xml" >made.json
		python3 -c '
import json, sys
made = json.load(open("made.json"))
best, first = made["assignment"], made["by_number"]
assert best["expected_s"] <= first["expected_s"]
assert best["expected_s"] >= best["seconds"] >= best["bound_s"] > 0
assert sys.argv[1] != "pcie-8gpu" or (
    best["expected_s"] < 0.8 * first["expected_s"] and
    best["seconds"] > first["seconds"])' $machine
	done
}

@test "a search ends with its budget, with the best found and its gap" {
	cat >job.json <<-END
		{"schema": "gtopo.job/1", "axes": [
		 {"name": "a", "size": 4}, {"name": "b", "size": 4},
		 {"name": "c", "size": 2}, {"name": "d", "size": 4},
		 {"name": "e", "size": 2}, {"name": "f", "size": 2},
		 {"name": "g", "size": 2}, {"name": "h", "size": 2}],
		 "communication": [
		 {"name": "x", "collective": "allreduce", "over": ["a", "d"],
		  "bytes": "64M"},
		 {"name": "y", "collective": "alltoall", "over": ["b", "h"],
		  "bytes": "64M"}]}
	END
	run_split timeout 100 "$GTOPO" search --budget 1s --job job.json \
		--nodes 256 "$xml/dgx-h100.xml"
	[ "$status" = 0 ]
	[[ $err == *"there are more assignments than the "*"--budget gives more time"* ]]
	[[ $out == *"tried     the most promising of"* ]]
	[[ $out == *$'\nbound     '* ]]
}

@test "faults of job files are named with place and remedy" {
	for file in "$cases"/bad/*.json; do
		run_split gtopo search --job "$file" "$xml/dgx-1v.xml"
		want 2 "gtopo search: $file: $(<"${file%.json}.error")"
	done
}

@test "what does not go together is refused" {
	job 2 4 '{"name": "a", "collective": "allreduce", "over": ["tp"],
	          "bytes": 1}'
	run_split gtopo search --job job.json --coll alltoall "$xml/dgx-1v.xml"
	[ "$status" -eq 2 ]
	[[ $err == *"--job plans all collectives of its file"* ]]
	run_split gtopo search --json "$xml/dgx-1v.xml"
	want 2 "gtopo search: --json is for --job; a plan is JSON anyway"
	run_split gtopo search --json --explain --job job.json "$xml/dgx-1v.xml"
	[ "$status" -eq 2 ]
	run_split gtopo search --job job.json "$xml/h200-vm-4.xml"
	want 2 "gtopo search: job.json: the job has 8 ranks, but there are 4 \
GPUs; --nodes says how many nodes there are"
	sed 's/count="2"/count="1"/' "$xml/2x-dgx-h100.xml" >two.xml
	cat >mixed.xml <<-END
		<cluster version="1"><node file="$xml/dgx-h100.xml"/>
		<node file="$xml/dgx-a100.xml"/></cluster>
	END
	run_split gtopo search --job job.json mixed.xml
	[ "$status" -eq 2 ]
	[[ $err == *"a job is planned for nodes that are all alike"* ]]
	: >file
	run_split gtopo search --job job.json -o file/out "$xml/dgx-1v.xml"
	[ "$status" -eq 3 ]
	[[ $err == *"file/out: the folder cannot be made: Not a directory" ]]
}
