# gtopo page: one file that loads nothing, is well-formed, and escapes.

load common

xml=$GTOPO_SRC/share/xml

setup() {
	# What Graphviz and its libraries leave behind is not ours to free.
	export ASAN_OPTIONS=detect_leaks=0
	cd "$BATS_TEST_TMPDIR"
}

# page FILE ARGUMENT...: writes the page, and looks at what all pages are: XML
# that neither loads anything nor leads anywhere, with our scripts alone.
page() {
	local file=$1
	shift
	run_split gtopo page -o "$file" "$@"
	want "${page_status:-0}" "${page_says:-}"
	[ "$(wc -c <"$file")" -lt 409600 ]
	python3 - "$file" <<-'END'
	import sys, xml.etree.ElementTree as tree
	scripts = 0
	for e in tree.parse(sys.argv[1]).iter():
	    tag = e.tag.split("}")[-1]
	    scripts += tag == "script"
	    assert tag not in ("link", "img", "iframe", "object", "embed",
	                       "base", "image", "use", "form"), tag
	    if tag == "style":
	        assert "url(" not in e.text and "@import" not in e.text
	    for name, value in e.attrib.items():
	        name = name.split("}")[-1]
	        assert name not in ("src", "srcset") and name[:2] != "on", name
	        assert name != "href" or value[0] == "#", value
	assert scripts == 2, scripts
	END
	# What the script reads is JSON.
	if command -v jq >/dev/null; then
		sed -n '/id="data">/,/<\/script>/p' "$file" |
			sed 's/.*id="data">//; s/<\/script>.*//' | jq -e . >data
	fi
}

has_picture() {
	! grep -q '<p class="missing">' "$1"
}

@test "a DGX-1V with plan, report and trace" {
	gtopo search --algo ring -o plan.json "$xml/dgx-1v.xml"
	gtopo run --plan plan.json --device host --coll allreduce -b 64K \
		-e 256K -f 4 --json --trace trace.json -o report.json -q
	page all.html --plan plan.json --report report.json \
		--trace trace.json "$xml/dgx-1v.xml"
	for title in Findings Bottlenecks Devices; do
		grep -q "<h3>$title</h3>" all.html
	done
	grep -q '<span class="badge good">no findings</span>' all.html
	grep -q '<h2>Plan</h2>' all.html
	grep -q '^value     120 GB/s busbw' all.html
	[ "$(grep -c '<circle' all.html)" -eq 23 ] # 21 predicted, 2 measured
	[ "$(grep -c '<path class="move"' all.html)" -eq 8 ]
	[ "$(grep -c 'type="checkbox"' all.html)" -eq "$(jq '.channels | length' plan.json)" ]
	if has_picture all.html; then
		grep -q '<svg class="picture"' all.html
		grep -q 'xlink:title="GPU0 0000:06:00.0' all.html
	fi
	if [ -s data ]; then
		[ "$(jq '.[0].lanes | length' data)" -eq \
			"$(jq '.channels | length' plan.json)" ]
		[ "$(jq '.[0].machine.nodes | length' data)" -eq 22 ]
	fi
}

@test "what is wrong is told, with its device" {
	page sick.html "$GTOPO_SRC/tests/cases/show/sick.xml"
	grep -q '<span class="badge bad">6 findings</span>' sick.html
	grep -q '<tr data-bus="0000:12:00.0" data-severity="warning"' sick.html
	grep -q '<summary>8 notes</summary>' sick.html
}

@test "a fleet: those that differ, the norm, and each group" {
	for i in 01 02 03 04 05; do
		cp "$xml/dgx-h100.xml" "node$i.xml"
	done
	sed -i '0,/link_width="16"/s//link_width="8"/' node02.xml node04.xml
	echo none >node05.xml
	page_status=1 page_says="gtopo page: node05.xml:1:1: start tag expected, '<' not found; the \
page says so, and shows the others" page fleet.html node0?.xml
	grep -q '<span class="badge bad">3 servers differ</span>' fleet.html
	grep -q '<h3 class="good">2 as the norm</h3>' fleet.html
	grep -q '<p class="files">node\[01,03\]</p>' fleet.html
	grep -q '<h3 class="bad">2 differ alike</h3>' fleet.html
	grep -q '<h2>node02.xml</h2>' fleet.html
	! grep -q '<h2>node05.xml</h2>' fleet.html
	[ ! -s data ] || [ "$(jq -c '.[1].marks' data)" = '["0000:15:00.0"]' ]
	gtopo diff --json node0[1-4].xml >diff.json || true
	want=$(jq -r '"\(.nodes) such nodes \(.groups[1].between_bound_gbs |
		. * 10 | round / 10) GB/s, \(.groups[1].norm_between_bound_gbs |
		. * 10 | round / 10)"' diff.json)
	grep -q "<p class=\"quiet\">all-reduce bound between $want between" \
		fleet.html
	page expected.html --expect "./node01.xml" node02.xml
	grep -q '<span class="badge bad">1 server differs</span>' expected.html
}

