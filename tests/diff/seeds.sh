#!/bin/bash
# gtopo diff on every reference machine and copies with everything renumbered
# and shuffled (mutate.py): equal ones say nothing, one fault is one finding.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
src=${GTOPO_SRC:-.}
gtopo=${GTOPO:-$PWD/gtopo}

# A sanitizer looks for faults of memory, which a few copies show as well.
few=${GTOPO_TEST_BRIEF:+3}

if ! command -v python3 >/dev/null; then
	echo "1..0 # no python3"
	exit 0
fi

# Copies that are equal, all at once.
equal() { # FILE COPIES
	python3 "$src/tests/diff/mutate.py" "$1" "$tmp" "$2"
	"$gtopo" diff "$1" "$tmp"/*.xml >"$tmp/out" 2>&1
	if [ $? -ne 0 ] || [ -s "$tmp/out" ]; then
		cut -c1-200 "$tmp/out" | sed 's/^/# /'
		verdict "$(basename "$1") and $2 copies" "not equal"
	else
		verdict "$(basename "$1") and $2 copies" ""
	fi
}

# Copies with one fault each: one line each.
faulty() { # FILE COPIES FAULT
	local seed bad= name
	name="$(basename "$1"), $2 copies, $3"
	rm -f "$tmp"/*.xml
	python3 "$src/tests/diff/mutate.py" "$1" "$tmp" "$2" "$3"
	if [ $? -eq 77 ]; then
		n=$((n + 1))
		echo "ok $n - $name # skip no place for this fault"
		return
	fi
	for ((seed = 1; seed <= $2; seed++)); do
		timeout 20 "$gtopo" diff "$1" "$tmp/$seed.xml" \
			>"$tmp/out" 2>&1
		if [ $? -ne 1 ] || [ "$(wc -l <"$tmp/out")" -ne 1 ]; then
			bad="$bad $seed"
			sed "s/^/# $seed: /" "$tmp/out"
		fi
	done
	verdict "$name" "$bad"
}

for file in "$src"/share/xml/*.xml; do
	grep -q "^<system " "$file" || continue
	rm -f "$tmp"/*.xml
	equal "$file" "${few:-25}"
	for fault in nic x8 move nvlink; do
		faulty "$file" "${few:-15}" $fault
	done
done
tap_end
