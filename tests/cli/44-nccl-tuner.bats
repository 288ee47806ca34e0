# gtopo export --to nccl-tuner: a race of NCCL's ways as a table for its tuner.

load common

# race ROW...: a race file of these rows, "COLL BYTES {VARIANTS}".
race() {
	local row between='' coll bytes variants
	{
		printf '{"machine": {"processes": 1, "link": "peer"}, "rows": ['
		for row; do
			read -r coll bytes variants <<<"$row"
			printf '%s{"ranks": 8, "coll": "%s", "bytes": %s,
				"graph": false,
				"nccl": {"variants_us": %s}}' "$between" \
				"$coll" "$bytes" "$variants"
			between=', '
		done
		printf ']}\n'
	} >"$BATS_TEST_TMPDIR/race.json"
}

# lines: what the table has below its comments.
lines() {
	gtopo export --to nccl-tuner "$BATS_TEST_TMPDIR/race.json" |
		grep -v '^#'
}

@test "each size has its fastest way, and ways that go on are one line" {
	race 'allreduce 1024 {"default": 10, "tree/ll/1": 5, "ring/ll/4": 6}' \
		'allreduce 4096 {"default": 10, "tree/ll/1": 5, "ring/ll/4": 6}' \
		'allreduce 65536 {"default": 20, "ring/simple/16": 12}'
	[ "$(lines)" = "allreduce,0,16384,tree,ll,1,1,8,-1,-1
allreduce,16385,9223372036854775807,ring,simple,16,1,8,-1,-1" ] ||
		{ lines; false; }
}

@test "no size is without a line, since the plugin would take one channel" {
	race 'allreduce 1024 {"default": 10, "tree/ll/1": 9.9}' \
		'allreduce 4096 {"default": 10, "tree/ll/1": 5}' \
		'allgather 1024 {"default": 3, "ring/ll/1": 4}'
	[ "$(lines)" = "allgather,0,9223372036854775807,ring,ll,1,1,8,-1,-1
allreduce,0,9223372036854775807,tree,ll,1,1,8,-1,-1" ] ||
		{ lines; false; }
	run_split gtopo export -v --to nccl-tuner -o "$BATS_TEST_TMPDIR/out" \
		"$BATS_TEST_TMPDIR/race.json"
	want 0 "gtopo export: 3 sizes, 2 lines
gtopo export: at 1 of 3 sizes NCCL's default is faster than every \
way that was forced; the table makes it slower there"
}

@test "NCCL's own reader of the table would take every line" {
	race 'reducescatter 1024 {"ring/ll128/32": 9}' \
		'reduce 2048 {"ring/simple/4": 9}' \
		'alltoall 2048 {"default": 9}'
	[ "$(lines | awk -F, 'NF == 10 && $2 <= $3' | wc -l)" -eq 2 ]
}

@test "a plan is no race, and what measures one is told" {
	cd "$BATS_TEST_TMPDIR"
	gtopo search --algo ring -o plan.json "$GTOPO_SRC/share/xml/dgx-1v.xml"
	run_split gtopo export --to nccl-tuner plan.json
	want 2 "gtopo export: plan.json: is a plan; --to nccl-tuner takes what \
'bench/vs-nccl -F' measured with it"
}

@test "what has no forced ways is refused, with its place" {
	race 'allreduce 1024 {"default": 10, "ring-simple": 9}'
	run_split gtopo export --to nccl-tuner "$BATS_TEST_TMPDIR/race.json"
	want 2 "gtopo export: $BATS_TEST_TMPDIR/race.json: rows: no way of NCCL \
is forced here; vs-nccl -F races such"
	race 'allreduce 1024 {"ring/ll/1": 0}'
	run_split gtopo export --to nccl-tuner "$BATS_TEST_TMPDIR/race.json"
	[ "$status" -eq 2 ]
	grep -F "is not above 0" <<<"$err"
	echo '{}' >"$BATS_TEST_TMPDIR/race.json"
	run_split gtopo export --to nccl-tuner "$BATS_TEST_TMPDIR/race.json"
	[ "$status" -eq 2 ]
}

@test "two rows of one size are refused" {
	race 'allreduce 1024 {"default": 10, "tree/ll/1": 5}' \
		'allreduce 4096 {"default": 10, "tree/ll/1": 5}' \
		'allreduce 1024 {"default": 10, "ring/ll/4": 5}'
	run_split gtopo export --to nccl-tuner "$BATS_TEST_TMPDIR/race.json"
	want 2 "gtopo export: $BATS_TEST_TMPDIR/race.json: rows: has two rows of \
allreduce of 1024 bytes on 8 ranks; keep one of them"
}
