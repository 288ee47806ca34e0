# One GPU: ranks that share it.
# Algorithms from elsewhere: thread blocks that wait for each other, scratch.
imported_steps() {
	local plan=$work/plan4.json format way
	for format in msccl mscclpp; do
		"$gtopo" export --to "$format" -o "$work/algo.$format" "$plan" &&
			"$gtopo" import --topology "$dgx" --gpus 0,1,2,3 \
				-o "$work/steps.json" "$work/algo.$format"
		for way in "" --graph "--procs 2"; do
			words='values : 0 OK'
			check 40 "a ring of 4 from $format${way:+ $way}" 0 \
				"$gtopo" run --device cuda --map share --plan \
				"$work/steps.json" -b 40 -e 4M -f 32 -n 2 -w 0 \
				$way
		done
	done
}

# Ranks that share GPUs, several in a process, not equally many.
shared_processes() {
	local n way
	"$gtopo" search --algo ring --gpus 0,1,2,3 "$dgx" >"$work/plan4.json"
	check 60 "libgtopo: groups of 4 on one GPU" 0 env CUDA_VISIBLE_DEVICES=0 \
		"$library" groups "$work/plan4.json" 55
	blocks_of_library "$work/plan4.json" groups
	for n in 2 3; do
		for way in "" --best --overlap --invariant \
			"--link tcp" "--link shm"; do
			words='values : 0 OK'
			check 40 "4 ranks of $n processes${way:+ $way}" 0 \
				"$gtopo" run --device cuda --map share --plan \
				"$work/plan4.json" --procs $n -e 1M -f 32 \
				-n 2 -w 0 $way
		done
	done
	# Roots have two children, three, seven.
	for n in 3 4 8; do
		"$gtopo" search --algo forest --gpus "$(seq -s, 0 $((n - 1)))" \
			"$dgx" >"$work/trees$n.json"
		for way in "" --graph "--procs 2" "--procs 2 --link tcp"; do
			words='values : 0 OK'
			check 40 "trees of $n ranks${way:+ $way}" 0 "$gtopo" \
				run --device cuda --map share --plan \
				"$work/trees$n.json" --coll allreduce -e 16M \
				-f 16 -n 2 -w 0 $way
		done
	done
	blocks_of_trees
	imported_steps
	words='rank 2 .* stopped: it neither'
	check 40 "a stalled rank among hosts" 3 far_stall
	for link in "" "--link tcp"; do
		words='right again .* after it was noticed'
		check 40 "4 processes go on without one${link:+, $link}" 0 \
			goes_on $link
	done
}

# Four processes; one of them is killed, and the others are right without it.
goes_on() { # OPTION...
	local leader victim
	timeout -k 5 35 "$gtopo" run --device cuda --map share --procs 4 \
		--plan "$work/plan4.json" -e 1M --soak 12s --keep-going \
		--timeout 10s "$@" >"$work/going" 2>&1 &
	leader=$!
	sleep 6
	victim=$(pgrep -P "$(pgrep -P "$leader" | head -n 1)" | sed -n 3p)
	[ -n "$victim" ] && kill -KILL "$victim"
	wait "$leader" && cat "$work/going" &&
		grep -q ', 0 elements wrong$' "$work/going" &&
		[ "$(grep -c '; 3 of 4 ranks go on with' "$work/going")" -eq 1 ]
}

# Four processes that take themselves for hosts: the culprit is named, not who
# waits for one that waits.
far_stall() {
	local rank pids=()
	for rank in 1 2 3 0; do
		RANK=$rank WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 \
			MASTER_PORT=29619 GTOPO_SECRET="no secret, a test" \
			GTOPO_HOSTID=h$rank timeout -k 5 25 "$gtopo" run \
			--device cuda --map share --plan "$work/plan4.json" \
			-b 1M -e 1M --inject stall:2:2 --timeout 3s &
		pids+=($!)
	done
	wait "${pids[3]}"
	rank=$?
	wait
	return "$rank"
}

# Two communicators in any order, memory in pieces, in processes and in one.
shared_face() {
	local n how
	[ -x "$face" ] || return 0
	for n in 2 3; do
		# Threads free memory, which waits for all that runs on a GPU.
		for how in processes groups; do
			words="$n .*: all right"
			check 90 "NCCL's face, $n ranks on one GPU: $how" 0 \
				env LD_LIBRARY_PATH="$root:$here" \
				NCCL_MULTI_RANK_GPU_ENABLE=1 \
				"$face" "$n" "$how"
		done
	done
}

# Several GPUs, and more ranks than that, which share them.
shared_several() {
	local n
	export CUDA_DEVICE_MAX_CONNECTIONS=32
	prefix="shared: "
	for n in 4 8; do
		check 60 "all types, operators, counts on $n" 0 \
			"$matrix" check "$n" 55
		check 60 "stopped ranks of $n are named" 0 "$matrix" fault "$n" 55
		blocks_of "$n"
		check 100 "sums of $n, bit by bit" 0 "$matrix" bits "$n" 95
	done
	[ -z "$dgx" ] || shared_processes
	demand_shared
	prefix=
	unset CUDA_DEVICE_MAX_CONNECTIONS
}

# One GPU: what ranks that share it can show, which is everything but times.
shared() {
	local n share way
	export CUDA_DEVICE_MAX_CONNECTIONS=32
	check 30 "detect" 0 "$gtopo" detect -o "$out/machine.xml"
	for n in 2 4; do
		check 60 "all types, operators, counts on $n" 0 \
			"$matrix" check "$n" 55
		check 60 "stopped ranks of $n are named" 0 "$matrix" fault "$n" 55
		blocks_of "$n"
		[ -n "$dgx" ] || continue
		"$gtopo" search --algo ring --gpus "$(seq -s, 0 $((n - 1)))" \
			"$dgx" >"$work/plan$n.json"
		share=("$gtopo" run --device cuda --map share
			--plan "$work/plan$n.json")
		words='values : 0 OK'
		check 60 "1K to 16M on $n" 0 "${share[@]}" -e 16M -f 4 -n 2 -w 1
		words='values : 0 OK'
		check 60 "the best way on $n, in graphs" 0 "${share[@]}" -e 16M \
			-f 4 -n 2 -w 1 --graph --best
		for way in "" --graph; do
			words='values : 0 OK'
			check 60 "beside a program on $n $way" 0 "${share[@]}" \
				-e 64M -f 4 -n 2 -w 1 --overlap $way
		done
		words='stopped'
		check 30 "a stalled rank of $n beside a program" 3 \
			"${share[@]}" -b 16M -e 16M --overlap \
			--inject stall:1 --timeout 1s
		words='stopped'
		check 30 "a stalled rank of $n" 3 "${share[@]}" -b 1M -e 1M \
			--inject stall:1 --timeout 1s
	done
	xid_look "engine"
	[ -z "$dgx" ] || part shared_processes
	part demand_shared
	part shared_face
	part staged_shared
	face_torch 2
	words='the plan is for 2 GPUs'
	[ -z "$dgx" ] || check 20 "2 ranks on 1 GPU" 2 "$gtopo" run \
		--device cuda --map index --plan "$work/plan2.json" -e 1K
	if [ -n "$full" ]; then
		check 90 "100000 random operations" 0 "$matrix" stress 2 85
		for n in 4 8; do
			check 250 "100000 sums of $n, bit by bit" 0 \
				"$matrix" bits "$n" 240
		done
	fi
	xid_look "the rest"
	finish
}
