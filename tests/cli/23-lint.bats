# gtopo lint on the command line; what it finds is in tests/cases/lint.

load common

xml=$GTOPO_SRC/share/xml
cases=$GTOPO_SRC/tests/cases/lint

@test "nothing is said of the reference machines" {
	run_split gtopo lint "$xml"/*.xml
	want 0 ""
	[ -z "$out" ]
}

@test "of several files all are looked at" {
	cd "$cases"
	run_split gtopo lint no-target/input.xml clean/input.xml \
		width-0/input.xml
	want 1 ""
	[ "$(grep -c input.xml: <<<"$out")" -eq 3 ]
	[[ $out == *'width-0/input.xml:3:108: warning: '* ]]
}

@test "notes are no reason to fail" {
	run_split gtopo lint "$cases/element-unknown/input.xml"
	want 0 ""
	[[ $out == *': note: '* ]]
}

@test "standard input, and a file that is not there" {
	run_split gtopo lint - <"$cases/bom/input.xml"
	[ "$status" -eq 1 ]
	[[ $out == 'standard input:1:1: error: '* ]]
	run_split gtopo lint /nowhere.xml
	want 2 "gtopo lint: /nowhere.xml: cannot open: No such file or directory"
	run_split gtopo lint /dev/null
	[ "$status" -eq 1 ]
}

@test "JSON is told to be JSON, and nothing is removed from it" {
	cd "$BATS_TEST_TMPDIR"
	echo '{"schema": "gtopo.plan/1"}' >plan.json
	run_split gtopo lint plan.json
	want 1 ""
	[[ "$out" == "plan.json: error: is a plan; "*" [xml]" ]]
	[ "$(gtopo lint --fix plan.json 2>/dev/null)" = "$(<plan.json)" ]
}

@test "of a cluster the files of its nodes are looked at, each once" {
	command -v jq >/dev/null || skip "no jq"
	cd "$BATS_TEST_TMPDIR"
	sed '0,/link_width="16"/s//link_width="x"/' \
		"$GTOPO_SRC/share/xml/pcie-8gpu.xml" >bad.xml
	cat >two.xml <<-END
		<cluster version="1">
		  <node file="bad.xml" name="a"/>
		  <node file="bad.xml" name="b"/>
		  <fabric/>
		</cluster>
	END
	sed 's/link_width="x"/link_width="8"/' bad.xml >good.xml
	gtopo lint good.xml >want || true
	[ -s want ]
	mv good.xml bad.xml
	sed 's/^good/bad/' want >want.bad
	run_split gtopo lint two.xml
	want 1 ""
	[ "$out" = "$(<want.bad)" ]
	run_split gtopo lint two.xml bad.xml
	[ "$out" = "$(<want.bad)" ]
	n=$(wc -l <want.bad)
	run_split gtopo lint --json two.xml
	[ "$(jq '.findings | length' <<<"$out")" -ge "$n" ]
	run_split gtopo lint "$GTOPO_SRC/share/xml/2x-dgx-h100.xml"
	want 0 ""
}

@test "--json has every finding with its place" {
	command -v jq >/dev/null || skip "no jq"
	gtopo lint --json "$cases/clean/input.xml" \
		"$cases/nvlink-down/input.xml" \
		"$cases/bom/input.xml" >"$BATS_TEST_TMPDIR/out" || true
	run jq -r '.schema, (.findings[] |
		.severity, .rule, (.where | sub(".*/"; "")),
		.device, .bus_id, .fix)' "$BATS_TEST_TMPDIR/out"
	[ "$output" = 'gtopo.lint/1
warning
nvlink-down
input.xml:11:135
GPU1
0000:18:00.0
false
error
bom
input.xml:1:1
null
null
true' ]
	run jq '.findings | length' <(gtopo lint --json "$xml/dgx-h100.xml")
	[ "$output" = 0 ]
}

