# Few thread blocks: every schedule does with as many as it is given.
blocks_of() { # RANKS
	check 90 "1, 2, 3, 8 and 16 blocks on $1" 0 "$matrix" blocks "$1" 85
}

# Streams, graphs, groups and messages of libgtopo.
blocks_of_library() { # PLAN PART...
	local most part plan=$1
	shift
	for most in 1 3; do
		for part in "$@"; do
			export LIBRARY_MAX_BLOCKS=$most
			check 60 "libgtopo: $part, blocks: $most" 0 \
				"$library" "$part" "$plan" 55
			unset LIBRARY_MAX_BLOCKS
		done
	done
}

# Ranks that share a GPU: of several trees few blocks take the first ones.
blocks_of_trees() {
	local most way
	for most in 1 2 3 8; do
		for way in "" --graph --best "--procs 2" \
			"--procs 2 --link tcp"; do
			# A tree goes up and down, by packets or FIFOs.
			[ "$most $way" != "1 --procs 2 --link tcp" ] || continue
			words='values : 0 OK'
			check 40 "trees of 4, blocks: $most${way:+ $way}" 0 \
				"$gtopo" run --device cuda --map share --plan \
				"$work/trees4.json" --coll allreduce -e 16M \
				-f 16 -n 2 -w 0 --max-blocks "$most" $way
		done
	done
	words="max_blocks '1' is too few for"
	check 20 "a tree over TCP needs two blocks" 2 "$gtopo" run \
		--device cuda --map share --plan "$work/trees4.json" \
		--coll allreduce -e 1K --procs 2 --link tcp --max-blocks 1
}
