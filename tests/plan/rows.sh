#!/bin/bash
# No row of a plan is slower than its neighbour where they meet, by the cost
# model: plans of each reference machine, alone and as 2, 4 and 16 nodes.  And
# nodes that are all alike need few templates, of about equal shares.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
cd "${GTOPO_SRC:-.}" || exit 99
gtopo=${GTOPO:-$PWD/build/gtopo}

# A cluster's file says itself how many nodes there are.
nodes_of() { # FILE
	if grep -q '<cluster' "$1"; then
		echo 1
	elif [ -n "${GTOPO_TEST_BRIEF:-}" ]; then
		echo 1 2
	else
		echo 1 2 4 16
	fi
}

borders() { # FILE [COLLECTIVE]
	local n coll=${2:-allreduce} plans=()
	for n in $(nodes_of "$1"); do
		plans+=("$tmp/$n.json")
		set -- "$1" -q --coll "$coll" -o "$tmp/$n.json"
		[ "$n" -eq 1 ] || set -- "$@" --nodes "$n"
		"$gtopo" search "${@:2}" "$1" 2>&1 || return
	done
	python3 tests/plan/rows.py "$gtopo" "${plans[@]}" 2>&1
}

templates() { # NODES MOST
	"$gtopo" search -q --algo hier --nodes "$1" -o "$tmp/hier.json" \
		share/xml/dgx-h100.xml 2>&1
	python3 - "$tmp/hier.json" "$2" <<-'EOF'
		import fractions, json, sys
		plan = json.load(open(sys.argv[1]))
		shares = [fractions.Fraction(c["share"]) for c in plan["channels"]]
		if len(shares) > int(sys.argv[2]):
		    print(f"{len(shares)} channels")
		if max(shares) > 2 * min(shares):
		    print(f"shares from {min(shares)} to {max(shares)}")
		if not plan["proof"]["optimal"]:
		    print("not optimal")
	EOF
}

for file in share/xml/*.xml; do
	# 16 GPUs a node with many rings take minutes.
	[ "${file##*/}" = dgx-2.xml ] && continue
	out=$(borders "$file")
	verdict "${file##*/}: no row is slower than the one before it" "$out"
done
for coll in allgather reducescatter broadcast reduce alltoall; do
	out=$(borders share/xml/h200-vm-4.xml $coll)
	verdict "h200-vm-4.xml, $coll: no row is slower than the one before it" \
		"$out"
done
for nodes in 2 16; do
	out=$(templates "$nodes" 16)
	verdict "$nodes equal nodes: few channels, of about equal shares" "$out"
done
tap_end
