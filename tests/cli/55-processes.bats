# gtopo run as several processes: how they are started, and what connects them.
load common
load processes

@test "two, three and eight processes compute what one does" {
	ring_plan
	for procs in 1 2 3 8; do
		run_split host --procs $procs -b 1 -e 64K -f 16
		right
		[ "$(rows)" -ge $((5 * 3)) ]
	done
}

@test "every collective, over TCP as well" {
	ring_plan
	run_split host --procs 4 --link tcp --iface lo -b 1 -e 1M -f 32
	right
	run_split host --procs 4 --link shm -b 1 -e 1M -f 32
	right
}

@test "interfaces by GTOPO_SOCKET_IFNAME, by --iface before that" {
	ring_plan
	export GTOPO_SOCKET_IFNAME==nothere
	for _ in {1..5}; do # whoever is the first to see it
		run_split host --procs 2 --link tcp -b 4K -e 4K
		want 2 "gtopo run: no network interface that is up fits '=nothere'"
	done
	run_split host --procs 2 --link tcp --iface =lo -b 4K -e 4K
	right
	GTOPO_SOCKET_IFNAME==lo run_split host --procs 2 --link tcp -b 4K -e 4K
	right
}

@test "a plan over network cards that are not there goes over TCP, and says so" {
	gtopo synth "2 gpu 1 nic" 2>/dev/null |
		gtopo search --nodes 2 --coll allgather - >"$plan"
	export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port)
	unset GTOPO_IB_HCA
	GTOPO_HOSTID=b RANK=1 host -b 1K -e 1K 2>"$plan.err" &
	GTOPO_HOSTID=a RANK=0 run_split host -b 1K -e 1K
	wait $!
	[ "$status" -eq 0 ]
	[[ "$err" == "gtopo run: TCP between hosts: process 0 ("*") has no RDMA port that works on the plan's card '0000:03:00.0'" ]]
	[ ! -s "$plan.err" ]
}

@test "what RDMA is told and makes no sense ends all alike, asked for or not" {
	"$GTOPO" version -v 2>&1 | grep -q 'verbs yes' || skip "built without RDMA"
	gtopo synth "2 gpu 1 nic" 2>/dev/null |
		gtopo search --nodes 2 --coll allgather - >"$plan"
	export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1
	for turn in {1..4}; do # whoever is the first to see it
		for link in "" "--link verbs"; do
			export MASTER_PORT=$(free_port)
			GTOPO_HOSTID=b RANK=1 GTOPO_IB_TC=high host -b 1K \
				-e 1K $link 2>"$plan.err" &
			GTOPO_HOSTID=a RANK=0 run_split host -b 1K -e 1K $link
			code=0
			wait $! || code=$?
			[ "$status $code" = "2 2" ]
			[[ "$err" == "gtopo run: process 1 ("*"): GTOPO_IB_TC 'high' is not a number from 0 to 255" ]]
			[ ! -s "$plan.err" ]
		done
	done
}

@test "what goes between processes is logged, in order and completely" {
	gtopo synth "2 gpu" 2>/dev/null |
		gtopo search --algo ring --coll allreduce - >"$plan"
	for link in shm tcp; do
		run_split host --procs 2 --link $link --iface lo -b 4K -e 4K \
			--coll allreduce --trace-links "$plan.log"
		right
		for one in 0 1; do
			# Eight operations of two steps in each direction.
			for what in "slice from $one" "credit from $((1 - one))"; do
				grep " $what " "$plan.log.$one" |
					sed 's/.*number \([0-9]*\).*/\1/' >"$plan.n"
				diff "$plan.n" <(seq 0 15)
			done
			[ "$(wc -l <"$plan.log.$one")" -eq 32 ]
			# Nobody gives back what was not sent.
			sort -s -n -k1,1 "$plan.log.0" "$plan.log.1" |
				awk '$2 == "slice" { n[$4]++ }
				$2 == "credit" && $12 >= n[$4] { exit 1 }'
		done
	done
	run_split host --procs 1 -b 4K -e 4K --trace-links "$plan.log"
	want 2 "gtopo run: --trace-links: one process alone has no links"
	run_split host --procs 2 -b 4K -e 4K --trace-links "$plan.no/log"
	[ "$status" -eq 3 ]
	# Whose file could not be written first is the one that is told.
	[[ "$err" == *"$plan.no/log."[01]": cannot write: No such file or directory" ]]
}

