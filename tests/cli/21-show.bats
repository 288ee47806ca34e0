# gtopo show: the tree, its encodings, what it marks.

load common

xml=$GTOPO_SRC/share/xml
cases=$GTOPO_SRC/tests/cases/show

# shown FILE NAME: the tree is the one in tests/cases/show, but for the title.
shown() {
	run_split gtopo show "$1"
	want 0 ""
	sed "s|$GTOPO_SRC/||g" <<<"$out" | diff "$cases/$2.txt" -
}

@test "the tree of a DGX H100" {
	shown "$xml/dgx-h100.xml" dgx-h100
}

@test "the tree of a DGX-1V, with direct NVLinks" {
	shown "$xml/dgx-1v.xml" dgx-1v
}

@test "what is odd about a machine is marked" {
	shown "$cases/sick.xml" sick
}

@test "ASCII where the locale is not UTF-8" {
	LC_ALL=C gtopo show "$cases/sick.xml" >"$BATS_TEST_TMPDIR/c"
	run grep -P '[^\x20-\x7e]' "$BATS_TEST_TMPDIR/c"
	[ "$status" -eq 1 ]
	grep -F '|  `- GPU3 0000:13:00.0' "$BATS_TEST_TMPDIR/c"
}

@test "colours on a terminal only, and not with NO_COLOR" {
	command -v script >/dev/null || skip "no script"
	esc=$(printf '\033')
	export TERM=xterm
	run script -qec "$GTOPO show $xml/dgx-h100.xml" /dev/null
	[[ $output == *"$esc[32mGPU0 0000:1b:00.0$esc[0m"* ]]
	NO_COLOR=1 run script -qec "$GTOPO show $xml/dgx-h100.xml" /dev/null
	[[ $output == *GPU0* && $output != *"$esc["* ]]
	TERM=dumb run script -qec "$GTOPO show $xml/dgx-h100.xml" /dev/null
	[[ $output == *GPU0* && $output != *"$esc["* ]]
	run gtopo show "$xml/dgx-h100.xml"
	[[ $output != *"$esc["* ]]
}

@test "rates as gtopo paths has them" {
	run_split gtopo show --rates nccl "$xml/dgx-h100.xml"
	[[ $out == *"NVSwitch "*"370.8 GB/s  GPU0-7, 18 x 20.6 each"* ]]
	[[ $out == *"gen5 x16  48.0 GB/s"* ]]
}

@test "reads standard input, refuses what is no topology" {
	gtopo show - <"$xml/pcie-8gpu.xml" >"$BATS_TEST_TMPDIR/a"
	gtopo show -o "$BATS_TEST_TMPDIR/b" "$xml/pcie-8gpu.xml"
	diff <(tail -n +2 "$BATS_TEST_TMPDIR/a") \
		<(tail -n +2 "$BATS_TEST_TMPDIR/b")
	run_split gtopo show "$GTOPO_SRC/README.md"
	[ "$status" -eq 2 ]
	[ -z "$out" ]
}

@test "real machines are shown, each GPU and port once" {
	need_topologies
	for file in "$GTOPO_TEST_TOPOLOGIES"/*.xml; do
		gtopo show "$file" >"$BATS_TEST_TMPDIR/t"
		read -r gpus nets < <(sed -nE '1s/.*: ([0-9]+) GPUs?, ([0-9]+) network.*/\1 \2/p' \
			"$BATS_TEST_TMPDIR/t")
		[ "$(grep -cE '─ GPU[0-9]+ ' "$BATS_TEST_TMPDIR/t")" -eq "$gpus" ]
		[ "$(grep -oE ' NET[0-9]+(#[0-9]+)?[ ,]' "$BATS_TEST_TMPDIR/t" |
			wc -l)" -eq "$nets" ]
	done
}
