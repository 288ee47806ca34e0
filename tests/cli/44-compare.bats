# gtopo compare: rows of plans and reports side by side.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR"
}

# report FILE ROW...: a report with these rows, "coll bytes dtype inplace us gbs".
report() {
	local file=$1 row between=
	shift
	{
		echo '{"schema": "gtopo.report/1", "rows": ['
		for row; do
			set -- $row
			echo "$between{\"ranks\": 4, \"coll\": \"$1\", \"bytes\": $2,
				\"dtype\": \"$3\", \"inplace\": $4, \"wrong\": 0,
				\"time_us\": $5, \"busbw_gbs\": $6}"
			between=,
		done
		echo ']}'
	} >"$file"
}

@test "rows that both have, their mean, and how many others there are" {
	report a.json "allreduce 1024 float false 10 2" \
		"allreduce 1024 float true 10 2" \
		"allreduce 2048 float false 10 4" "gather 4096 half false 1 1"
	report b.json "allreduce 2048 float false 5 8" \
		"allreduce 1024 float false 40 0.5" "gather 4096 float false 1 1" \
		"allreduce 4096 float false 5 8" "reduce 1024 float false 1 1"
	run_split gtopo compare a.json b.json
	want 0 ""
	diff - <(sed 's/ *$//' <<<"$out") <<-'END'
	# A: a.json, measured, 4 ranks
	# B: b.json, measured, 4 ranks
	#        size          coll     type  place     A time     B time   A busbw   B busbw      B/A
	#         (B)                                     (us)       (us)    (GB/s)    (GB/s)
	         1024     allreduce    float    out      10.00      40.00     2.000     0.500    0.250
	         2048     allreduce    float    out      10.00       5.00     4.000     8.000    2.000
	# B is 0.707 times as fast as A (geometric mean of 2 rows)
	# 2 rows of A alone
	# 3 rows of B alone
	END
	command -v jq >/dev/null || skip "no jq"
	gtopo compare --json a.json b.json >c.json
	[ "$(jq -c '[.mean_ratio, .a.rows_alone, .b.rows_alone,
		(.rows[] | .bytes, .ratio)]' c.json)" = \
		"[0.707107,2,3,1024,0.25,2048,2]" ]
}

@test "a plan, and the same plan" {
	gtopo search --algo ring -o ring.json "$xml/dgx-1v.xml"
	run_split gtopo compare ring.json ring.json
	want 0 ""
	[ "$(grep -c ' 1\.000$' <<<"$out")" -eq 21 ]
	[[ $out == *"B is 1.000 times as fast as A (geometric mean of 21 rows)" ]]
}

@test "a plan and what was measured: figures of predict" {
	gtopo search --algo ring -o ring.json "$xml/dgx-1v.xml"
	report r.json "allreduce 65536 half false 20 5" \
		"allreduce 65536 half true 20 5"
	run_split gtopo compare ring.json r.json
	want 0 ""
	us=$(gtopo predict -b 64K -e 64K ring.json | awk '!/^#/ { print $6 }')
	[[ $out == *"65536     allreduce     half    out "*" $us"*" 20.00 "* ]]
	[[ $out == *"(geometric mean of 1 row)"* ]]
}

@test "what cannot be compared" {
	report a.json "allreduce 1024 float false 10 2"
	report b.json "allreduce 2048 float false 10 2"
	run_split gtopo compare a.json b.json
	want 2 "gtopo compare: b.json: has no collective, size and type in common with 'a.json'"
	echo '{"schema": "gtopo.lint/1"}' >c.json
	run_split gtopo compare a.json c.json
	want 2 "gtopo compare: c.json: is neither a plan nor a report; 'gtopo run --json' writes reports, 'gtopo search --job JOB --json' those of jobs"
	[ -z "$out" ]
	run_split gtopo compare a.json
	[ "$status" -eq 2 ]
}

@test "names in reports do not reach the terminal as they are" {
	report a.json 'x\u001b[31m 1024 float false 10 2'
	run_split gtopo compare a.json a.json
	want 0 ""
	[[ $out == *'x\x1b[31m'* ]]
}

@test "standard input and pipes: a report or a plan" {
	report a.json "allreduce 1024 float false 10 2"
	gtopo compare - a.json <a.json
	run_split gtopo compare - - <a.json
	want 2 "gtopo compare: only one of the two can be standard input"
	gtopo search --algo ring -o ring.json "$xml/dgx-1v.xml"
	gtopo compare ring.json ring.json | tail -n +3 >files.txt
	gtopo compare - ring.json <ring.json >pipe.txt
	grep -Fx "# A: standard input, predicted for GPUs, 8 ranks" pipe.txt
	tail -n +3 pipe.txt | diff files.txt -
	gtopo compare <(cat ring.json) <(cat ring.json) | tail -n +3 |
		diff files.txt -
}

@test "JSON follows its schema" {
	report a.json "allreduce 1024 float false 10 2" \
		"allreduce 2048 float true 10 3"
	report b.json "allreduce 1024 float false 20 1"
	gtopo search --algo ring -o ring.json "$xml/dgx-1v.xml"
	gtopo compare --json a.json b.json >both.json
	gtopo compare --json ring.json ring.json >plans.json
	follows comparison-1 both.json plans.json
}

