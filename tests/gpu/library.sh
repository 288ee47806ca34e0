# libgtopo: in one process, in two, and on what takes itself for two hosts.
# Groups as one, one by one and by NCCL, where it is found.
groups_of() {
	timeout -k 5 55 "$library" race "$all" 50 2>&1 |
		tee "$out/${machine}x$gpus-$commit.groups.txt"
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

# Each of 2 processes has one of 2 ranks, on a host of its own if $hosts is set,
# with an RDMA device, which is simulated, if it is "verbs".
library_apart() { # PART [PLAN]
	local rank pids=() status=0
	export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 \
		GTOPO_SECRET="not so secret: a test"
	for rank in 0 1; do
		[ -z "$hosts" ] || export GTOPO_HOSTID=h$rank
		[ "$hosts" != verbs ] || export GTOPO_IB_HCA=soft0 \
			LD_PRELOAD="$soft" CUDA_VISIBLE_DEVICES=$rank
		RANK=$rank timeout -k 5 55 "$library" "$1" \
			"${2:-$work/plan2.json}" 50 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || status=$?
	done
	unset WORLD_SIZE MASTER_ADDR MASTER_PORT GTOPO_SECRET GTOPO_HOSTID
	[ "$hosts" != verbs ] ||
		unset GTOPO_IB_HCA LD_PRELOAD CUDA_VISIBLE_DEVICES
	return $status
}

# PyTorch, if it is there, on libnccl.so.2: all that it calls, and training.
face_torch() { # RANKS
	local nccl
	python3 -c 'import torch' 2>/dev/null || return 0
	nccl=$(find_file libnccl.so.2 "$root") || return 0
	words='ok - FSDP2'
	check 90 "PyTorch on NCCL's face, $1 ranks" 0 \
		env LD_PRELOAD="$nccl" NCCL_MULTI_RANK_GPU_ENABLE=1 \
		python3 "$here/face_torch.py" "$1"
}

# Sets all, the plan for all GPUs, and soft, the simulated RDMA device.
library_checks() {
	all=$work/plan$gpus.json
	hosts=
	for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
		[ -x "$face" ] || continue
		words='processes: all right'
		check 60 "NCCL's face in $n processes" 0 \
			env LD_LIBRARY_PATH="$root:$here" "$face" "$n"
		for how in threads groups queues; do
			words="$n .*: all right"
			check 60 "NCCL's face, $n ranks of one process: $how" 0 \
				env LD_LIBRARY_PATH="$root:$here" \
				NCCL_MULTI_RANK_GPU_ENABLE=1 \
				CUDA_DEVICE_MAX_CONNECTIONS=32 "$face" "$n" "$how"
		done
		face_torch "$n"
	done
	for part in check graph groups pairs register pieces apart; do
		check 60 "libgtopo in 2 processes: $part" 0 library_apart "$part"
		[ "$part" != register ] || grep '^# all' "$work/out"
	done
	# Streams that share a GPU's queue could wait for each other.
	export CUDA_DEVICE_MAX_CONNECTIONS=32
	check 60 "libgtopo in 2 processes: orders" 0 library_apart orders
	unset CUDA_DEVICE_MAX_CONNECTIONS
	export GTOPO_CUDA_IPC=0
	check 60 "libgtopo in 2 processes, memory as files" 0 library_apart check
	unset GTOPO_CUDA_IPC
	check 20 "search everything for 2 hosts" 0 auto_of 2
	hosts=yes
	for part in check graph; do
		check 60 "libgtopo on 2 hosts: $part" 0 \
			library_apart "$part" "$work/auto2.json"
	done
	soft=$(find_file libsoftverbs.so "$root/tests/verbs")
	hosts=verbs
	"$gtopo" synth "1 gpu 1 nic" 2>>"$log" |
		"$gtopo" search --nodes 2 - >"$work/rails.json" 2>>"$log"
	# A kernel that is loaded when it is first needed waits for those that run, and
	# they for the simulated card, which moves bytes by the driver: load all at once.
	export CUDA_MODULE_LOADING=EAGER
	for level in LOC SYS; do
		for part in check graph; do
			[ -n "$soft" ] || continue
			export GTOPO_NET_GDR_LEVEL=$level
			check 60 "libgtopo on 2 hosts, verbs, GPUDirect $level: $part" \
				0 library_apart "$part" "$work/rails.json"
		done
	done
	unset CUDA_MODULE_LOADING GTOPO_NET_GDR_LEVEL
	hosts=
	check 30 "libgtopo in 2 processes: messages that do not match" 0 \
		library_apart pairs-apart
	blocks_of_library "$all" check graph groups pairs
	for part in check graph groups threads overlap fault pairs pairs-fault pieces; do
		check 60 "libgtopo: $part" 0 "$library" "$part" "$all" 55
	done
}
