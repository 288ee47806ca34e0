# gtopo run on CPU ranks.
load common

setup() {
	plan=$BATS_TEST_TMPDIR/plan.json
}

# An 8-GPU ring plan, as the search makes it.
ring_plan() {
	gtopo search --algo ring "$GTOPO_SRC/share/xml/dgx-h100.xml" >"$plan"
}

host() {
	gtopo run --plan "$plan" --device host "$@"
}

need_python() {
	python3 -c "import ${1:-json}" 2>/dev/null ||
		skip "no python3${1:+-$1}"
}

# rows: how many measurements are on standard output.
rows() {
	grep -c '^ ' <<<"$out"
}

@test "all collectives, types and operators are right" {
	factor=64 sizes=4
	[ -z "${GTOPO_TEST_BRIEF:-}" ] || factor=4096 sizes=2
	ring_plan
	run_split host -b 1 -e 256K -f $factor -n 1 -w 0 --dtype all --op all
	[ "$status" -eq 0 ]
	# 12 types; 6 operators, or none for all-gather and broadcast
	[ "$(rows)" -eq $((sizes * 12 * (3 * 6 + 2))) ]
	grep -q '^# Out of bounds values : 0 OK$' <<<"$out"
	[ -z "$err" ]
}

@test "from 1 byte to 16 MiB, all collectives of a ring" {
	ring_plan
	run_split host -b 1 -e 16M -n 1 -w 0
	[ "$status" -eq 0 ]
	[ "$(rows)" -eq $((25 * 5)) ]
	grep -qE '^ +16777216 +4194304 +float +sum +-1 ' <<<"$out"
	grep -qE '^ +16777216 +524288 +float +none +-1 ' <<<"$out"
	grep -qE '^ +0 +0 +float +sum +-1 ' <<<"$out"
}

@test "a plan comes through a pipe, workers and slots change nothing" {
	ring_plan
	run_split gtopo run --plan - --device host --coll reducescatter \
		-b 100003 -e 100003 -n 2 -w 0 --workers 3 --slots 2 \
		--dtype bf16 --op avg <"$plan"
	[ "$status" -eq 0 ]
	[ "$(rows)" -eq 1 ]
	grep -q ' bf16 ' <<<"$out"
}

@test "JSON follows its schema" {
	ring_plan
	need_python jsonschema
	host -b 1 -e 1M -f 1024 -n 1 -w 0 --percentiles --json -o "$plan.report"
	python3 "$GTOPO_SRC/tests/plan/validate.py" \
		"$GTOPO_SRC/share/schema/report-1.schema.json" "$plan.report"
	python3 - "$plan.report" <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		assert len(report["rows"]) == 5 * 3 * 2
		row = report["rows"][2]
		assert row["bytes"] == 1024 and row["wrong"] == 0
		want = row["algbw_gbs"] * 2 * 7 / 8
		assert abs(row["busbw_gbs"] - want) <= 1e-4 * want
		assert report["error"] is None
	END
}

# The limit is one that no rank reaches for want of a processor.
@test "percentiles of operations one by one" {
	ring_plan
	run_split host --percentiles -b 1K -e 2K --procs 2 -n 30
	[ "$status" -eq 0 ]
	[ "$(grep -cE '^# +(out of|in) place, one by one: p50 [0-9.]+ us, p99 [0-9.]+ us, max [0-9.]+ us$' <<<"$out")" -eq \
		$((2 * $(grep -c '^ ' <<<"$out"))) ]
	run_split host --percentiles -b 1K -e 1K -n 30 --json
	[ "$status" -eq 0 ]
	jq -e '[.rows[] | .p50_us > 0 and .p50_us <= .p99_us and
		.p99_us <= .max_us] | all' <<<"$out"
	run_split host --percentiles --soak 1s
	want 2 "gtopo run: --soak does not measure; leave --percentiles out"
}

