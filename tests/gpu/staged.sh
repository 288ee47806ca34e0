# GPUs that do not reach each other: peer access is turned off, also between
# ranks that share a GPU.  Sets plan$n.json where it is not there.  What needs a
# time of its own may have $each seconds, if that is set.

# One process, N ranks: everything that the engine does.
staged_engine() { # RANKS
	local long=${each:-90} short=${each:-60}
	export GTOPO_P2P=off
	check "$long" "no peer access: all types, operators, counts on $1" 0 \
		"$matrix" check "$1" $((long - 5))
	check "$short" "no peer access: stopped ranks of $1 are named" 0 \
		"$matrix" fault "$1" $((short - 5))
	check "$long" "no peer access: 1, 2, 3, 8 and 16 blocks on $1" 0 \
		"$matrix" blocks "$1" $((long - 5))
	unset GTOPO_P2P
}

# As commands: what the plan says, the fastest, beside a program; processes,
# which take turns on a GPU that they share, and so the longer the more they are.
staged_runs() { # RANKS PLAN LARGEST [OPTION...]
	local n=$1 way run=("$gtopo" run --device cuda --plan "$2" -e "$3" -f 8
		-n 2 -w 1 --p2p off "${@:4}")
	for way in "" --graph --best "--best --graph" --overlap \
		"--procs 2 -e 4M" "--procs $n --best -e 4M" \
		"--procs $n --best --graph -e 4M" "--procs $n --overlap -e 4M"; do
		words='Through the host.s memory'
		check 60 "no peer access: 1K to $3 on $n${way:+, $way}" 0 \
			"${run[@]}" $way
	done
	words='values : 0 OK'
	check 60 "no peer access: all types on $n" 0 "${run[@]}" --best \
		--procs "$n" -b 48K -e 48K --dtype all --op all
	words='[1-9][0-9]* operations .* 0 elements wrong'
	check 40 "no peer access: random operations of $n" 0 "$gtopo" run \
		--device cuda --plan "$2" --p2p off -e 1M --soak 20s \
		--procs "$n" --best "${@:4}"
	staged_stalls "$n" "$2" "${@:4}"
}

# Who stops is named; what would be too much memory is told.
staged_stalls() { # RANKS PLAN [OPTION...]
	local n=$1 run=("$gtopo" run --device cuda --plan "$2" -b 16M -e 16M
		-n 2 -w 1 --p2p off --best "${@:3}")
	words='stopped'
	check "${each:-30}" "no peer access: a stalled rank of $n" 3 "${run[@]}" \
		--inject stall:1 --timeout 1s
	words='stopped'
	check "${each:-30}" "no peer access: a stalled process of $n" 3 "${run[@]}" \
		--inject stall:1 --timeout 2s --procs "$n"
	words='GTOPO_PINNED='
	check "${each:-30}" "no peer access: too little memory for $n" 3 \
		env GTOPO_PINNED=1M "${run[@]}"
}

# Islands: some pairs are apart, in whatever process.  One such pair is enough.
staged_islands() { # PLAN OF 4 PAIRS [OPTION...]
	local way first=${2%%,*} run=("$gtopo" run -v --device cuda --plan "$1"
		--p2p "$2" --best "${@:3}")
	for way in "" "--procs 2" "--procs 4"; do
		words="ranks ${first/-/ and } do not reach each other"
		check "${each:-40}" "no peer access of $2${way:+, $way}" 0 \
			"${run[@]}" -e 1M -f 32 -n 2 -w 0 $way
	done
	words='[1-9][0-9]* operations .* 0 elements wrong'
	check "${each:-40}" "no peer access of $2, random operations" 0 \
		"${run[@]}" -e 1M --soak 5s
}

# Ends well when the one that is left says who is gone, and all is freed.
staged_killed() { # PLAN OPTION...
	local pids=() rank before status
	before=$(ls /dev/shm)
	for rank in 1 0; do
		RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 \
			MASTER_PORT=29631 GTOPO_SECRET="no secret, a test" \
			timeout -k 5 35 "$gtopo" run --device cuda --plan "$@" \
			>"$work/killed$rank" 2>&1 &
		pids+=($!)
	done
	sleep 5
	pkill -9 -P "${pids[0]}"
	wait "${pids[1]}"
	status=$?
	wait
	[ "$status" -eq 3 ] && grep 'process 1 .*ended' "$work/killed0" &&
		[ "$(ls /dev/shm)" = "$before" ]
}

# So many iterations do not end before one is killed.
staged_kills() { # OPTION...
	check "${each:-45}" "no peer access: a killed process ends the other" 0 \
		staged_killed "$work/plan2.json" --p2p off -b 1M -e 1M \
		-n 1000000 --timeout 5s --best "$@"
}

# libgtopo: streams, graphs, groups, messages.
staged_library() { # PLAN
	local part seconds=${each:-60}
	export GTOPO_P2P=off
	for part in check graph groups pairs fault pairs-fault; do
		check "$seconds" "no peer access, libgtopo: $part" 0 \
			"$library" "$part" "$1" $((seconds - 5))
	done
	hosts=
	for part in check graph groups pairs; do
		check "$seconds" "no peer access, libgtopo in 2 processes: $part" \
			0 library_apart "$part" "$work/plan2.json"
	done
	unset GTOPO_P2P
}

# A plan for all collectives, whose rows name means that there are none of.
staged_rows() { # RANKS PLAN [OPTION...]
	local way
	for way in "" --graph --best --overlap "--procs $1 -e 1M"; do
		words='values : 0 OK'
		check 60 "no peer access: all collectives of $1${way:+, $way}" \
			0 "$gtopo" run --device cuda --plan "$2" --p2p off \
			-e 16M -f 16 -n 2 -w 1 "${@:3}" $way
	done
	words='[1-9][0-9]* operations .* 0 elements wrong'
	check 30 "no peer access: random operations of $1, all collectives" 0 \
		"$gtopo" run --device cuda --plan "$2" --p2p off -e 8M \
		--soak 15s --best --coll all "${@:3}"
}

# Ranks that share GPUs; of 8 on one there are too few queues for copy engines.
staged_shared() {
	local n
	[ -n "$dgx" ] || return
	export CUDA_DEVICE_MAX_CONNECTIONS=32
	for n in 2 4 8; do
		[ -f "$work/plan$n.json" ] || "$gtopo" search --algo ring \
			--gpus "$(seq -s, 0 $((n - 1)))" "$dgx" \
			>"$work/plan$n.json"
		staged_engine "$n"
		staged_runs "$n" "$work/plan$n.json" 16M --map share
		"$gtopo" search --gpus "$(seq -s, 0 $((n - 1)))" \
			-o "$work/every$n.json" "$dgx"
		staged_rows "$n" "$work/every$n.json" --map share
	done
	staged_islands "$work/plan4.json" 0-3 --map share
	staged_islands "$work/plan4.json" 0-2,0-3,1-2,1-3 --map share
	staged_kills --map share
	staged_library "$work/plan4.json"
}

staged_checks() {
	staged_engine 2
	staged_runs 2 "$work/plan2.json" 64M --map index
	auto_of 2 >>"$log" 2>&1
	staged_rows 2 "$work/auto2.json" --map index
	staged_library "$work/plan2.json"
}
