#!/bin/bash
# Topologies as cases: tests/cases/topo/good/WHAT has input.xml, the matrices
# it gives (paths) and, if anything, what is said beside them (said);
# tests/cases/topo/bad/WHAT has input.xml and the complaint (error).
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
cases=${GTOPO_SRC:-.}/tests/cases/topo
gtopo=${GTOPO:-$PWD/gtopo}

# Sets status; leaves out and err in $tmp.
paths() {
	cd "$1" || exit 99
	timeout 20 "$gtopo" paths --matrix input.xml >"$tmp/out" 2>"$tmp/err"
	status=$?
	sed -i 's/^gtopo paths: //' "$tmp/err"
}

good() {
	paths "$1"
	{
		[ $status -eq 0 ] || echo "exit status $status"
		diff "$1/paths" "$tmp/out"
		if [ -f "$1/said" ]; then
			diff "$1/said" "$tmp/err"
		else
			cat "$tmp/err"
		fi
	} >"$tmp/diff"
}

bad() {
	paths "$1"
	{
		[ $status -eq 2 ] || echo "exit status $status"
		cat "$tmp/out"
		diff "$1/error" "$tmp/err"
	} >"$tmp/diff"
}

for dir in "$cases"/good/*/; do
	good "${dir%/}"
	verdict "good: $(basename "$dir")" "$(cat "$tmp/diff")"
done
for dir in "$cases"/bad/*/; do
	bad "${dir%/}"
	verdict "bad: $(basename "$dir")" "$(cat "$tmp/diff")"
done
tap_end