@test "a rank that stops is named in time, status 3" {
	ring_plan
	for fault in stall:3:5 exit:5:2 stall:0; do
		SECONDS=0
		run_split host -b 1M -e 1M --timeout 3s --inject $fault
		[ "$status" -eq 3 ]
		[ $SECONDS -le 20 ]
		rank=${fault#*:}
		[[ $err == "gtopo run: rank ${rank%:*} "* ]]
	done
	[[ $err =~ ^'gtopo run: rank 0 (n0 0000:1b:00.0) made no progress for '\
[3-9]\.[0-9]' s at channel 0 step 0 (send)'$ ]]
}

@test "JSON tells why a run ended early, and still is JSON" {
	need_python
	ring_plan
	run_split host -b 1M -e 1M --timeout 3s --inject stall:2 --json
	[ "$status" -eq 3 ]
	python3 -c 'import json, sys
report = json.load(sys.stdin)
assert "rank 2 " in report["error"], report
assert report["rows"] == []' <<<"$out"
}

@test "a failure leaves an old file alone" {
	ring_plan
	echo old >"$plan.report"
	run_split host -b 1M -e 1M --timeout 300ms --inject stall:2 \
		-o "$plan.report"
	[ "$status" -eq 3 ]
	[ "$(cat "$plan.report")" = old ]
}

interrupted() { # SIGNAL ARGUMENT...
	local signal=$1 pid
	shift
	rm -f "$plan.out"
	# A shell's background jobs ignore SIGINT: ask for it anew.
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
os.execv(sys.argv[1], sys.argv[1:])' "$GTOPO" run --plan "$plan" \
		--device host "$@" >"$plan.out" 2>"$plan.err" &
	pid=$!
	until_true test -s "$plan.out"
	kill -$signal $pid
	status=0
	wait $pid || status=$?
	[ "$status" -eq 3 ]
	[ "$(cat "$plan.err")" = "gtopo run: interrupted" ]
}

@test "SIGTERM and SIGINT end a run cleanly, status 3" {
	need_python
	ring_plan
	interrupted TERM -b 4K -e 16M -n 100000
	interrupted INT -b 4K -e 16M -n 100000
}

has_threads() { # PID
	[ "$(ls "/proc/$1/task" | wc -l)" -gt 2 ]
}

@test "a soak whose operations are short is interrupted at once" {
	ring_plan
	local pid begin=$SECONDS
	"$GTOPO" run --plan "$plan" --device host --soak 120s -e 4K \
		>"$plan.out" 2>"$plan.err" &
	pid=$!
	until_true has_threads $pid
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ "$status" -eq 3 ]
	[[ $(cat "$plan.out") == *" 0 elements wrong, then it failed" ]]
	[ "$(cat "$plan.err")" = "gtopo run: interrupted" ]
	[ $((SECONDS - begin)) -lt 60 ]
}

@test "what cannot be run is told: sizes" {
	ring_plan
	run_split host -b 2M -e 1M
	want 2 "gtopo run: -b '2097152' is larger than -e '1048576'"
	run_split host -b 1K -e 1M -f 1
	want 2 "gtopo run: -f '1' never gets from -b to -e; use 2 or more"
	run_split host -b 3 -e 3
	want 2 "gtopo run: -e '3' is less than one element of 'float', which \
has 4 bytes"
	run_split host -b 0 -e 1M
	want 2 "gtopo run: -b '0' never grows; use 1 or more"
	run_split host -b 12Q
	want 2 "gtopo run: --begin '12Q' is not a size such as 4096, 64K or 1G"
	run_split host -b 4K -e 4K -f 1 -n 1
	[ "$status" -eq 0 ]
}

@test "what cannot be run is told: names" {
	ring_plan
	run_split host --dtype quad
	want 2 "gtopo run: --dtype 'quad' is not a type; use all, or one of \
float double half bf16 int8 uint8 int32 uint32 int64 uint64 fp8_e4m3 fp8_e5m2"
	run_split host --op median
	want 2 "gtopo run: --op 'median' is not a reduction; use all, or one \
of sum prod min max avg premul"
	run_split host --inject sleep:1
	want 2 "gtopo run: --inject 'sleep:1' is not stall:RANK[:SLICES] or \
exit:RANK[:SLICES]"
	run_split host --inject exit:8
	want 2 "gtopo run: --inject 'exit:8': the plan has ranks 0 to 7"
	run_split gtopo run
	want 2 "gtopo run: the plan is missing; see 'gtopo help run'"
	run_split host --timeout 0
	want 2 "gtopo run: --timeout '0' leaves no time"
}