@test "a link that carries nothing: times, but no verdict" {
	ring_plan
	run_split host --procs 2 --link null -b 64K -e 64K
	[ "$status" -eq 0 ]
	[ "$(grep -c 'N/A.*N/A$' <<<"$out")" -ge 5 ]
	grep -q '^# Out of bounds values : N/A$' <<<"$out"
	host --procs 2 --link null -b 64K -e 64K --coll allreduce --json |
		jq -e '.wrong == null and .rows[0].wrong == null'
	# Of slices that have always come only what is asked for is logged.
	run_split host --procs 2 --link null -b 4K -e 4K --coll allreduce \
		--trace-links "$plan.log"
	[ "$status" -eq 0 ]
	grep -q ' slice from ' "$plan.log.0"
	grep -q ' credit from ' "$plan.log.0"
	run_split host --procs 2 --link null --soak 1s
	want 2 "gtopo run: --soak checks data, and --link null carries none"
}

@test "all types and operators between processes" {
	ring_plan
	run_split host --procs 3 -b 4099 -e 4099 --dtype all --op all
	right
}

@test "one process speaks, in text and in JSON" {
	ring_plan
	run_split host --procs 4 -b 1K -e 1K --coll allreduce
	right
	[ "$(rows)" -eq 1 ]
	host --procs 4 -b 1K -e 1K --coll allreduce --json -o "$plan.out"
	[ "$(grep -c '"schema"' "$plan.out")" -eq 1 ]
}

@test "started by hand with RANK and MASTER_ADDR" {
	ring_plan
	run_split by_hand 4 -b 1 -e 64K -f 16
	right
}

@test "a launcher's variables that make no sense are refused" {
	ring_plan
	RANK=4 WORLD_SIZE=4 MASTER_ADDR=::1 MASTER_PORT=1 run_split host
	want 2 "gtopo run: RANK '4' is not a number from 0 to 3"
	RANK=0 run_split host
	want 2 "gtopo run: WORLD_SIZE is not set"
	RANK=0 WORLD_SIZE=2 MASTER_PORT=7 run_split host
	want 2 "gtopo run: MASTER_ADDR is not set: where process 0 is"
	RANK=0 WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=x run_split host
	want 2 "gtopo run: MASTER_PORT 'x' is not a number from 1 to 65534"
	GTOPO_SECRET=short RANK=0 WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=9 \
		run_split host
	want 2 "gtopo run: the secret has 5 characters; use 16 to 4096"
	unset GTOPO_SECRET
	RANK=0 WORLD_SIZE=2 MASTER_ADDR=::1 MASTER_PORT=9 run_split host
	[ "$status" -eq 2 ]
	[[ "$err" == *"set GTOPO_SECRET_FILE (or GTOPO_SECRET)"* ]]
}

@test "a job of one process needs no launcher's address" {
	ring_plan
	RANK=0 WORLD_SIZE=1 run_split host -b 1K -e 1K
	right
}

@test "more processes than ranks are refused" {
	ring_plan
	run_split host --procs 9 -b 1K -e 1K
	want 2 "gtopo run: --procs '9': the plan has 8 ranks, and each process at least one"
}

@test "a process that runs something else is named" {
	ring_plan
	port=$(free_port)
	export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
	RANK=1 host -b 2K -e 2K 2>/dev/null &
	RANK=0 run_split host -b 1K -e 1K
	wait $! || true
	[ "$status" -eq 2 ]
	[[ "$err" == "gtopo run: process 1 ("*") has options '"*", process 0 '"* ]]
	ring_plan h200-vm-4
	mv "$plan" "$plan.other"
	ring_plan
	RANK=1 gtopo run --plan "$plan.other" --device host -b 1K -e 1K \
		2>/dev/null &
	RANK=0 run_split host -b 1K -e 1K
	wait $! || code=$?
	[ "$status" -eq 2 ]
	[ "$code" -eq 2 ]
	[[ "$err" == "gtopo run: process 1 ("*") has plan 'sha256:"* ]]
	# Another version: the program with another number in it.
	version=$(gtopo version | sed -n 's/^gtopo \([0-9.]*[0-9]\).*/\1/p')
	sed "s/${version//./\\.}/${version//[0-9]/9}/g" "$GTOPO" \
		>"$plan.other"
	chmod +x "$plan.other"
	RANK=1 "$plan.other" run --plan "$plan" --device host -b 1K -e 1K \
		2>/dev/null &
	RANK=0 run_split host -b 1K -e 1K
	wait $! || true
	[ "$status" -eq 2 ]
	[[ "$err" == "gtopo run: process 1 ("*") has version '9.9.9', process 0 '$version'" ]]
}

