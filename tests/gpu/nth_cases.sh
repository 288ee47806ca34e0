#!/bin/bash
# One call of CUDA after the other fails in `gtopo run`, on a simulated run-time
# (simcudart.c): the answer is the usual one, or status 3 with words, nobody
# hangs, and what was made is given back.  GTOPO_NTH=0 tries every call, else so
# many of each command are tried.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
root=$(dirname "${GTOPO:-$PWD/gtopo}")
sim=$root/tests/gpu/simcuda
xml=$(cd "${GTOPO_SRC:-.}" && pwd)/share/xml/dgx-h100.xml
each=${GTOPO_NTH:-${GTOPO_TEST_BRIEF:+8}}
each=${each:-24}
cd "$tmp" || exit 99

# One call of a run fails; prints what is wrong with the answer.
fails() { # CALL OPTION...
	local at=$1 status left
	shift
	SIM_CUDA_FAILS=$at SIM_CUDA_TOLD=told timeout -k 5 60 "$sim" run \
		--device cuda "$@" >out 2>err </dev/null
	status=$?
	read -r _ left <told || left="?"
	rm -f told
	case $status in
	0) ;;
	3) [ -s err ] || echo "call $at: status 3 without words" ;;
	*) echo "call $at: status $status: $(tail -n 1 err)" ;;
	esac
	[ "$left" = 0 ] || echo "call $at: $left are left"
}

calls() { # PLAN OPTION...
	local plan=$1 way=${*:2} all at step found
	shift
	set -- --map index --plan "$plan" -b 1K -e 1M -f 32 -n 2 -w 1 \
		--timeout 5s "$@"
	SIM_CUDA_TOLD=told "$sim" run --device cuda "$@" >out 2>err
	read -r all _ <told
	step=$((each ? (all + each - 1) / each : 1))
	# Another remainder in each command, or some calls would never be tried.
	found=$(fails 0 "$@"
		for ((at = 1 + n % step; at <= all; at += step)); do
			fails "$at" "$@"
		done)
	verdict "$plan${way:+ $way}: of $all calls one in $step fails" \
		"$(head -n 5 <<<"$found")"
}

"${GTOPO:-$root/gtopo}" search -q --gpus 0,1 -o all "$xml" &&
	"${GTOPO:-$root/gtopo}" search -q --algo ring --gpus 0,1 -o ring "$xml" ||
	exit 99
for plan in all ring; do
	for way in "" --graph --best --overlap "--p2p off" "--coll all -e 64K" \
		"--p2p off --coll all -e 64K" \
		"--p2p off --best --coll all -b 1M"; do
		# shellcheck disable=SC2086
		calls $plan $way
	done
done
tap_end