@test "what cannot be run is told: memory" {
	ring_plan
	run_split host -b 1K -e 100T
	[ "$status" -eq 3 ]
	[[ $err == "gtopo run: 8 ranks need 1638400.0 GiB for buffers of \
'109951162777600' bytes, "*" GiB are available; use a smaller largest size" ]]
}

@test "a wrong plan never runs: status 2" {
	ring_plan
	run_split host --slots 1 -e 4K
	[ "$status" -eq 2 ]
	[ -z "$out" ]
	sed 's/"share": "1"/"share": "1\/2"/' "$plan" >"$plan.wrong"
	run_split gtopo run --plan "$plan.wrong" --device host -e 4K
	[ "$status" -eq 2 ]
	[[ $err == *share* ]]
	run_split gtopo run --plan /nonexistent
	[ "$status" -eq 2 ]
}

@test "the wrong plans of verify's cases never run" {
	local file n=0
	for file in "$GTOPO_SRC"/tests/cases/plan/bad/*/plan.json; do
		run_split gtopo run --plan "$file" --device host -e 1K
		echo "$file: $status $err"
		[ "$status" -eq 2 ]
		[ -z "$out" ]
		n=$((n + 1))
	done
	[ "$n" -gt 0 ]
}

@test "the right plans of verify's cases run right" {
	local file n=0
	for file in "$GTOPO_SRC"/tests/cases/plan/good/*/plan.json; do
		run_split gtopo run --plan "$file" --device host -b 1 -e 64K \
			-f 256 -n 1 -w 0
		echo "$file: $status $err"
		[[ $err == *"switches multicast"* ]] && continue
		[ "$status" -eq 0 ]
		n=$((n + 1))
	done
	[ "$n" -gt 0 ]
}

@test "a mesh does all nine collectives, from any root" {
	local mesh=$GTOPO_SRC/tests/cases/plan/good/mesh5-alltoall/plan.json
	run_split gtopo run --plan "$mesh" --device host --coll all -r 3 \
		-b 64K -e 64K -n 1 -w 0
	[ "$status" -eq 0 ]
	[ "$(rows)" -eq 9 ]
	[ "$(grep -cE '^ +6[0-9]+ .* 3 ' <<<"$out")" -eq 4 ]
	grep -qE '^ +65520 +3276 +float +none +-1 ' <<<"$out"
	run_split gtopo run --plan "$mesh" --device host -r 5
	want 2 "gtopo run: --root '5': the plan has ranks 0 to 4"
	run_split gtopo run --plan "$mesh" --device host --coll allsort
	want 2 "gtopo run: --coll 'allsort' is not one of allreduce|allgather|\
reducescatter|broadcast|reduce|alltoall|gather|scatter|sendrecv|all"
}

@test "the plan stands alone, too, and collectives are known however written" {
	ring=$GTOPO_SRC/tests/cases/plan/good/ring4/plan.json
	for name in all-reduce all_reduce AllReduce allreduce; do
		run_split gtopo run "$ring" --device host -e 1K --coll $name
		want 0 ""
		run_split gtopo predict "$ring" --coll $name -e 1K
		want 0 ""
		run_split gtopo verify --plan "$ring" --coll $name
		want 0 ""
		run_split gtopo search --coll $name --algo ring \
			"$GTOPO_SRC/share/xml/dgx-1v.xml"
		want 0 ""
	done
	for name in Float float32 FP8-E4M3; do
		run_split gtopo run "$ring" --device host -b 1K -e 1K \
			--coll allreduce --dtype $name --op SUM
		want 0 ""
	done
	run_split gtopo run "$ring" --plan "$ring"
	want 2 "gtopo run: --plan '$ring' and '$ring': one plan is enough"
	run_split gtopo verify
	want 2 "gtopo verify: the plan is missing; see 'gtopo help verify'"
	run_split gtopo search --coll all-reduse "$ring"
	[[ "$status $err" == *"2 gtopo search: --coll 'all-reduse' is not one of "*"; did you mean 'allreduce'?" ]]
}

