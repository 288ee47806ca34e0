load common

@test "no command is an error that lists them all" {
	run_split gtopo
	[ "$status" -eq 2 ]
	[ -z "$out" ]
	[ "$err" = "$(gtopo help)" ]
}

@test "--help lists every command" {
	run_split gtopo --help
	want 0 ""
	[ "$out" = "$(gtopo help)" ]
	[[ $out == *"  version "* ]]
}

@test "--version says which" {
	run_split gtopo --version
	want 0 ""
	[[ $out =~ ^gtopo\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "version -v says what is built in" {
	run_split gtopo version -v
	[[ $out =~ cuda\ (yes|no) ]]
	[[ $out =~ verbs\ (yes|no) ]]
}

@test "help CMD is CMD --help, for every command" {
	for cmd in $(gtopo help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do
		[ "$(gtopo help "$cmd")" = "$(gtopo "$cmd" --help)" ]
		[ "$(gtopo help "$cmd")" = "$(gtopo "$cmd" -h)" ]
	done
}

@test "help fits 80 columns" {
	for cmd in "" $(gtopo help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do
		run gtopo help $cmd
		[ "$status" -eq 0 ]
		for line in "${lines[@]}"; do
			echo "$cmd: $line"
			[ "${#line}" -le 80 ]
		done
	done
}

@test "an unknown command names the nearest" {
	run_split gtopo verison
	want 2 "gtopo: 'verison' is not a command; did you mean 'version'?"
	[ -z "$out" ]
}

@test "an unknown command that is near to nothing" {
	run_split gtopo frobnicate
	want 2 "gtopo: 'frobnicate' is not a command; see 'gtopo help'"
}

@test "an unknown option names the nearest" {
	run_split gtopo version --verbos
	want 2 "gtopo version: '--verbos' is not an option; did you mean '--verbose'?"
	run_split gtopo version --zzzzzz
	want 2 "gtopo version: '--zzzzzz' is not an option; see --help"
	run_split gtopo version -Z
	want 2 "gtopo version: '-Z' is not an option; see --help"
}

@test "an option without its argument" {
	run_split gtopo version -o
	want 2 "gtopo version: -o needs FILE"
	run_split gtopo version --output
	want 2 "gtopo version: --output needs FILE"
}

@test "an operand too many" {
	run_split gtopo version now
	want 2 "gtopo version: 'now' is one operand too many; see 'gtopo help version'"
}

@test "-o writes the product to a file" {
	cd "$BATS_TEST_TMPDIR"
	run_split gtopo version -o here
	want 0 ""
	[ -z "$out" ]
	[ "$(<here)" = "$(gtopo version)" ]
	[ "$(ls)" = here ]
}

@test "a failing -o leaves the old file alone" {
	run_split gtopo version -o "$BATS_TEST_TMPDIR/none/here"
	[ "$status" -eq 3 ]
	[[ $err == "gtopo version: $BATS_TEST_TMPDIR/none/here: cannot write: "* ]]
}

@test "a full disk on standard output is seen" {
	[ -w /dev/full ] || skip "no /dev/full"
	run_split sh -c '"$1" help >/dev/full' sh "$GTOPO"
	want 3 "gtopo help: standard output: cannot write: No space left on device"
}

@test "a closed standard output is seen" {
	run_split sh -c '"$1" help >&-' sh "$GTOPO"
	want 3 "gtopo help: standard output: cannot write: Bad file descriptor"
}

@test "a copied program finds the reference machines beside it" {
	local dir=$BATS_TEST_TMPDIR/copy
	unset GTOPO_XML
	for xml in share/gtopo/xml share/xml bin/share/xml; do
		mkdir -p "$dir/bin" "$dir/$xml"
		cp "$GTOPO" "$dir/bin/gtopo"
		cp "$GTOPO_SRC"/share/xml/dgx-1v.xml "$dir/$xml/only-here.xml"
		run_split "$dir/bin/gtopo" diff --expect only-here only-here
		want 0 ""
		rm -r "$dir"
	done
}

@test "options that take a machine know the reference machines, too" {
	export GTOPO_XML=$GTOPO_SRC/share/xml
	local algo=$GTOPO_SRC/tests/cases/msccl/good
	cd "$BATS_TEST_TMPDIR"
	run_split gtopo search --algo ring -o plan.json dgx-1v
	want 0 ""
	run_split gtopo verify --topology dgx-1v plan.json
	want 0 ""
	[[ $out == *"$GTOPO_XML/dgx-1v.xml has these links and routes"* ]]
	run_split gtopo verify --topology dgx-1x plan.json
	want 2 "gtopo verify: dgx-1x: is no file and no reference machine; did \
you mean 'dgx-1v'?"
	run_split gtopo import --topology dgx1v --gpus 0-2 -o steps.json \
		"$algo/straight3-alltoall.xml"
	want 0 ""
	gtopo export --to nccl-graph -o graph.xml plan.json
	run_split gtopo nccl --topo DGX-1V graph.xml
	want 0 ""
	run_split gtopo fuse -o cluster.xml dgx-h100 hgx-h200
	want 0 ""
	run_split gtopo show cluster.xml
	[[ $out == *": 2 nodes of 2 kinds, 16 GPUs"* ]]
	run_split gtopo fuse dgx-h100 hgx-h200 dgx-h100
	[[ "$status $err" == "2 gtopo fuse: $GTOPO_XML/dgx-h100.xml: is there twice; "* ]]
}

@test "operands may be reference machines, files go first" {
	export GTOPO_XML=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR"
	for cmd in show paths lint 'search --algo ring -o plan.json'; do
		run_split gtopo $cmd dgx-1v
		want 0 ""
	done
	run_split gtopo show 4xDGX_H100
	[[ "$status $out" == "0 $GTOPO_XML/4x-dgx-h100.xml: 4 nodes "* ]]
	run_split gtopo show dgx-1x
	want 2 "gtopo show: dgx-1x: is no file and no reference machine; did \
you mean 'dgx-1v'?"
	run_split gtopo show h100
	want 2 "gtopo show: h100: is no file and no reference machine; did you \
mean 'dgx-h100'?"
	run_split gtopo show dgx-h100.xml
	want 2 "gtopo show: dgx-h100.xml: there is no such file; of the \
reference machine leave out '.xml': 'dgx-h100'"
	for cmd in verify steps predict run; do
		run_split gtopo $cmd dgx-1v
		want 2 "gtopo $cmd: dgx-1v: is a machine, where a plan is \
needed; 'gtopo search -o plan.json dgx-1v' makes one"
	done
	run_split gtopo show nothing-like-it
	[ "$status" -eq 2 ]
	[[ $err == *"is no file and no reference machine; of these there are \
2x-dgx-a100, "*", workstation-4gpu" ]]
	cp "$GTOPO_XML/pcie-8gpu.xml" dgx-1v
	run_split gtopo show dgx-1v
	[[ $out == 'dgx-1v: 8 GPUs'* ]]
	[[ $out != *NVLink* ]]
	run_split gtopo health --expect nothing-like-it
	[ "$status" -eq 2 ]
	[[ $err == "gtopo health: 'nothing-like-it' is no reference machine in \
'$GTOPO_XML', which has 2x-dgx-a100, "*"; GTOPO_XML names another folder, "* ]]
}
