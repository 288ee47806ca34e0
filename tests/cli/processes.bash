# What the tests of several processes share.

setup() {
	plan=$BATS_TEST_TMPDIR/plan.json
	export GTOPO_SECRET="a secret for tests only"
	# Launchers' variables of whoever runs the tests are not meant.
	unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR \
		MASTER_PORT PMIX_RANK OMPI_COMM_WORLD_RANK SLURM_STEP_ID
}

teardown() {
	for ns in ${spaces:-}; do
		ip netns pids "$ns" 2>/dev/null | xargs -r kill -KILL || true
		ip netns delete "$ns" 2>/dev/null || true
	done
	# Nobody may be left, whatever a test did.
	pkill -KILL -f "$plan" 2>/dev/null || true
}

ring_plan() {
	gtopo search --algo ring "$GTOPO_SRC/share/xml/${1:-pcie-8gpu}.xml" \
		--coll allreduce >"$plan"
}

host() {
	gtopo run --plan "$plan" --device host -n 2 -w 1 "$@"
}

rows() {
	grep -c '^ ' <<<"$out"
}

right() {
	[ "$status" -eq 0 ]
	grep -q '^# Out of bounds values : 0 OK$' <<<"$out"
	[ -z "$err" ]
}

# Below those that the kernel gives to whoever connects meanwhile.
free_port() {
	local port
	while port=$((10000 + RANDOM % 20000)); do
		(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null || break
	done
	echo $port
}

# Shared memory with a name; others' programs may have some.
ours() {
	find /dev/shm -iname '*gtopo*'
}

gone() {
	! pgrep -f "$plan" >/dev/null
}

# by_hand SIZE ARGUMENT...: one process a rank, as torchrun starts them.
by_hand() {
	local size=$1 rank pids=() code=0 one port
	shift
	port=$(free_port)
	for ((rank = size - 1; rank >= 0; rank--)); do
		RANK=$rank WORLD_SIZE=$size MASTER_ADDR=127.0.0.1 \
			MASTER_PORT=$port host "$@" &
		pids+=($!)
	done
	for one in "${pids[@]}"; do
		wait "$one" || code=$?
	done
	return "$code"
}