@test "habits of nccl-tests are told what they are here" {
	ring=$GTOPO_SRC/tests/cases/plan/good/ring4/plan.json
	run_split gtopo run "$ring" -d float
	want 2 "gtopo run: '-d' is --dtype here"
	run_split gtopo run "$ring" -c1
	want 2 "gtopo run: '-c' is not needed: every element is always checked"
	run_split gtopo run "$ring" -g 8
	[[ "$status $err" == "2 gtopo run: '-g' is not needed: the plan says "* ]]
	run_split gtopo run "$ring" -o sum
	want 2 "gtopo run: -o 'sum' is the file to write; the operator is --op sum"
	[ ! -e sum ]
}

@test "too few bytes for an element a rank are told" {
	ring=$GTOPO_SRC/tests/cases/plan/good/ring4/plan.json
	small="gtopo run --device host -n 1 -w 0 -b 8 $ring"
	run_split $small -e 8 --coll allgather
	want 0 "gtopo run: -e '8' is less than an element for each of 4 ranks, 16 bytes: collectives that divide bytes among ranks move none"
	run_split $small -e 16 --coll allgather
	want 0 ""
	run_split $small -e 8 --coll allreduce
	want 0 ""
}

@test "a topology is no plan, and a plan no topology" {
	ring=$GTOPO_SRC/tests/cases/plan/good/ring4/plan.json
	xml=$GTOPO_SRC/share/xml/dgx-1v.xml
	for command in verify predict "run --device host"; do
		# shellcheck disable=SC2086
		run_split gtopo $command "$xml"
		want 2 "gtopo ${command%% *}: $xml: is XML, not JSON; 'gtopo search' makes a plan of a topology"
	done
	run_split gtopo show "$ring"
	want 2 "gtopo show: $ring: is a plan; 'gtopo show --plan', verify, predict, run and export take it"
}

@test "a file of another kind is told what it is" {
	ring=$GTOPO_SRC/tests/cases/plan/good/ring4/plan.json
	cd "$BATS_TEST_TMPDIR"
	gtopo run --device host -b 1K -e 1K -n 1 -w 0 --trace trace.json \
		--json --plan "$ring" -o report.json 2>/dev/null
	gtopo search --algo ring dgx-1v |
		gtopo export --to nccl-graph -o graph.xml -
	for command in verify predict steps; do
		# shellcheck disable=SC2086
		run_split gtopo $command report.json
		want 2 "gtopo ${command%% *}: report.json: is the report of a run; 'gtopo compare' and 'gtopo page --report' take it"
	done
	run_split gtopo verify trace.json
	want 2 "gtopo verify: trace.json: is the trace of a run; 'gtopo page --trace' takes it"
	run_split gtopo verify graph.xml
	want 2 "gtopo verify: graph.xml: is a graph file of NCCL's; 'gtopo nccl' takes it"
	for command in show search "diff dgx-1v"; do
		# shellcheck disable=SC2086
		run_split gtopo $command graph.xml
		want 2 "gtopo ${command%% *}: graph.xml:1:1: is a graph file of NCCL's; 'gtopo nccl' takes it"
		# shellcheck disable=SC2086
		run_split gtopo $command report.json
		want 2 "gtopo ${command%% *}: report.json: is the report of a run; 'gtopo compare' and 'gtopo page --report' take it"
	done
	gtopo export --to msccl -o algo.xml "$ring"
	run_split gtopo show algo.xml
	want 2 "gtopo show: algo.xml:1:1: is an algorithm of MSCCL; 'gtopo import' makes a plan of it"
}