@test "a server beside what is expected comes first, and has the plan" {
	sed '0,/link_width="16"/s//link_width="8"/' "$xml/pcie-8gpu.xml" >sick.xml
	gtopo search --algo ring -o sick.json sick.xml
	page one.html --plan sick.json --expect "$xml/pcie-8gpu.xml" sick.xml
	[ "$(sed -n 's|.*<h2>\(.*\.xml\)</h2>.*|\1|p' one.html | paste -sd ' ')" = \
		"sick.xml pcie-8gpu.xml" ]
	[ "$(sed -n '/<h2>sick.xml/,/<h2>pcie-8gpu.xml/p' one.html |
		grep -c '<legend>channels</legend>')" -eq 1 ]
	[ "$(sed -n '/<h2>pcie-8gpu.xml/,$p' one.html |
		grep -c '<legend>channels</legend>')" -eq 0 ]
	# What is expected is no server that is as expected.
	! grep -q '<h3 class="good">' one.html
	cp "$xml/pcie-8gpu.xml" well.xml
	page two.html --expect "$xml/pcie-8gpu.xml" sick.xml well.xml
	[ "$(grep -A1 '<h3 class="good">' two.html)" = \
		'<h3 class="good">1 as expected</h3>
<p class="files">well</p>' ]
	# One that is as expected is shown as such, with its plan.
	page same.html --plan sick.json --expect ./sick.xml sick.xml
	[ "$(grep -c '<legend>channels</legend>' same.html)" -eq 1 ]
}

@test "a cluster and its kind of node" {
	page cluster.html "$xml/2x-dgx-h100.xml"
	grep -q '<h2>2x-dgx-h100.xml</h2>' cluster.html
	grep -q '<h2>dgx-h100.xml</h2>' cluster.html
	page large.html "$xml/dgx-superpod-h100.xml"
	run_split gtopo page -o two.html "$xml/2x-dgx-h100.xml" \
		"$xml/2x-dgx-a100.xml"
	want 2 "gtopo page: $xml/2x-dgx-h100.xml: is a cluster, which has a \
page of its own; gtopo diff compares several"
}

@test "bottlenecks have the rates of gtopo paths, and say so" {
	page dgx.html "$xml/dgx-1v.xml"
	grep -q 'below the line rates of the picture' dgx.html
	each=$(gtopo paths --bottlenecks "$xml/dgx-1v.xml" |
		awk '$3 == 3 { print $1; exit }')
	[ "$each" = 6.667 ]
	tr -d '\n' <dgx.html | grep -q "<td[^>]*>$each"
}

@test "a plan of many channels: as many lanes as the page has room for" {
	need_topologies
	gtopo search --algo forest -o plan.json -q \
		"$GTOPO_TEST_TOPOLOGIES/rccl-topo_16p1h.xml"
	page many.html --plan plan.json \
		"$GTOPO_TEST_TOPOLOGIES/rccl-topo_16p1h.xml"
	n=$(grep -c 'type="checkbox"' many.html)
	[ "$n" -gt 1 ]
	grep -q "<p class=\"quiet\">$((33 - n)) more lanes of channels" many.html
}

@test "standard input, and what is no machine" {
	gtopo page - <"$xml/pcie-8gpu.xml" >in.html
	grep -q '<h1>standard input</h1>' in.html
	run_split gtopo page - <"$GTOPO_SRC/share/schema/gtopo-cluster.rng"
	[ "$status" -eq 2 ]
	[[ $err == "gtopo page: standard input:"* ]]
	echo '{"schema": "gtopo.plan/1"}' >no.json
	run_split gtopo page --report no.json "$xml/dgx-1v.xml"
	want 2 "gtopo page: no.json: is not a report; 'gtopo run --json' writes one"
	run_split gtopo page --trace no.json "$xml/dgx-1v.xml"
	want 2 "gtopo page: no.json: has no steps of a run; 'gtopo run --trace' writes them"
	[ -z "$out" ]
}

@test "what files say is text, and never a part of the page" {
	evil='&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt; &quot; &apos; ]]&gt; --&gt;'
	put=${evil//&/\\&}
	sed "s|<gpu dev=\"0\"|<gpu dev=\"0\" gt_firmware=\"$put\"|
		s|name=\"mlx5_0\"|name=\"$put\"|
		s|arch=\"x86_64\"|arch=\"x86_64\" gt_name=\"$put\"|" \
		"$xml/dgx-1v.xml" >evil.xml
	bad=$(printf 'a<b>&"\377\xc3.xml')
	cp evil.xml "$bad"
	page evil.html "$bad"
	grep -q '&lt;img src=x onerror=alert(2)&gt;' evil.html
	# The file's name has no bytes that are not UTF-8 any more.
	grep -q '<h1>a&lt;b&gt;&amp;&quot;.*xml</h1>' evil.html
	iconv -f UTF-8 -t UTF-8 evil.html >/dev/null
	[ ! -s data ] || jq -e '[.[0].machine.nodes[].facts // empty] |
		any(contains("</script><script>alert(1)</script>"))' data
}

@test "what a report says is text as well" {
	cat >report.json <<-'END'
	{"schema": "gtopo.report/1", "engine": "<script>alert(1)</script>",
	 "machine": {"host": "<b>h"}, "ranks": 2, "rows": [
	 {"coll": "\"><script>", "bytes": 1e300, "busbw_gbs": 1e-300, "dtype": "<i>"},
	 {"coll": "\"><script>", "bytes": 1, "busbw_gbs": 1e300},
	 {"coll": 7, "bytes": "x"}, 3]}
	END
	cat >trace.json <<-'END'
	{"traceEvents": [{"pid": 1e9, "ts": 0, "dur": 1, "cat": "<"},
	 {"pid": 1, "ts": 1e308, "dur": 1e308, "cat": "wait"},
	 {"pid": 0, "ts": 0, "dur": 1e-300, "cat": "move"}, 4]}
	END
	page report.html --report report.json --trace trace.json \
		"$xml/dgx-1v.xml"
	grep -q '&lt;b&gt;h' report.html
	grep -q 'Ranks from 64 on are not drawn' report.html
}

# browse FILE: the page as a browser has made it is in dom, what it said in log.
browse() {
	timeout 60 chromium --headless --no-sandbox --disable-gpu \
		--disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync \
		--user-data-dir="$BATS_TEST_TMPDIR/profile" \
		--enable-logging=stderr --v=0 --dump-dom \
		"file://$BATS_TEST_TMPDIR/$1" >dom 2>log ||
		skip "chromium does not start here"
	run grep -E 'CONSOLE|Uncaught' log
	[ "$status" -eq 1 ]
	grep -q '<html[^>]*class="scripted"' dom
}

@test "in a browser: no error, and a device tells what is wrong with it" {
	command -v chromium >/dev/null || skip "no chromium"
	gtopo search -q --algo ring -o plan.json "$xml/dgx-1v.xml"
	page seen.html --plan plan.json "$xml/dgx-1v.xml"
	browse seen.html
	has_picture seen.html || skip "no picture"
	grep -q 'data-name="n6"' dom
	page sick.html "$GTOPO_SRC/tests/cases/show/sick.xml"
	look='Array.from(document.querySelectorAll("g.node")).find(
		g => g.dataset.tip.startsWith("GPU1")).focus();'
	awk -v look="$look" '{ sub(/<\/body>/, "<script>" look "</script>&") } 1' \
		sick.html >look.html
	browse look.html
	grep -q '<dt>warning</dt><dd>link runs at x8, can do x16</dd>' dom
}

@test "standard input is read once" {
	cd "$BATS_TEST_TMPDIR"
	local file=$GTOPO_SRC/share/xml/pcie-8gpu.xml
	for options in '--expect dgx-1v -' "- $file" '- -' '--report - -' \
		'--report - --trace - dgx-1v' '--plan - dgx-1v'; do
		# shellcheck disable=SC2086
		run_split gtopo page $options <"$file"
		want 2 "gtopo page: '-' may be one of a single FILE without \
--expect, --report and --trace; all else is read more than once, and has to be \
a file"
	done
}

@test "a trace of no time, and of more than there is" {
	cd "$BATS_TEST_TMPDIR"
	# drawn STATUS EVENT
	drawn() {
		echo "{\"traceEvents\":[{\"pid\":0,$2,\"cat\":\"wait\"}]}" \
			>trace.json
		run_split gtopo page --trace trace.json dgx-1v
		[ "$status" -eq "$1" ]
	}
	drawn 0 '"ts":0,"dur":5e-324'
	drawn 2 '"ts":1e300,"dur":1'
	[[ $err == *"has no steps of a run"* ]]
	drawn 2 '"ts":0,"dur":1e308'
}

@test "a file that cannot be read is named, and the page has the others" {
	cd "$BATS_TEST_TMPDIR"
	cp "$GTOPO_SRC/share/xml/dgx-1v.xml" a.xml
	cp a.xml b.xml
	echo '<system version="1"' >broken.xml
	run_split gtopo page -o page.html a.xml broken.xml b.xml none.xml
	[ "$status" -eq 1 ]
	[[ $err == *"none.xml: "* ]]
	[[ $err == *"broken.xml:"*"; the page says so, and shows the others"* ]]
	grep -q '2 as the norm' page.html
	grep -q 'broken.xml:[0-9]' page.html
	run_split gtopo page -o page.html a.xml b.xml
	want 0 ""
}
