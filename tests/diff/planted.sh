#!/bin/bash
# gtopo diff tells a planted fault in one line (planted.py): a sample, or as many
# as GTOPO_PLANTED says; 1500 take three minutes.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
src=${GTOPO_SRC:-.}
gtopo=${GTOPO:-$PWD/gtopo}
sample=60
[ -z "${GTOPO_TEST_BRIEF:-}" ] || sample=10
faults=${GTOPO_PLANTED:-$sample}

if ! command -v python3 >/dev/null; then
	echo "1..0 # no python3"
	exit 0
fi

planted() { # NAME FOLDER
	local said wrong=
	said=$(python3 "$src/tests/diff/planted.py" "$gtopo" \
		--faults "$faults" "$2" 2>&1) || wrong=$said
	echo "$said" | tail -8
	verdict "$faults faults planted in $1" "$wrong"
}

planted "reference machines" "$src/share/xml"
if [ -n "${GTOPO_TEST_TOPOLOGIES:-}" ]; then
	planted "real topologies" "$GTOPO_TEST_TOPOLOGIES"
else
	skipped "$faults faults planted in real topologies" \
		"GTOPO_TEST_TOPOLOGIES is unset"
fi
tap_end
