# gtopo fuse: a cluster of nodes' files.

load common

xml=$GTOPO_SRC/share/xml

setup() {
	cd "$BATS_TEST_TMPDIR"
	mkdir nodes
	for i in 01 02 03 05; do
		cp "$xml/dgx-h100.xml" "nodes/gpu$i.xml"
	done
	sed '/0000:1b:00.0/s/link_width="16"/link_width="8"/' \
		nodes/gpu01.xml >nodes/gpu04.xml
}

@test "equal nodes are one kind, in the order of the files" {
	run_split gtopo fuse -o cluster.xml nodes/gpu*.xml
	want 0 ""
	diff - cluster.xml <<-'END'
		<cluster version="1">
		  <node file="nodes/gpu01.xml" nets="0,3,4,5,6,9,10,11" names="gpu[01-03]"/>
		  <node file="nodes/gpu04.xml" nets="0,3,4,5,6,9,10,11" names="gpu04"/>
		  <node file="nodes/gpu01.xml" nets="0,3,4,5,6,9,10,11" names="gpu05"/>
		  <fabric>
		    <level/>
		  </fabric>
		</cluster>
	END
	run_split gtopo show cluster.xml
	[[ $out == *"cluster.xml: 5 nodes of 2 kinds, 40 GPUs"* ]]
	[[ $out == *"4 × gpu01 "*"gpu[01-03,05]"* ]]
}

@test "what the options say of the fabric" {
	gtopo fuse --name pod --rails --leaf 2 --oversubscription 3/2 \
		--nvlink 4 --nets 0,3,-,5 -o cluster.xml nodes/gpu0[1235].xml
	diff - cluster.xml <<-'END'
		<cluster version="1" name="pod">
		  <node file="nodes/gpu01.xml" nets="0,3,-,5" names="gpu[01-03,05]"/>
		  <fabric over="nvlink">
		    <level nodes="4"/>
		  </fabric>
		  <fabric>
		    <level nodes="2" rail="each" oversubscription="3/2"/>
		    <level/>
		  </fabric>
		</cluster>
	END
	gtopo lint cluster.xml
	! command -v xmllint >/dev/null ||
		xmllint --noout --relaxng "$GTOPO_SRC/share/schema/gtopo-cluster.rng" cluster.xml
}

