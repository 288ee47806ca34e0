# gtopo health: detect, lint and diff in one, on machines that are cases.

load common

cases=$GTOPO_SRC/tests/cases/detect

# made NAME: sets args so that the case's machine is looked at.
made() {
	local lib
	lib=$(dirname "$GTOPO")/tests/detect/libnvidia-ml.so.1
	(cd "$GTOPO_SRC" && bash tests/detect/mkroot.sh \
		"$cases/$1/machine.sh" "$BATS_TEST_TMPDIR/root")
	args=(--root "$BATS_TEST_TMPDIR/root")
	[ -f "$cases/$1/nvml" ] || return 0
	[ -f "$lib" ] || skip "no simulated NVML"
	export GTOPO_FAKE_NVML=$cases/$1/nvml
	args+=(--nvml "$lib")
}

# name_host NAME: the machine that was made is called so.
name_host() {
	mkdir -p "$BATS_TEST_TMPDIR/root/proc/sys/kernel"
	echo "$1" >"$BATS_TEST_TMPDIR/root/proc/sys/kernel/hostname"
}

@test "a machine that is as it was is healthy" {
	made flat-vm
	gtopo detect "${args[@]}" -o "$BATS_TEST_TMPDIR/good.xml"
	run_split gtopo health "${args[@]}" \
		--expect "$BATS_TEST_TMPDIR/good.xml"
	want 0 ""
	[ -z "$out" ]
}

@test "a link below what it can do is told" {
	made cascade
	name_host node037
	run_split gtopo health "${args[@]}"
	[ "$status" -eq 1 ]
	[ "$out" = "node037 GPU1 0000:c7:00.0 (slot 3): warning: link runs at \
x8, can do x16; seat the card anew, look at the slot [degraded]" ]
	command -v jq >/dev/null || skip "no jq"
	run_split gtopo health --json "${args[@]}"
	[ "$(jq -r '.host, (.lint[0] | .rule, .host, .device, .bus_id, .slot)' \
		<<<"$out" | paste -sd ' ')" = \
		"node037 degraded node037 GPU1 0000:c7:00.0 3" ]
}

@test "why GPUs have no peer access is a note, which files have" {
	made no-peers
	run_split gtopo health "${args[@]}"
	want 0 ""
	[ -z "$out" ]
	run_split gtopo health --json "${args[@]}"
	want 0 ""
	[[ $out == *'"no-p2p"'*"3 of 4 GPUs do not reach the memory of all others: \
the driver gives no access to this model of GPU"* ]]
	gtopo health --format prometheus "${args[@]}" |
		grep -q 'findings{severity="note",rule="no-p2p"'
}

@test "a machine that is meant to be without peer access" {
	local good=$BATS_TEST_TMPDIR/good.xml
	made no-peers
	gtopo detect "${args[@]}" |
		sed 's/ gt_p2p_why="[^"]*"//; s/---/rwa/g' >"$good"
	run_split gtopo health --expect "$good" "${args[@]}"
	[ "$status" -eq 1 ]
	[[ $out == *rwa* ]]
	run_split gtopo health --p2p off --expect "$good" "${args[@]}"
	want 0 ""
	[ -z "$out" ]
	run_split gtopo health --p2p off --json "${args[@]}"
	want 0 ""
	[[ $out != *'"no-p2p"'* ]]
	run_split gtopo health --p2p 0-9 "${args[@]}"
	want 2 "gtopo health: this machine: has no GPU 9, which --p2p '0-9' \
names; gtopo show lists its GPUs"
}

@test "--ignore takes lint's rules and diff's words, --fail-on a severity" {
	made cascade
	run_split gtopo health --ignore degraded "${args[@]}"
	want 0 ""
	[ -z "$out" ]
	run_split gtopo health --fail-on error "${args[@]}"
	want 0 ""
	[ -n "$out" ]
	gtopo detect "${args[@]}" | sed 's/0x26b9/0x26ba/' \
		>"$BATS_TEST_TMPDIR/other.xml"
	for how in error:1 warning:1 never:0; do
		run_split gtopo health --fail-on "${how%:*}" "${args[@]}" \
			--expect "$BATS_TEST_TMPDIR/other.xml"
		want "${how#*:}" ""
		[[ $out == *degraded* && $out == *': model '* ]]
	done
	run_split gtopo health --ignore degraded,model "${args[@]}" \
		--expect "$BATS_TEST_TMPDIR/other.xml"
	want 0 ""
}

