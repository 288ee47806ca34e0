#!/bin/bash
# Jobs in a simulated system, one a seed (world.c).
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
sim=${GTOPO_SIM:-$PWD/tests/sim/sim_world}
worlds=${GTOPO_TEST_BRIEF:+1000}
worlds=${GTOPO_WORLDS:-${worlds:-10000}}

# A process that is killed leaves its memory behind.
said=$(ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
	"$sim" -n "$worlds" 2>&1)
status=$?
printf '%s\n' "$said" | tail -n 1 | sed 's/^/# /'
[ $status -eq 0 ] && said=
verdict "$worlds simulated worlds" "$(printf '%s\n' "$said" | head -n 40)"
tap_end
