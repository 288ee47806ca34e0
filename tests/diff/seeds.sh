#!/bin/bash
# gtopo diff on every reference machine and copies with everything renumbered
# and shuffled (mutate.py): equal ones say nothing, one fault is one finding.
set -u
src=${GTOPO_SRC:-.}
gtopo=${GTOPO:-$PWD/gtopo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v python3 >/dev/null; then
	echo "1..0 # no python3"
	exit 0
fi

n=0
verdict() { # NAME BAD
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1: $2"
	fi
}

# Copies that are equal, all at once.
equal() { # FILE COPIES
	python3 "$src/tests/diff/mutate.py" "$1" "$work" "$2"
	"$gtopo" diff "$1" "$work"/*.xml >"$work/out" 2>&1
	if [ $? -ne 0 ] || [ -s "$work/out" ]; then
		cut -c1-200 "$work/out" | sed 's/^/# /'
		verdict "$(basename "$1") and $2 copies" "not equal"
	else
		verdict "$(basename "$1") and $2 copies" ""
	fi
}

# Copies with one fault each: one line each.
faulty() { # FILE COPIES FAULT
	local seed bad= name
	name="$(basename "$1"), $2 copies, $3"
	rm -f "$work"/*.xml
	python3 "$src/tests/diff/mutate.py" "$1" "$work" "$2" "$3"
	if [ $? -eq 77 ]; then
		n=$((n + 1))
		echo "ok $n - $name # skip no place for this fault"
		return
	fi
	for ((seed = 1; seed <= $2; seed++)); do
		timeout 20 "$gtopo" diff "$1" "$work/$seed.xml" \
			>"$work/out" 2>&1
		if [ $? -ne 1 ] || [ "$(wc -l <"$work/out")" -ne 1 ]; then
			bad="$bad $seed"
			sed "s/^/# $seed: /" "$work/out"
		fi
	done
	verdict "$name" "$bad"
}

for file in "$src"/share/xml/*.xml; do
	grep -q "^<system " "$file" || continue
	rm -f "$work"/*.xml
	equal "$file" 25
	for fault in nic x8 move nvlink; do
		faulty "$file" 15 $fault
	done
done
echo "1..$n"
