#!/bin/bash
# Jobs in a simulated system, one a seed: sim_world (world.c), sim_going
# (going.c), sim_links (links.c), sim_library (library.c).  GTOPO_WORLDS: so
# many of each, and of the last, whose worlds take longest, a quarter.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
sim=${GTOPO_SIM:-$PWD/tests/sim}
seeds=$(cd "${GTOPO_SRC:-.}" && pwd)/tests/cases/sim/seeds
# A process that is killed leaves its memory behind, so programs end now and
# then.
turn=10000
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

# worlds PROGRAM FIRST WORLDS: what went wrong, and how many were right.
worlds() {
	local at=$2 end=$(($2 + $3)) n
	while [ "$at" -lt "$end" ]; do
		n=$((end - at < turn ? end - at : turn))
		"$sim/$1" -s "$at" -n "$n" 2>&1 || return
		at=$((at + n))
	done
}

many() { # PROGRAM WORLDS
	local said=$tmp/$1 begin=$SECONDS wrong=
	worlds "$1" 1 "$2" >"$said" || wrong=$(tail -n 40 "$said")
	echo "# $1: $2 worlds in $((SECONDS - begin)) s"
	verdict "$2 simulated worlds of $1" "$wrong"
}

while read -r program seed why; do
	case $program in '' | '#'*) continue ;; esac
	said=$("$sim/$program" -s "$seed" -n 1 2>&1) && said=
	verdict "$program, seed $seed: $why" "$said"
done <"$seeds"
if [ -n "${GTOPO_TEST_BRIEF:-}" ]; then
	many sim_world "${GTOPO_WORLDS:-1000}"
	many sim_going "${GTOPO_WORLDS:-100}"
	many sim_links "${GTOPO_WORLDS:-100}"
	many sim_library "$((${GTOPO_WORLDS:-160} / 4))"
else
	many sim_world "${GTOPO_WORLDS:-10000}"
	many sim_going "${GTOPO_WORLDS:-2000}"
	many sim_links "${GTOPO_WORLDS:-1000}"
	many sim_library "$((${GTOPO_WORLDS:-2000} / 4))"
fi
tap_end
