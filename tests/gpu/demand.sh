# Plans with a demand, whose blocks are not all alike: whatever is asked for,
# each pair's bytes arrive and nothing behind them is written.

# A matrix of so many ranks in which some pairs have nothing and some ranks keep
# bytes for themselves.
demand_matrix() { # RANKS
	local from to
	for from in $(seq 0 $(($1 - 1))); do
		for to in $(seq 0 $(($1 - 1))); do
			printf '%d ' $(((5 * from + 3 * to + 1) % 7))
		done
		echo
	done
}

demand_plan() { # RANKS MACHINE PLAN
	demand_matrix "$1" >"$work/demand" &&
		"$gtopo" search -q --gpus "$(seq -s, 0 $(($1 - 1)))" \
			--demand "$work/demand" -o "$3" "$2"
}

# A trace counts the bytes of each pair.
demand_traced() { # PLAN OPTION...
	"$gtopo" run --device cuda --plan "$@" -b 1M -e 1M -n 1 -w 0 \
		--trace "$work/trace.json" &&
		grep -q '"steps_dropped": 0' "$work/trace.json"
}

demand_runs() { # NAME PLAN OPTION...
	local name=$1 plan=$2 way ways=("" "--procs 2")
	shift 2
	[ -z "$full" ] || ways+=(--graph --best --overlap
		"--dtype all -e 100K" "--workers 3 --slots 1" "--p2p off"
		"--procs 2 --link tcp" "--procs 2 --p2p off")
	for way in "${ways[@]}"; do
		words='values : 0 OK'
		check 40 "a demand of $name${way:+, $way}" 0 "$gtopo" run \
			--device cuda --plan "$plan" "$@" -b 1 -e 16M -f 29 \
			-n 2 -w 1 $way
	done
	[ -n "$full" ] || return 0
	words='[1-9][0-9]* operations .* 0 elements wrong'
	check 30 "a demand of $name, random operations" 0 "$gtopo" run \
		--device cuda --plan "$plan" "$@" -e 1M --soak 5s
	check 40 "a demand of $name, traced" 0 demand_traced "$plan" "$@"
	words='stopped'
	check 30 "a demand of $name, a stalled rank" 3 "$gtopo" run \
		--device cuda --plan "$plan" "$@" -b 1M -e 1M \
		--inject stall:1 --timeout 1s
}

# Four ranks that share the GPUs; of a DGX-1's, some pass on others' blocks.
demand_shared() {
	[ -n "$v100" ] || return 0
	check 20 "search for a demand of 4" 0 \
		demand_plan 4 "$v100" "$work/demand4.json"
	demand_runs "4 ranks" "$work/demand4.json" --map share
}

demand_checks() {
	check 20 "search for a demand of 2" 0 \
		demand_plan 2 "$out/machine.xml" "$work/demand2.json"
	demand_runs "2 GPUs" "$work/demand2.json"
}