@test "a picture has both curves, and every point's figures" {
	report a.json "allreduce 1024 float false 10 2" \
		"allreduce 2048 float false 10 4" "gather 2048 half true 10 4"
	report 'b&<.json' "allreduce 1024 float false 40 0.5" \
		"allreduce 2048 float false 5 8" "gather 2048 half true 10 40"
	run_split gtopo compare --svg a.json 'b&<.json'
	want 0 ""
	command -v xmllint >/dev/null || skip "no xmllint"
	xmllint --noout - <<<"$out"
	count() { xmllint --xpath "count($1)" - <<<"$out"; }
	[ "$(count '//*[local-name()="circle"]')" -eq 6 ]
	[ "$(count '//*[local-name()="text"][.="A a.json: allreduce float"]')" -eq 1 ]
	[[ $out == *">B b&amp;&lt;.json: gather half, in place<"* ]]
	[[ $out == *"<title>A a.json allreduce float, 2 KiB: 4 GB/s</title>"* ]]
	# The faster one is higher up.
	y() { xmllint --xpath "string(//*[local-name()='circle'][contains(., '$1')]/@cy)" - <<<"$out"; }
	awk -v a="$(y 'A a.json allreduce float, 2 KiB')" \
		-v b="$(y 'json allreduce float, 2 KiB: 8')" \
		'BEGIN { exit !(b > 0 && b < a) }'
	run_split gtopo compare --svg --json a.json a.json
	want 2 "gtopo compare: --json and --svg: one at a time"
}

@test "times of GPUs beside times of CPU ranks: said, and warned of" {
	gtopo search --algo ring --gpus 0-1 -o ring.json "$xml/dgx-1v.xml"
	gtopo run --plan ring.json --device host --coll allreduce -b 64K -e 64K \
		--json -o host.json >said
	sed 's/"engine": "host"/"engine": "cuda"/' host.json >cuda.json
	run_split gtopo compare ring.json host.json
	want 0 "gtopo compare: A's times are of GPUs, B's of CPU ranks: what differs \
is the machine; 'gtopo run --device cuda' measures GPUs"
	[[ $out == *"# A: ring.json, predicted for GPUs, 2 ranks"*"# B: host.json, measured on CPU ranks, 2 ranks"* ]]
	run_split gtopo compare ring.json cuda.json
	want 0 ""
	[[ $out == *"# B: cuda.json, measured on GPUs, 2 ranks"* ]]
	gtopo compare -q --json ring.json host.json >both.json
	grep -q '"b": {.*"device": "CPU ranks"' both.json
	follows comparison-1 both.json
}

@test "reports of jobs: phases and the step" {
	cat >job.json <<-END
		{"schema": "gtopo.job/1",
		 "axes": [{"name": "dp", "size": 2}, {"name": "tp", "size": 4}],
		 "communication": [
		  {"name": "activations", "collective": "allreduce", "over": ["tp"],
		   "bytes": "64M"},
		  {"name": "gradients", "collective": "allreduce", "over": ["dp"],
		   "bytes": "64M"}]}
	END
	gtopo search --json --job job.json "$xml/dgx-1v.xml" >a.json
	gtopo search --json --job job.json "$xml/dgx-h100.xml" >b.json
	run_split gtopo compare a.json b.json
	want 0 ""
	[[ $out == *"# A: a.json, a step predicted for GPUs, 8 ranks"* ]]
	[[ $out == *" activations "*" gradients "*" the step"*" with latency"* ]]
	# The step is the sum of its phases, and the ratio that of the times.
	awk '/^ / { a[NR] = $1; b[NR] = $2; n = NR
		if (($1 / $2 / $3 - 1) ^ 2 > 1e-6) exit 1 }
		END { exit !((a[n-3] + a[n-2] - a[n-1]) ^ 2 < 1e-6 &&
			a[n] > a[n-1]) }' <<<"$out"
	run_split gtopo compare a.json a.json
	[ "$(grep -c ' 1\.000 ' <<<"$out")" -eq 4 ]
	# Phases of one name are matched in turn, and none with the step.
	for name in activations "the step"; do
		jq --arg name "$name" '(.assignment.phases[] | .name) = $name' \
			a.json >c.json
		jq '.assignment.phases |= .[:1]' c.json >d.json
		run_split gtopo compare c.json d.json
		want 0 ""
		[ "$(grep -c ' 1\.000 ' <<<"$out")" -eq 3 ]
		[[ $out == *"# 1 phase of A alone" ]]
		run_split gtopo compare d.json c.json
		[[ $out == *"# 1 phase of B alone" ]]
	done
	gtopo search -o plan.json "$xml/dgx-1v.xml"
	run_split gtopo compare plan.json b.json
	want 2 "gtopo compare: b.json: is neither a plan nor a run's report, as the \
other is, but a job's; compare it with another job's"
	run_split gtopo compare --json a.json b.json
	want 2 "gtopo compare: --json and --svg are for plans and runs; of jobs there is a table"
}
