# Clusters: read, shown, with routes between their nodes.

load common

cases=$GTOPO_SRC/tests/cases/cluster

@test "each good cluster is shown, with routes, as its files say" {
	cd "$cases/good"
	for file in *.xml; do
		gtopo show "$file" | diff "${file%.xml}.show" -
		gtopo paths "$file" | diff "${file%.xml}.paths" -
	done
}

@test "each bad cluster is refused in one line, with the place" {
	cd "$cases/bad"
	for file in *.xml; do
		run_split timeout 20 "$GTOPO" show "$file"
		want 2 "$(<"${file%.xml}.error")"
		[ -z "$out" ]
	done
}

@test "good clusters are what the schema allows" {
	command -v xmllint >/dev/null || skip "no xmllint"
	xmllint --noout --relaxng "$GTOPO_SRC/share/schema/gtopo-cluster.rng" \
		"$cases"/good/*.xml
}

@test "a cluster in ASCII, and from standard input" {
	cd "$cases/good"
	LC_ALL=C gtopo show - <plain.xml >"$BATS_TEST_TMPDIR/c"
	grep -Fx '|- 3 x dgx-a100  300.0 GB/s  8 GPUs, NET0-11, dgx-a100-[0-2]' \
		<(tr -s ' ' <"$BATS_TEST_TMPDIR/c" | sed 's/ \([0-9.]* GB\)/  \1/; s/s 8 G/s  8 G/')
	run grep -P '[^\x20-\x7e]' "$BATS_TEST_TMPDIR/c"
	[ "$status" -eq 1 ]
}

@test "one route between two nodes, link by link" {
	cd "$cases/good"
	gtopo paths --from dgx-h100-0/GPU1 --to sick08/GPU1 rails.xml |
		diff rails.route -
	gtopo paths --from a/GPU0 --to b/gpu4 links.xml | diff links.route -
	gtopo paths --from h200-vm-4-0/GPU0 --to h200-vm-4-1/GPU3 nvlink.xml |
		diff nvlink.route -
}

@test "two nodes as a matrix" {
	cd "$cases/good"
	run_split gtopo paths --from a --to c links.xml
	want 0 ""
	[ "$(grep -c '^GPU' <<<"$out")" -eq 8 ]
	[[ $out == *"a (pcie-8gpu) to c (pcie-8gpu)"* ]]
}

@test "routes that cannot be asked for" {
	cd "$cases/good"
	run_split gtopo paths --from a --to d links.xml
	want 2 "gtopo paths: links.xml: there is no node 'd'; gtopo show names them"
	run_split gtopo paths --from a/GPU9 --to b/GPU0 links.xml
	want 2 "gtopo paths: links.xml: node 'a' has no GPU 'GPU9'"
	run_split gtopo paths --from a/NET0 --to b/GPU0 links.xml
	want 2 "gtopo paths: links.xml: node 'a' has no GPU 'NET0'"
	run_split gtopo paths --from a/GPU0 --to b links.xml
	want 2 "gtopo paths: --from and --to are a node and a GPU; name two of a kind"
	run_split gtopo paths --from a/GPU0 --to a/GPU1 links.xml
	want 2 "gtopo paths: --from and --to are both in node 'a/GPU1'; ask its file '../../../../share/xml/pcie-8gpu.xml'"
	run_split gtopo paths --bottlenecks links.xml
	want 2 "gtopo paths: links.xml: is a cluster; '--bottlenecks' takes one server, gtopo show tells of uplinks"
	gtopo search -o "$BATS_TEST_TMPDIR/plan" "$GTOPO_SRC/share/xml/dgx-1v.xml"
	run_split gtopo show --dot --plan "$BATS_TEST_TMPDIR/plan" links.xml
	want 2 "gtopo show: $BATS_TEST_TMPDIR/plan: the GPU '0000:06:00.0' of rank 0 is not in '../../../../share/xml/pcie-8gpu.xml'"
	run_split gtopo show --dot --plan "$BATS_TEST_TMPDIR/plan" rails.xml
	want 2 "gtopo show: rails.xml: has nodes of several kinds; --plan draws into one, so name its file"
}

@test "12,500 nodes are read at once" {
	run_split timeout 2 "$GTOPO" show "$cases/good/many.xml"
	want 0 ""
	[[ $out == *": 12500 nodes of 1 kind, 100000 GPUs"* ]]
}

@test "what differs between two clusters" {
	cd "$cases/diff"
	for file in same sick other-node rail thin flat narrow-node counts; do
		run_split gtopo diff norm.xml "$file.xml"
		want "$([ -s "$file.said" ] && echo 1 || echo 0)" ""
		diff "$file.said" <([ -z "$out" ] || echo "$out")
	done
	run_split gtopo diff links-norm.xml links.xml
	want 1 ""
	diff links.said - <<<"$out"
}

@test "several clusters, as JSON, and against a reference" {
	cd "$cases/diff"
	run_split gtopo diff --json norm.xml same.xml sick.xml
	want 1 ""
	command -v python3 >/dev/null || skip "no python3"
	python3 -c 'import json, sys; d = json.load(sys.stdin); assert [len(c["findings"]) for c in d["clusters"]] == [0, 1]; f = d["clusters"][1]["findings"][0]; assert f["severity"] == "error" and f["rule"] == "cluster" and f["text"]' <<<"$out"
	GTOPO_XML=$GTOPO_SRC/share/xml run_split gtopo diff \
		--expect 4x-dgx-h100 "$GTOPO_SRC/share/xml/2x-dgx-h100.xml"
	[ "$status" -eq 1 ]
	[[ $out == *": 2 nodes of kind 'dgx-h100' instead of 4"* ]]
}

@test "a cluster is not compared with a server" {
	cd "$cases/diff"
	run_split gtopo diff norm.xml narrow.xml
	want 2 "gtopo diff: narrow.xml: is a server; the file before is a cluster"
	run_split gtopo diff narrow.xml norm.xml
	want 2 "gtopo diff: norm.xml:1:1: is a cluster file, where one \
server's topology is needed; name the file of one of its nodes"
}

@test "a picture has each kind and each level once" {
	cd "$cases/good"
	for file in *.xml; do
		run_split gtopo show --dot "$file"
		want 0 ""
		[ "${out:0:17}" = "digraph cluster {" ]
	done
	run_split gtopo show --dot rails.xml
	[ "$(grep -c 'label="70 × dgx-h100' <<<"$out")" -eq 1 ]
	[ "$(grep -c 'label="3 × one-out' <<<"$out")" -eq 1 ]
	# Each node has its devices, above each port is the switch of its rail,
	# and what goes up from it is less where its switch has fewer nodes.
	[ "$(grep -c 'label="GPU[0-7]", tooltip="GPU' <<<"$out")" -eq 16 ]
	[ "$(grep -c 'label="rail [0-7]"' <<<"$out")" -eq 15 ]
	[ "$(grep -c '^k.*label="50.0"' <<<"$out")" -eq 15 ]
	[ "$(grep -c '^b.* -> b0_1 .*label="1067"' <<<"$out")" -eq 8 ]
	[ "$(grep -c '^b.* -> b0_1 .*label="300.0"' <<<"$out")" -eq 7 ]
	[ "$(grep -c '^b0_[12] \[' <<<"$out")" -eq 2 ]
	export LSAN_OPTIONS=suppressions=$BATS_TEST_DIRNAME/leaks.supp:print_suppressions=0
	run_split gtopo show --svg "$GTOPO_SRC/share/xml/gb200-nvl72.xml"
	[[ $err != *Graphviz* ]] || skip "$err"
	want 0 ""
	[[ $out == *"18 × gb200"* ]]
}

@test "a node with too many devices to be drawn is a plain box" {
	cd "$BATS_TEST_TMPDIR"
	gtopo synth -o many.xml "2 numa: 20 gpu 2 nic"
	echo '<cluster version="1"><node file="many.xml" count="3"/><fabric/></cluster>' >c.xml
	run_split gtopo show --dot c.xml
	want 0 ""
	[[ $out == *'label="3 × many\n40 GPUs'* && $out != *'label="GPU0"'* ]]
	[ "$(grep -c ' -> ' <<<"$out")" -eq 1 ]
}

@test "routes as JSON, of all kinds and of one pair" {
	command -v python3 >/dev/null || skip "no python3"
	cd "$cases/good"
	gtopo paths --json rails.xml >"$BATS_TEST_TMPDIR/all"
	gtopo paths --json --from a/GPU0 --to b/GPU4 links.xml \
		>"$BATS_TEST_TMPDIR/one"
	python3 - "$BATS_TEST_TMPDIR" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1] + "/all"))
		assert len(d["pairs"]) == 4
		assert all(len(p["routes"]) == 64 for p in d["pairs"])
		assert d["pairs"][0]["routes"][0]["ports"] == ["NET/0", "NET/0"]
		d = json.load(open(sys.argv[1] + "/one"))
		(r,) = d["pairs"][0]["routes"]
		assert (r["kind"], r["gbs"], r["over"]) == ("SYS", "16", "net")
	END
}