@test "--fix takes one file and tells what it cannot repair" {
	run_split gtopo lint --fix "$xml/dgx-1v.xml" "$xml/dgx-h100.xml"
	[ "$status" -eq 2 ]
	cd "$cases/no-target"
	run_split gtopo lint --fix -o "$BATS_TEST_TMPDIR/new.xml" input.xml
	[ "$status" -eq 1 ]
	[[ $err == 'gtopo lint: input.xml:6:11: error: GPU0 0000:17:00.0: nvlink has no target'* ]]
	cmp input.xml "$BATS_TEST_TMPDIR/new.xml"
}

@test "--fix leaves a good file as it is" {
	gtopo lint --fix "$xml/dgx-h100.xml" | cmp - "$xml/dgx-h100.xml"
}

@test "NCCL takes what detect writes: only machines are at fault" {
	local machine='degraded|numa|narrow-switch|nvlink-down|p2p|gpu-lost|gpus-lost'
	machine+='|firmware|port-down|acs|iommu|gdr'
	for file in "$GTOPO_SRC"/tests/cases/detect/*/expect.xml; do
		run_split gtopo lint "$file"
		run grep -vE "\[($machine)\]\$|: note: " <<<"$out"
		[ -z "$output" ]
	done
}

@test "real topologies are looked at, whatever they are" {
	need_topologies
	for file in "$GTOPO_TEST_TOPOLOGIES"/*.xml \
		"$GTOPO_TEST_TOPOLOGIES"/quirks/*.xml; do
		run_split timeout 20 "$GTOPO" lint "$file"
		[ "$status" -le 1 ] && [ -z "$err" ]
	done
}

@test "thousands of one model take no minutes" {
	{
		echo '<system version="1"><cpu numaid="0" arch="arm64">'
		for i in {1..2500}; do
			echo "<pci busid=\"$i:00:00.0\" class=\"0x020000\"" \
				'vendor="0x15b3" device="0x1021"' \
				'link_speed="16.0 GT/s PCIe" link_width="16">' \
				"<nic gt_firmware=\"$((i % 7))\"/></pci>"
		done
		echo '</cpu></system>'
	} >"$BATS_TEST_TMPDIR/many.xml"
	run_split timeout 20 "$GTOPO" lint "$BATS_TEST_TMPDIR/many.xml"
	[ "$status" -eq 1 ]
}

@test "thousands of findings take no minutes" {
	{
		echo '<system version="1"><cpu numaid="0" arch="arm64">'
		for i in {1..16000}; do
			echo "<pci busid=\"$i:00:00.0\" class=\"0x020000\"" \
				'vendor="0x15b3" device="0x1021"' \
				'link_speed="16.0 GT/s PCIe" link_width="0" >' \
				"<nic><net name=\"m$i\" dev=\"$i\" speed=\"0\"/>" \
				'</nic></pci>'
		done
		echo '</cpu></system>'
	} >"$BATS_TEST_TMPDIR/many.xml"
	run_split timeout 10 "$GTOPO" lint --json "$BATS_TEST_TMPDIR/many.xml"
	[ "$status" -eq 1 ]
	[ "$(grep -c '"rule": "blanks"' <<<"$out")" -eq 16000 ]
}

@test "a fault that repeats is told once, --all shows each" {
	cd "$cases/width-3"
	run_split gtopo lint input.xml
	[ "$status" -eq 1 ]
	[ "$(wc -l <<<"$out")" -eq 1 ]
	[[ $out == *'; 5 times (GPU0, GPU1, mlx5_0, mlx5_1), --all shows each [width]' ]]
	run_split gtopo lint --all input.xml
	[ "$(wc -l <<<"$out")" -eq 5 ]
	[[ $out != *times* ]]
}

@test "--ignore leaves rules out, and knows what was meant" {
	cd "$cases/nvlink-one-sided"
	run_split gtopo lint --ignore nvlink-fewer,acs input.xml
	[ "$status" -eq 1 ]
	[[ $out == *'[nvlink-one-sided]' && $out != *nvlink-fewer* ]]
	run_split gtopo lint --json --ignore nvlink-fewer,nvlink-one-sided \
		input.xml
	want 0 ""
	[[ $out != *severity* ]]
	run_split gtopo lint --ignore nvlink-fever input.xml
	want 2 "gtopo lint: --ignore 'nvlink-fever' is no rule; did you mean \
'nvlink-fewer'?"
	run_split gtopo lint --ignore narrow-card input.xml
	want 2 "gtopo lint: --ignore 'narrow-card' is no rule; there are \
narrow-gpu, narrow-switch, narrow-nic"
	run_split gtopo lint --ignore colour input.xml
	want 2 "gtopo lint: --ignore 'colour' is no rule; gtopo-lint(1) lists \
them"
}

@test "--fail-on says how bad a finding makes the exit status 1" {
	cd "$cases"
	for how in error:0:1 warning:1:1 never:0:0; do
		IFS=: read -r word warnings errors <<<"$how"
		run_split gtopo lint --fail-on "$word" nvlink-down/input.xml
		[ "$status" -eq "$warnings" ] && [ -n "$out" ]
		run_split gtopo lint --fail-on "$word" bom/input.xml
		[ "$status" -eq "$errors" ] && [ -n "$out" ]
	done
	run_split gtopo lint --fail-on note bom/input.xml
	want 2 "gtopo lint: --fail-on 'note' is not one of error|warning|never"
}

@test "memory that runs out is no fault of the file" {
	{
		echo '<system version="1"><cpu numaid="0" arch="arm64">'
		for i in {1..3000}; do
			echo "<pci busid=\"$i:00:00.0\" class=\"0x020000\"" \
				'link_speed="12.0 GT/s PCIe" link_width="3" />'
		done
		echo '</cpu></system>'
	} >"$BATS_TEST_TMPDIR/many.xml"
	! grep -q __asan_init "$GTOPO" ||
		skip "sanitizers need more address space than there is"
	cd "$BATS_TEST_TMPDIR"
	local failed=0
	for kb in $(seq 20000 4000 140000); do
		status=0
		(ulimit -v "$kb" && "$GTOPO" lint many.xml) >out 2>err ||
			status=$?
		! grep -q memory out
		[ "$status" -eq 3 ] || continue
		[[ $(<err) =~ ^'gtopo lint: '('many.xml: ')?'out of memory'$ ]]
		failed=1
	done
	[ "$failed" -eq 1 ]
}

@test "--color says whether lines are coloured" {
	cd "$cases/bom"
	run_split gtopo lint input.xml
	[[ $out != *$'\e'* ]]
	run_split gtopo lint --color always input.xml
	[[ $out == $'\e[1minput.xml:1:1\e[0m: \e[1;31merror\e[0m: a byte'* ]]
	run_split gtopo show --color always "$xml/dgx-1v.xml"
	[[ $out == *$'\e['* ]]
	run_split gtopo show --color never "$xml/dgx-1v.xml"
	[[ $out != *$'\e'* ]]
}

@test "names of files do not control the terminal" {
	cd "$BATS_TEST_TMPDIR"
	local evil=$'a\e[31m\nb.xml'
	cp "$cases/bom/input.xml" "$evil"
	run_split gtopo lint "$evil"
	[[ $out == 'a\x1b[31m\x0ab.xml:1:1: error: '* ]]
	run_split gtopo show "no$evil"
	want 2 'gtopo show: noa\x1b[31m\x0ab.xml: cannot open: No such file or directory'
}

@test "--json of every case is as its schema says" {
	gtopo lint --json "$cases"/*/input.xml >"$BATS_TEST_TMPDIR/out" || true
	follows lint-1 "$BATS_TEST_TMPDIR/out"
	[ "$(grep -c '"rule"' "$BATS_TEST_TMPDIR/out")" -gt 50 ]
}