@test "a plan is an operand or --plan, wherever one is taken" {
	ring=$GTOPO_SRC/tests/cases/plan/good/ring4/plan.json
	for command in verify predict steps "export --to dot"; do
		# shellcheck disable=SC2086
		gtopo $command --plan "$ring" >"$BATS_TEST_TMPDIR/option"
		# shellcheck disable=SC2086
		gtopo $command "$ring" >"$BATS_TEST_TMPDIR/operand"
		cmp "$BATS_TEST_TMPDIR/option" "$BATS_TEST_TMPDIR/operand"
		# shellcheck disable=SC2086
		run_split gtopo $command
		want 2 "gtopo ${command%% *}: the plan is missing; see 'gtopo help ${command%% *}'"
	done
	run_split gtopo export --to k8s-labels --plan "$ring"
	want 2 "gtopo export: --plan '$ring': this format is not of a plan"
	run_split gtopo export --to k8s-labels
	want 2 "gtopo export: FILE is missing; see 'gtopo help export'"
}

@test "busbw is nccl-tests' for each collective" {
	need_python
	gtopo run --device host -b 1M -e 1M -n 1 -w 0 --json --plan \
		"$GTOPO_SRC/tests/cases/plan/good/mesh5-alltoall/plan.json" |
		python3 -c '
import json, sys
factors = {"allreduce": 8 / 5, "broadcast": 1, "reduce": 1, "sendrecv": 1}
rows = json.load(sys.stdin)["rows"]
assert len(rows) == 18
for row in rows:
    want = row["algbw_gbs"] * factors.get(row["coll"], 4 / 5)
    assert abs(row["busbw_gbs"] - want) <= 1e-4 * want, row
    rooted = row["coll"] in ("broadcast", "reduce", "gather", "scatter")
    assert ("root" in row) == rooted
'
}

@test "a tree serves its own root only" {
	local tree=$GTOPO_SRC/tests/cases/plan/good/tree6-broadcast/plan.json
	run_split gtopo run --plan "$tree" --device host -b 1K -e 1K -n 1 -w 0
	[ "$status" -eq 0 ]
	grep -qE '^ +1024 +256 +float +none +2 ' <<<"$out"
	run_split gtopo run --plan "$tree" --device host -r 1
	want 2 "gtopo run: $tree: select[0].channels[0]: channel '0' has its \
root at rank 2, the 'broadcast' at rank 1"
	run_split gtopo run --plan "$tree" --device host --coll gather
	want 2 "gtopo run: $tree: the plan has nothing for 'gather'"
}

@test "the number of wrong elements is coloured as --color says" {
	ring_plan
	run_split gtopo run --plan "$plan" --device host -e 1K
	[[ $out != *$'\e'* ]]
	run_split gtopo run --color always --plan "$plan" --device host -e 1K
	want 0 ""
	[[ $out == *$' : \e[32m0 OK\e[0m\n'* ]]
	run_split gtopo run --color always --plan "$plan" --device host -e 1K \
		--json
	[[ $out != *$'\e'* ]]
}

@test "a full disk is noticed at once" {
	[ -c /dev/full ] || skip "no /dev/full"
	ring_plan
	status=0
	host -b 1K -e 1M >/dev/full 2>"$plan.err" || status=$?
	[ "$status" -eq 3 ]
	grep -q "cannot write: No space left on device" "$plan.err"
}

