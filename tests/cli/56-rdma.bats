# gtopo run over RDMA, by devices that are simulated in each process
# (tests/verbs/soft.h): every machine has those.
load common

setup() {
	plan=$BATS_TEST_TMPDIR/plan.json
	"$GTOPO" version -v 2>&1 | grep -q 'verbs yes' ||
		skip "built without RDMA"
	lib=$(dirname "$GTOPO")/tests/verbs/libsoftverbs.so
	[ -f "$lib" ] || skip "no simulated devices: make check builds them"
	gtopo search --algo ring "$GTOPO_SRC/share/xml/pcie-8gpu.xml" \
		--coll allreduce >"$plan"
	# Launchers' variables of whoever runs the tests are not meant.
	unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR \
		MASTER_PORT PMIX_RANK OMPI_COMM_WORLD_RANK SLURM_STEP_ID \
		GTOPO_IB_HCA GTOPO_IB_GID_INDEX
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
}

teardown() {
	# Nobody may be left, whatever a test did.
	pkill -KILL -f "$plan" 2>/dev/null || true
}

rdma() {
	LD_PRELOAD=$lib run_split gtopo run --plan "$plan" --device host \
		--link verbs -n 2 -w 1 "$@"
}

right() {
	[ "$status" -eq 0 ]
	grep -q '^# Out of bounds values : 0 OK$' <<<"$out"
	[ -z "$err" ]
}

@test "every collective by RDMA, on devices that keep no order" {
	rdma --procs 4 -b 1 -e 4M -f 64
	right
	rdma --procs 2 -b 48K -e 48K --dtype all --op all
	right
}

@test "a device and a port by name, one that is not there" {
	GTOPO_IB_HCA=soft1:1 rdma --procs 3 -b 1M -e 1M
	right
	GTOPO_IB_HCA=soft7 rdma --procs 2 -b 1K -e 1K
	[ "$status" -eq 3 ]
	[[ "$err" == *"none of 2 RDMA devices has an active port called soft7"* ]]
	GTOPO_IB_HCA=soft1:2 rdma --procs 2 -b 1K -e 1K
	[ "$status" -eq 3 ]
	[[ "$err" == *"has an active port called soft1:2"* ]]
	GTOPO_IB_GID_INDEX=9 rdma --procs 2 -b 1K -e 1K
	[ "$status" -eq 3 ]
	[[ "$err" == *"with an address of GTOPO_IB_GID_INDEX 9"* ]]
}

@test "a rank that stops among others that RDMA connects" {
	rdma --procs 3 -b 1M -e 1M --inject stall:1:3 --timeout 2s
	[ "$status" -eq 3 ]
	[[ "$err" == *"rank 1 "* ]]
}

@test "messages between hosts by RDMA, where the plan's cards are" {
	gtopo synth "2 gpu 1 nic" 2>/dev/null |
		gtopo search --nodes 2 --coll allreduce - >"$plan"
	# TCP would find no interface.
	export GTOPO_TEST_PLAN=$plan GTOPO_SOCKET_IFNAME==nothere GTOPO_IB_HCA=soft0
	messages=$(dirname "$GTOPO")/tests/unit/lib/test_pair
	run "$messages" test_processes
	[ "$status" -ne 0 ]
	LD_PRELOAD=$lib run "$messages" test_processes
	[ "$status" -eq 0 ]
}

@test "how near GPUs must be for GPUDirect, in words that there are" {
	GTOPO_NET_GDR_LEVEL=PXP rdma --procs 2 -b 1K -e 1K
	[ "$status" -eq 2 ]
	[[ "$err" == *"GTOPO_NET_GDR_LEVEL 'PXP' is none of LOC, PIX, PXB, PHB, NODE and SYS" ]]
	GTOPO_NET_FORCE_FLUSH=2 rdma --procs 2 -b 1K -e 1K
	[ "$status" -eq 2 ]
	[[ "$err" == *"GTOPO_NET_FORCE_FLUSH '2' is not a number from 0 to 1" ]]
	GTOPO_NET_GDR_LEVEL=SYS rdma --procs 2 -b 1K -e 1K
	right
}

@test "when all cables of RDMA are cut a job goes on over TCP" {
	cut=$BATS_TEST_TMPDIR/cut
	LD_PRELOAD=$lib GTOPO_SOFT_CUT=$cut "$GTOPO" run --plan "$plan" \
		--device host --procs 3 -e 64K --soak 12s --keep-going \
		--link verbs --timeout 8s >"$plan.out" 2>"$plan.err" 3>&- &
	leader=$!
	until_true works 3
	touch "$cut"
	code=0
	wait $leader || code=$?
	cat "$plan.out" "$plan.err"
	[ $code -eq 0 ]
	[ ! -s "$plan.err" ]
	head -n 1 "$plan.out" |
		grep -q ': TCP from now on with .*; right again [0-9.]* s after it was noticed$'
	grep -q '^[1-9][0-9]* operations in .* s, 0 elements wrong$' \
		"$plan.out"
}