@test "what is missing is told, and JSON says the same" {
	command -v jq >/dev/null || skip "no jq"
	made flat-vm
	sed '/<cpu/,/<\/cpu>/s/0x10de/0x10df/' "$cases/flat-vm/expect.xml" \
		>"$BATS_TEST_TMPDIR/other.xml"
	run_split gtopo health "${args[@]}" \
		--expect "$BATS_TEST_TMPDIR/other.xml"
	[ "$status" -eq 1 ]
	[[ $out == *': model 0x10de:'*' instead of 0x10df:'* ]]
	run_split gtopo health "${args[@]}" --json \
		--expect "$BATS_TEST_TMPDIR/other.xml"
	[ "$status" -eq 1 ]
	[ "$(jq -r .healthy <<<"$out")" = false ]
	[ "$(jq -r '.diff.groups[1].findings[0].kind' <<<"$out")" = model ]
	run_split gtopo health "${args[@]}" --ignore model,subsystem \
		--expect "$BATS_TEST_TMPDIR/other.xml"
	[ "$status" -eq 0 ]
}

@test "an expectation that is not there, and a word that is none" {
	run_split gtopo health --expect ./nowhere.xml
	[ "$status" -eq 2 ]
	[[ $err == *"./nowhere.xml: cannot open: No such file or directory" ]]
	run_split gtopo health --ignore colour
	[ "$status" -eq 2 ]
	want 2 "gtopo health: --ignore 'colour' is no rule; gtopo-lint(1) and \
gtopo-diff(1) list them"
	run_split gtopo health --ignore acs,driver-versions
	want 2 "gtopo health: --ignore 'driver-versions' is no rule; did you \
mean 'driver-version'?"
}

@test "--measure measures this machine only, and needs CUDA" {
	run_split gtopo health --measure --root "$BATS_TEST_TMPDIR"
	want 2 "gtopo health: --measure measures this machine, not that of \
--root"
	run_split gtopo health --measure --tolerance 100
	[ "$status" -eq 2 ]
	gtopo version -v | grep -qx 'cuda no' || skip "built with CUDA"
	run_split gtopo health --measure
	want 2 "gtopo health: --measure needs a gtopo that was built with CUDA"
	[ -z "$out" ]
}

@test "a GPU that the environment hides is told, if it should be seen" {
	made container
	gtopo detect "${args[@]}" -o "$BATS_TEST_TMPDIR/good.xml"
	run_split env CUDA_VISIBLE_DEVICES=1 "$GTOPO" health "${args[@]}" \
		--expect "$BATS_TEST_TMPDIR/good.xml"
	echo "$out"
	[ "$status" -eq 1 ]
	[[ $out == *"GPU 0000:41:00.0: hidden by CUDA_VISIBLE_DEVICES"* ]]
	if command -v jq >/dev/null; then
		run_split env CUDA_VISIBLE_DEVICES=1 "$GTOPO" health --json \
			"${args[@]}" --expect "$BATS_TEST_TMPDIR/good.xml"
		[ "$(jq -r '.reach | map(.kind) | unique[]' <<<"$out")" = \
			hidden ]
		[ "$(jq -r '.reach[0].from' <<<"$out")" = 0000:41:00.0 ]
	fi
	run_split env CUDA_VISIBLE_DEVICES=0,1,2,3,4 "$GTOPO" health \
		"${args[@]}" --expect "$BATS_TEST_TMPDIR/good.xml"
	[[ $out != *"hidden by"* ]]
}

@test "JSON is as its schemas say, and all findings have the same shape" {
	command -v jq >/dev/null || skip "no jq"
	made container
	cd "$BATS_TEST_TMPDIR"
	gtopo detect "${args[@]}" | sed '/<cpu/,/<\/cpu>/s/0x10de/0x10df/' >good.xml
	CUDA_VISIBLE_DEVICES=1 gtopo health --json "${args[@]}" \
		--expect ./good.xml >bad.json || true
	gtopo health --json "${args[@]}" --ignore acs >plain.json || true
	jq .diff bad.json >diff.json
	for file in bad plain; do
		jq '{schema: "gtopo.lint/1", gtopo, findings: .lint}' $file.json \
			>$file.lint
	done
	follows health-1 bad.json plain.json
	follows diff-1 diff.json
	follows lint-1 bad.lint plain.lint
	run jq '[.lint, .diff.groups[1].findings, .reach] | map(length > 0),
		(flatten | all(.severity and .rule and .device and .text))' bad.json
	[ "$(echo $output)" = "[ true, true, true ] true" ]
}