@test "renumbered but equal nodes are one kind" {
	command -v python3 >/dev/null || skip "no python3"
	mkdir copies
	python3 "$GTOPO_SRC/tests/diff/mutate.py" "$xml/dgx-a100.xml" copies 12
	gtopo fuse copies/*.xml >cluster.xml
	[ "$(grep -o 'file="[^"]*"' cluster.xml | sort -u | wc -l)" -eq 1 ]
	run_split gtopo show cluster.xml
	[[ $out == *": 12 nodes of 1 kind, 96 GPUs"* ]]
}

@test "nodes that differ in what is ignored" {
	run_split gtopo fuse --ignore width nodes/gpu*.xml
	[ "$(grep -c '<node ' <<<"$out")" -eq 1 ]
	[[ $out == *'names="gpu[01-05]"'* ]]
}

@test "files of one name are named after their folders" {
	mkdir a b
	cp nodes/gpu01.xml a/topo.xml
	cp nodes/gpu01.xml b/topo.xml
	run_split gtopo fuse a/topo.xml b/topo.xml
	[[ $out == *'file="a/topo.xml"'*'names="a,b"'* ]]
	mkdir elsewhere
	gtopo fuse -o elsewhere/c.xml a/topo.xml b/topo.xml
	run_split gtopo show elsewhere/c.xml
	[[ $out == *": 2 nodes of 1 kind, 16 GPUs"* ]]
}

@test "ports are named as everywhere" {
	run_split gtopo fuse --nets NET1-2,mlx5_0 nodes/gpu01.xml nodes/gpu02.xml
	want 0 ""
	echo "$out" >named.xml
	gtopo fuse --nets 1-2,0 nodes/gpu01.xml nodes/gpu02.xml >numbers.xml
	gtopo show named.xml | sed 1d >named
	gtopo show numbers.xml | sed 1d | diff - named
	gtopo fuse --nets mlx5_0,net0 nodes/gpu01.xml >twice.xml
	run_split gtopo show twice.xml
	[ "$status" -eq 2 ]
	[[ $err == *"has no port 'net0', or it is named twice" ]]
}

@test "what cannot be fused" {
	run_split gtopo fuse nodes/gpu01.xml nodes/gpu01.xml nodes/gpu02.xml
	want 2 "gtopo fuse: nodes/gpu01.xml: is there twice; for copies of one \
machine 'gtopo search' has --nodes, and a node of a cluster file a count"
	run_split gtopo fuse nodes/gpu01.xml ./nodes/gpu01.xml nodes/gpu02.xml
	want 2 "gtopo fuse: two nodes would be named 'gpu01'; rename their files"
	cp nodes/gpu01.xml 'a,b.xml'
	run_split gtopo fuse a,b.xml
	want 2 "gtopo fuse: 'a,b' is no name for a node"
	run_split gtopo fuse --oversubscription 2 nodes/gpu01.xml
	want 2 "gtopo fuse: --oversubscription needs --leaf"
	run_split gtopo fuse --nets 'x y' nodes/gpu01.xml
	want 2 "gtopo fuse: --nets: 'x y' is no list such as '0,3-6' or 'mlx5_0,mlx5_3'"
	run_split gtopo fuse --leaf 2 --oversubscription 0 nodes/gpu01.xml
	want 2 "gtopo fuse: --oversubscription: '0' is no ratio such as '3/2'"
	run_split gtopo fuse nodes/gone.xml
	want 2 "gtopo fuse: nodes/gone.xml: cannot open: No such file or directory"
}

@test "names that are no UTF-8 are refused, others of any language are not" {
	cp nodes/gpu01.xml $'\xff\xfe.xml'
	cp nodes/gpu01.xml $'\u00e9.xml'
	run_split gtopo fuse $'\xff\xfe.xml' nodes/gpu02.xml
	want 2 $'gtopo fuse: \'\xff\xfe\' is no name for a node'
	run_split gtopo fuse --name $'\xc0\x80' nodes/gpu02.xml
	[ "$status" -eq 2 ]
	mkdir $'\xff'
	cp nodes/gpu01.xml $'\xff/b.xml'
	run_split gtopo fuse $'\xff/b.xml' nodes/gpu02.xml
	[ "$status" -eq 2 ]
	[[ $err == *"that is no UTF-8, cannot be written" ]]
	run_split gtopo fuse -o c.xml $'\u00e9.xml' nodes/gpu02.xml
	want 0 ""
	run_split gtopo show c.xml
	want 0 ""
}

@test "a broken file is named, and the others make the cluster" {
	echo '<system version="1"' >nodes/gpu02.xml
	run_split gtopo fuse -o cluster.xml nodes/gpu*.xml nodes/none.xml
	[ "$status" -eq 1 ]
	[[ $err == *"nodes/gpu02.xml:"*"nodes/none.xml: "*"2 of 6 files are left out of the cluster, which has the others"* ]]
	grep -q 'names="gpu\[01,03\]"' cluster.xml
	grep -q 'names="gpu05"' cluster.xml
	gtopo show cluster.xml
	run_split gtopo fuse -q nodes/gpu02.xml nodes/gpu01.xml
	[ "$status" -eq 1 ]
	[[ $out == *'names="gpu01"'* && $err == *"nodes/gpu02.xml:"*"1 of 2 files are left out"* ]]
	run_split gtopo fuse nodes/gpu02.xml nodes/none.xml
	[ "$status" -eq 2 ]
	[[ -z $out && $err == *"none of the files can be read" ]]
	run_split gtopo fuse nodes/gpu02.xml
	[[ "$status$(wc -l <<<"$err")" == 21 ]]
	# Without node 02 node 03 would share a leaf with 01.
	for shared in --leaf --nvlink; do
		run_split gtopo fuse $shared 2 nodes/gpu*.xml
		[ "$status" -eq 2 ] && [ -z "$out" ]
		[[ $err == "gtopo fuse: nodes/gpu02.xml:"*"; without its node \
others would move to other switches: mend the file, or leave out --leaf and \
--nvlink" ]]
	done
}