@test "a process on another machine is named" {
	ring_plan
	for procs in 1 2; do
		run_split host --procs $procs --strict -b 1K -e 1K
		[ "$status" -eq 2 ]
		[[ "$err" == "gtopo run: "*"the plan is for another machine" ]]
	done
	[[ "$err" == "gtopo run: process 0 ("* ]]
	gtopo synth "2 gpu 1 nic" 2>/dev/null |
		gtopo search --nodes 2 --coll allgather - >"$plan"
	run_split host --procs 2 --strict -b 1K -e 1K
	right
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	[ -n "$(ls /sys/bus/pci/devices)" ] || skip "no PCI devices here"
	export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port)
	# Process 1 sees no PCI devices.
	# shellcheck disable=SC2016
	RANK=1 unshare -m sh -c 'mount -t tmpfs none /sys/bus/pci/devices
		exec "$@"' sh "$GTOPO" run --plan "$plan" --device host \
		--strict -b 1K -e 1K -n 2 -w 1 2>/dev/null &
	RANK=0 run_split host --strict -b 1K -e 1K
	code=0
	wait $! || code=$?
	[ "$status" -eq 2 ]
	[ "$code" -eq 2 ]
	[[ "$err" == "gtopo run: process 1 ("*") is on another machine than process 0 ("*")" ]]
	[ "$(wc -l <<<"$err")" -eq 1 ]
}

@test "a process that does not come is named within the time limit" {
	ring_plan
	RANK=0 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port) \
		run_split host --timeout 1s
	want 3 "gtopo run: process 1, 2 did not come within 1.0 s"
}

@test "a port in use is told" {
	ring_plan
	python3 -c 'import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print(s.getsockname()[1], flush=True); time.sleep(60)' >"$plan.port" 3>&- &
	holder=$!
	until_true test -s "$plan.port"
	port=$(<"$plan.port")
	RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
		run_split host --timeout 1s
	kill $holder
	want 3 "gtopo run: cannot listen on '127.0.0.1:$port': Address already in use"
}

@test "a job's hosts become one cluster file" {
	dir=$BATS_TEST_TMPDIR/cluster
	mkdir "$dir"
	export WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port)
	for rank in 1 2; do
		GTOPO_HOSTID=host$((rank / 2)) RANK=$rank gtopo detect -q \
			--all-ranks -o "$dir/all.xml" 3>&- &
	done
	GTOPO_HOSTID=host0 RANK=0 run_split gtopo detect -q --all-ranks \
		-o "$dir/all.xml"
	wait
	[ "$status" -eq 0 ]
	[ "$(ls "$dir" | wc -l)" -eq 3 ]
	# Two hosts, equal and so of one kind.
	gtopo show "$dir/all.xml" | head -n 1 | grep -q ': 2 nodes of 1 kind'
	run_split gtopo detect --all-ranks
	want 2 "gtopo detect: --all-ranks writes several files; say with -o where the cluster's is to be"
}

@test "random operations for a while, in one process and in three" {
	ring_plan
	for procs in 1 3; do
		run_split host --procs $procs --soak 1s -e 256K --dtype all \
			--op all
		[ "$status" -eq 0 ]
		[[ "$out" =~ ^[1-9][0-9]*' operations in '[0-9.]+' s, 0 elements wrong'$ ]]
	done
	run_split host --soak 0
	want 2 "gtopo run: --soak '0' leaves no time"
	run_split host --soak 1s --json
	want 2 "gtopo run: --soak neither measures nor traces; leave --json, --trace and -o out"
}

@test "under mpirun, through PMIx" {
	command -v mpirun >/dev/null || skip "no mpirun (Debian: openmpi-bin)"
	gtopo version -v 2>/dev/null | grep -q 'PMIx *no' &&
		skip "built without PMIx"
	ring_plan
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	# What PMIx's library keeps for itself is not ours.
	export LSAN_OPTIONS=suppressions=$BATS_TEST_DIRNAME/leaks.supp:print_suppressions=0
	unset GTOPO_SECRET
	run_split mpirun --oversubscribe -n 4 "$GTOPO" run --plan "$plan" \
		--device host -b 1 -e 64K -f 16 -n 2 -w 1
	[ "$status" -eq 0 ]
	grep -q '^# Out of bounds values : 0 OK$' <<<"$out"
	# A job of one process listens to nobody.
	command -v ss >/dev/null || skip "no ss (Debian: iproute2)"
	mpirun -n 1 "$GTOPO" run --plan "$plan" --device host --soak 4s \
		>"$plan.out" 2>&1 3>&- &
	until_true pgrep -f "^$GTOPO run --plan $plan"
	sleep 1
	pgrep -f "$plan" >"$plan.pids"
	run ss -Hltnp
	while read -r pid; do
		[[ $output != *"(\"gtopo\",pid=$pid,"* ]]
	done <"$plan.pids"
	wait $!
	[ -s "$plan.pids" ]
}
