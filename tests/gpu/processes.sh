# A process for each GPU: by CUDA IPC, as hosts joined by a link, under launchers.
# The same job by hand: process R of 2.
process() { # RANK GPUS PLAN OPTION...
	local rank=$1 gpus=$2 plan=$3
	shift 3
	RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29617 \
		GTOPO_SECRET="no secret, a test" CUDA_VISIBLE_DEVICES=$gpus \
		exec timeout -k 5 35 "${run[@]}" "$plan" "$@"
}

torchrun() { # RANKS
	local rank status=0
	export WORLD_SIZE=$1 LOCAL_WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 \
		MASTER_PORT=29621 GTOPO_SECRET="no secret, a test"
	for rank in $(seq $(($1 - 1)) -1 1); do
		RANK=$rank LOCAL_RANK=$rank timeout -k 5 35 "${run[@]}" \
			"$work/auto$1.json" -b 64K -e 16M -f 16 -n 2 -w 1 &
	done
	RANK=0 LOCAL_RANK=0 timeout -k 5 35 "${run[@]}" \
		"$work/auto$1.json" -b 64K -e 16M -f 16 -n 2 -w 1 || status=$?
	wait
	unset WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT GTOPO_SECRET
	return $status
}

by_hand() { # PLAN OPTION...: each sees its own GPU only
	(process 1 1 "$@") &
	(process 0 0 "$@") && wait $!
}

# Files, and so what processes share, have 32 MiB at most: no detours, which is
# said once.
poor() { # PLAN OPTION...
	(
		trap '' XFSZ
		ulimit -f 32768
		timeout -k 5 40 "${run[@]}" "$@" >"$work/poor" 2>&1
	) && cat "$work/poor" &&
		[ "$(grep -c 'take no detour .*GTOPO_DETOUR=0' "$work/poor")" \
			-eq 1 ]
}

# Ends well when the one that is left says who is gone, and all is freed.
killed() { # PLAN OPTION...
	local other first before
	before=$(ls /dev/shm)
	(process 0 0,1 "$@") >"$work/first" 2>&1 &
	first=$!
	(process 1 0,1 "$@") &
	other=$!
	sleep 4
	pkill -9 -P "$other"
	wait "$first"
	[ $? -eq 3 ] && grep 'process 1 .*ended' "$work/first" &&
		[ "$(ls /dev/shm)" = "$before" ] && sleep 1 &&
		! nvidia-smi --query-compute-apps=pid,name --format=csv |
		grep gtopo
}

# One process for all GPUs against one for each: both times and their ratio for
# each size, the least of 3 rounds.
processes() { # RANKS
	local way round procs
	for way in "" "--best" "--best --graph"; do
		for round in 1 2 3; do
			for procs in 1 "$1"; do
				timeout 20 "${run[@]}" "$work/plan$1.json" \
					--procs "$procs" -f 4 -e 1G -n 20 \
					--coll allreduce $way |
					awk -v p=$procs '$3 == "float" {
						print $1, p, $6
					}' || return
			done
		done | awk -v way="$way" -v procs="$1" '
			!(($1, $2) in least) || $3 < least[$1, $2] {
				least[$1, $2] = $3
				size[$1]
			}
			END {
				print "# all-reduce " way ": bytes, us in one" \
					" process, us in " procs ", ratio"
				for (s in size)
					printf "%d %.2f %.2f %.3f\n", s,
						least[s, 1], least[s, procs],
						least[s, procs] / least[s, 1]
			}' | sort -n
	done | tee "$out/processes.txt"
	[ "$(grep -c '^[0-9]' "$out/processes.txt")" -ge 30 ]
}

# By CUDA IPC, then as hosts joined by a link; sets two.
processes_checks() {
	two=("${run[@]}" "$work/plan2.json" --procs 2)
	words='values : 0 OK'
	check 40 "2 processes, all types and operators" 0 "${two[@]}" -b 48K -e 48K \
		--dtype all --op all -n 2 -w 0
	words='values : 0 OK'
	check 40 "2 processes, the best way" 0 "${two[@]}" --best -b 1K \
		-e "$largest" -f 16 -n 3 -w 1
	words='values : 0 OK'
	check 40 "2 processes, in graphs" 0 "${two[@]}" --best --graph -f 8
	# A part of it through the host's memory.
	auto_of 2 >>"$log" 2>&1
	for way in "" "--graph" "--procs 2"; do
		words='values : 0 OK'
		check 40 "detours${way:+, $way}" 0 "${run[@]}" "$work/auto2.json" \
			--best -b 1G -e 1G -n 2 -w 1 $way
	done
	words='values : 0 OK'
	check 40 "no detours" 0 env GTOPO_DETOUR=0 "${two[@]}" --best -b 1G -e 1G \
		-n 2 -w 1
	for way in "" "--graph" "--procs 2"; do
		words='values : 0 OK'
		check 40 "no memory for detours${way:+, $way}" 0 poor \
			"$work/auto2.json" --best -b 512M -e 1G --coll broadcast -n 2 \
			-w 1 $way
	done
	words='values : 0 OK'
	check 40 "2 processes that see a GPU each" 0 by_hand "$work/plan2.json" -f 8
	words='values : 0 OK'
	check 40 "2 processes, memory as files" 0 env GTOPO_CUDA_IPC=0 "${two[@]}" \
		--best -e 64M -f 32 -n 3 -w 1
	for link in tcp shm; do
		words='values : 0 OK'
		check 40 "2 processes over $link" 0 "${two[@]}" --link $link -b 1K \
			-e 64M -f 64 -n 3 -w 1
	done
}

# As launchers start them, each process seeing all GPUs.
launcher_checks() {
	for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
		[ -f "$work/auto$n.json" ] || auto_of "$n" >>"$log" 2>&1
		words='values : 0 OK'
		check 40 "$n processes with torchrun's variables" 0 torchrun "$n"
		if ! command -v mpirun >/dev/null; then
			result skip "all collectives under mpirun -n $n" "no mpirun"
			continue
		fi
		words='values : 0 OK'
		check 40 "all collectives under mpirun -n $n" 0 mpirun \
			--allow-run-as-root --oversubscribe -n "$n" "${run[@]}" \
			"$work/auto$n.json" -b 64K -e 16M -f 16 -n 2 -w 1
	done
	words='rank 1 .* stopped'
	check 30 "a stalled rank of another process" 3 "${two[@]}" -b 1M -e 1M \
		--inject stall:1 --timeout 2s
	words='rank 1 .* stopped'
	check 30 "a stalled rank of another host" 3 "${two[@]}" -b 1M -e 1M \
		--inject stall:1 --timeout 2s --link tcp
	for link in "" "--link tcp"; do
		check 40 "a killed process ends the other${link:+, over tcp}" 0 killed \
			"$work/plan2.json" -b 1M -e 1M -n 50000 --timeout 5s $link
	done
	[ -z "$dgx" ] || shared_processes
	check 70 "1 process against $gpus" 0 processes "$gpus"
}