# sane FILE: promtool would take it.
sane() {
	python3 - "$1" <<-'END'
	import re, sys
	sample = re.compile(r'([a-z_]+)(?:\{([a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
	                    r'(?:,[a-z_]+="(?:[^"\\\n]|\\[\\"n])*")*)\})? (\d+)\n')
	typed, seen = None, set()
	for line in open(sys.argv[1]):
	    if line.startswith("# TYPE "):
	        typed = line.split()[2]
	        assert typed not in seen, line
	        seen.add(typed)
	    elif not line.startswith("# HELP "):
	        found = sample.fullmatch(line)
	        assert found and found[1] == typed, line
	        assert line.split("} ")[0] not in seen, line
	        seen.add(line.split("} ")[0])
	assert len([s for s in seen if "{" not in s]) >= 6
	END
}

@test "metrics for node_exporter" {
	made cascade
	file=$BATS_TEST_TMPDIR/gtopo.prom
	run_split gtopo health --format prometheus -o "$file" "${args[@]}"
	want 1 ""
	sane "$file"
	grep -Fx 'gtopo_health_healthy 0' "$file"
	grep -Fx 'gtopo_health_findings{severity="warning"} 1' "$file"
	grep -Fx 'gtopo_health_device_findings{severity="warning",rule="degraded",device="GPU1",bus_id="0000:c7:00.0",slot="3"} 1' "$file"
	grep -Fx 'gtopo_health_devices{kind="gpu"} 2' "$file"
	grep -q '^gtopo_health_info{version="[0-9.]*",digest="sha256:' "$file"
	[ "$(sed -n 's/^gtopo_health_timestamp_seconds //p' "$file")" -gt 1700000000 ]
	gtopo detect "${args[@]}" |
		sed '0,/device="0x26b9"/s//device="0x26ba"/' \
			>"$BATS_TEST_TMPDIR/other.xml"
	run_split gtopo health --format prometheus -o "$file" "${args[@]}" \
		--expect "$BATS_TEST_TMPDIR/other.xml"
	want 1 ""
	sane "$file"
	grep -q '^gtopo_health_device_findings{severity="error",rule="model",device="GPU 0000:c6:00.0",bus_id="0000:c6:00.0"} 1' "$file"
	gtopo detect "${args[@]}" | awk '/busid="0000:c6:00.0"/ {
			copy = $0; n = 3; sub(/c6:00.0/, "ca:00.0", copy)
		}
		n && n-- < 3 { sub(/dev="0"/, "dev=\"7\"")
			sub(/rank="0"/, "rank=\"7\""); copy = copy "\n" $0 }
		{ print } copy && !n { print copy; copy = "" }' \
		>"$BATS_TEST_TMPDIR/more.xml"
	run_split gtopo health --format prometheus -o "$file" "${args[@]}" \
		--expect "$BATS_TEST_TMPDIR/more.xml"
	want 1 ""
	sane "$file"
	grep -Fx 'gtopo_health_device_findings{severity="error",rule="missing",device="GPU 0000:ca:00.0"} 1' "$file"
	run_split gtopo health --json --format prometheus "${args[@]}"
	want 2 "gtopo health: --json and --format prometheus do not go together"
}

@test "metrics of a machine that is well" {
	made flat-vm
	gtopo health --format prometheus "${args[@]}" \
		>"$BATS_TEST_TMPDIR/gtopo.prom"
	sane "$BATS_TEST_TMPDIR/gtopo.prom"
	grep -Fx 'gtopo_health_healthy 1' "$BATS_TEST_TMPDIR/gtopo.prom"
	gtopo health --format json "${args[@]}" | grep -q '"healthy": true'
}

@test "a server without a GPU is not healthy, unless it should have none" {
	mkdir -p empty/sys empty/proc
	run_split gtopo health --root empty
	[ "$status" -eq 1 ]
	[[ $out == *": no GPU is there, neither on the PCI bus nor for the driver; look at its power and cables, or say --ignore no-gpu of a server without" ]]
	gtopo health --json --root empty >json || [ $? -eq 1 ]
	grep -q '"healthy": false' json
	grep -q '"rule": "no-gpu"' json
	follows health-1 json
	run_split gtopo health --ignore no-gpu --root empty
	want 0 ""
	run_split gtopo health --fail-on never --root empty
	[ "$status" -eq 0 ]
}