# What the search finds for any real machine runs, though none of it is here.
@test "the plans of all real topologies run right" {
	need_topologies
	local file n=0
	for file in "$GTOPO_TEST_TOPOLOGIES"/*.xml; do
		gtopo search --algo ring "$file" >"$plan" 2>/dev/null ||
			continue
		host -b 1 -e 64K -f 16 -n 1 -w 0 >"$plan.out" || {
			echo "$file"
			tail "$plan.out"
			return 1
		}
		n=$((n + 1))
	done
	echo "# $n plans"
	[ "$n" -gt 0 ]
}

@test "options for GPUs are refused where CPUs run" {
	ring_plan
	for option in "--map index" "--map share" --graph --best \
		"--max-blocks 8"; do
		# shellcheck disable=SC2086
		run_split host $option -e 1K
		[ "$status" -eq 2 ]
		words="${option% 8} is for GPUs; engine 'host' needs none"
		[[ $err == *"$words"* ]]
		[ -z "$out" ]
	done
	run_split host --max-blocks 0 -e 1K
	[ "$status" -eq 2 ]
	[[ $err == *"--max-blocks '0' is not a whole number from 1 to 1024"* ]]
	run_split host --map bus -e 1K
	[ "$status" -eq 2 ]
	run_split host --map id -e 1K -n 1 -w 0
	[ "$status" -eq 0 ]
}

# Of a ring of 8 on 1 MiB: each element goes 14 times over some link.
whole_trace() { # FILE
	[ "$(jq '[.otherData.links[].bytes] | add' "$1")" -eq \
		$((14 * 1048576)) ] || return
	[ "$(jq '[.traceEvents[] | select(.cat == "move" and .args.to) |
		.args.bytes] | add' "$1")" -eq $((14 * 1048576)) ] || return
	# All ranks have their name, and nothing goes back in time.
	[ "$(jq '[.traceEvents[] | select(.name == "process_name")] | length' \
		"$1")" -eq 8 ] || return
	[ "$(jq '[.traceEvents[] | select(.ph == "X" and
		(.dur < 0 or .ts < 0))] | length' "$1")" -eq 0 ] || return
	[ "$(jq '.otherData.steps_dropped' "$1")" -eq 0 ] || return
	# The named link is the slowest of the list.
	jq -e '.otherData | .slowest_link as $s | (.links | min_by(.gbs)) |
		.from == $s.from and .to == $s.to' "$1"
}

@test "a trace has every step, and all bytes of every link" {
	command -v jq >/dev/null || skip "no jq"
	ring_plan
	trace=$BATS_TEST_TMPDIR/trace.json
	for procs in 1 3; do
		rm -f "$trace"
		run_split host -b 1M -e 1M -n 1 -w 0 --coll allreduce \
			--procs $procs --trace "$trace"
		[ "$status" -eq 0 ]
		[[ $err == *"gtopo run: the slowest link: rank "*" GB/s while it "* ]]
		whole_trace "$trace"
	done
}

@test "a trace that cannot be written is told" {
	ring_plan
	run_split host -b 1K -e 1K -n 1 -w 0 --trace /nowhere/trace.json
	[ "$status" -eq 3 ]
	[[ $err == "gtopo run: /nowhere/trace.json: "* ]]
}

@test "what adds from rank to rank is not run as invariant" {
	ring_plan
	run_split host --invariant -e 1K -n 1 -w 0
	want 2 "gtopo run: allreduce by ring is not invariant: it adds up from \
rank to rank; 'gtopo search --invariant' makes a plan that is"
	run_split host --invariant --coll allgather -b 1K -e 1K -n 1 -w 0
	[ "$status" -eq 0 ]
	gtopo search -q --algo mesh "$GTOPO_SRC/share/xml/dgx-h100.xml" >"$plan"
	run_split host --invariant -b 1K -e 1K -n 1 -w 0
	[ "$status" -eq 0 ]
}

@test "--p2p: words that make no sense, and no GPUs" {
	ring_plan
	for words in on 0 0- 0-0 0-1, "0-1;2-3"; do
		run_split host --p2p "$words"
		[ "$status" -eq 2 ]
		grep -q -- "--p2p: '$words' makes no sense from character" \
			<<<"$err"
		grep -q "pairs of ranks such as 0-1,2-3" <<<"$err"
	done
	run_split host --p2p 0-8
	[ "$status" -eq 2 ]
	grep -q "rank 8, but there are ranks 0 to 7" <<<"$err"
	run_split host --p2p 0-1,2-3
	[ "$status" -eq 2 ]
	grep -q -- "--p2p is for GPUs; engine 'host' needs none" <<<"$err"
}
