#!/bin/bash
# GPUs that do not reach each other, all that they have to show in one call of 8
# minutes: apart.sh RESULTS
#
# Two GPUs are needed for times that mean something; one that the ranks share
# shows the rest.  Peer access is turned off.  Steps, in this order, and so many
# seconds that a check of each may take, which a variable of that name sets:
#
#   APART_MATRIX=60      2 ranks: types, operators, counts, few blocks, stops
#   APART_ISLANDS=30     4 ranks of which only some pairs lack access
#   APART_FAULTS=45      stalled and killed ranks, and too little memory
#   APART_MILLION=120    a million random operations, and those of processes
#   APART_SANITIZER=45   memcheck and racecheck
#   APART_RANKS=75       4 and 8 ranks, which share the GPUs
#   APART_LIBRARY=45     libgtopo in one process and in two
#
# GTOPO_GPU_SECONDS (450) is for all of them: what does not fit is skipped, and
# says so.  RESULTS/checks.txt has a line for each check, as run.sh prints them,
# log.txt what they say.  Needs what run.sh needs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"; exit 2; }
: "${GTOPO_GPU_SECONDS:=450}"
for part in frame xid library staged race; do
	# shellcheck disable=SC1090
	. "$here/$part.sh"
done

# Rings, whoever reaches whom, and all that there is for GPUs that are all apart.
apart_plans() {
	local n
	"$gtopo" detect -o "$out/machine.xml" || return
	for n in 2 4 8; do
		"$gtopo" search -q --algo ring -o "$work/plan$n.json" \
			--gpus "$(seq -s, 0 $((n - 1)))" "$dgx" &&
			"$gtopo" search -q --p2p off -o "$work/every$n.json" \
				--gpus "$(seq -s, 0 $((n - 1)))" "$dgx" ||
			return
	done
	[ "$gpus" -lt 2 ] || plan_of 2
}

apart_ranks() { # RANKS
	local n=$1 run=("$gtopo" run --device cuda --map share --p2p off
		-e 16M -f 16 -n 2 -w 1 --plan)
	export GTOPO_P2P=off
	check "$each" "no peer access: all types, operators, counts on $n" 0 \
		"$matrix" check "$n" $((each - 5))
	unset GTOPO_P2P
	words='values : 0 OK'
	check "$each" "no peer access: $n ranks, the best way, in graphs" 0 \
		"${run[@]}" "$work/plan$n.json" --best --graph
	words='values : 0 OK'
	check "$each" "no peer access: $n processes, all collectives" 0 \
		"${run[@]}" "$work/every$n.json" --procs "$n" -e 1M
	words='[1-9][0-9]* operations .* 0 elements wrong'
	check "$each" "no peer access: $n processes, random operations" 0 \
		"${run[@]}" "$work/plan$n.json" --procs "$n" --best -e 1M \
		--soak 8s
	staged_stalls "$n" "$work/plan$n.json" --map share
}

apart_million() {
	export GTOPO_P2P=off
	prefix="no peer access: "
	check "$each" "a million random operations" 0 \
		"$library" stress "$work/plan2.json" $((each - 5))
	prefix=
	unset GTOPO_P2P
	words='[1-9][0-9]* operations .* 0 elements wrong'
	check "$each" "no peer access: random operations of 2 processes" 0 \
		"$gtopo" run --device cuda --plan "$work/plan2.json" \
		--p2p off -e 1M --soak 15s --procs 2 --best "${map[@]}"
}

apart_sanitizer() {
	export GTOPO_P2P=off
	prefix="no peer access: "
	sanitized "$work/plan2.json" "$each"
	prefix=
	unset GTOPO_P2P
}

apart_step() { # STEP
	case $1 in
	matrix) staged_engine 2 ;;
	islands)
		staged_islands "$work/plan4.json" 0-3 --map share
		staged_islands "$work/plan4.json" 0-2,0-3,1-2,1-3 --map share
		;;
	faults)
		staged_stalls 2 "$work/plan2.json" "${map[@]}"
		staged_kills "${map[@]}"
		;;
	million) apart_million ;;
	sanitizer) apart_sanitizer ;;
	ranks) apart_ranks 4; apart_ranks 8 ;;
	library) staged_library "$work/plan2.json" ;;
	esac
}

: >"$log"
: >"$out/checks.txt"
say "# $(nvidia-smi -L | head -n 1 | sed 's/ (UUID.*//'), $gpus GPUs, $commit"
xid_begin
export CUDA_DEVICE_MAX_CONNECTIONS=32
[ "$gpus" -ge 2 ] && map=(--map index) || map=(--map share)
check 60 "search for 2, 4 and 8 ranks" 0 apart_plans
for step in matrix=60 islands=30 faults=45 million=120 sanitizer=45 ranks=75 \
	library=45; do
	name=APART_${step%=*}
	name=${name^^}
	each=${!name:-${step#*=}}
	begin=$SECONDS
	apart_step "${step%=*}"
	xid_look "${step%=*}, $((SECONDS - begin)) s"
done
finish
