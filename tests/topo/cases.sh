#!/bin/bash
# Topologies as cases: tests/cases/topo/good/WHAT has input.xml, the matrices
# it gives (paths) and, if anything, what is said beside them (said);
# tests/cases/topo/bad/WHAT has input.xml and the complaint (error).
set -u
cases=${GTOPO_SRC:-.}/tests/cases/topo
gtopo=${GTOPO:-$PWD/gtopo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

n=0
verdict() { # NAME: the case is good when $work/diff is empty
	n=$((n + 1))
	if [ -s "$work/diff" ]; then
		sed 's/^/# /' "$work/diff"
		echo "not ok $n - $1"
	else
		echo "ok $n - $1"
	fi
}

# Sets status; leaves out and err in $work.
paths() {
	cd "$1" || exit 99
	timeout 20 "$gtopo" paths input.xml >"$work/out" 2>"$work/err"
	status=$?
	sed -i 's/^gtopo paths: //' "$work/err"
}

good() {
	paths "$1"
	{
		[ $status -eq 0 ] || echo "exit status $status"
		diff "$1/paths" "$work/out"
		if [ -f "$1/said" ]; then
			diff "$1/said" "$work/err"
		else
			cat "$work/err"
		fi
	} >"$work/diff"
}

bad() {
	paths "$1"
	{
		[ $status -eq 2 ] || echo "exit status $status"
		cat "$work/out"
		diff "$1/error" "$work/err"
	} >"$work/diff"
}

for dir in "$cases"/good/*/; do
	good "${dir%/}"
	verdict "good: $(basename "$dir")"
done
for dir in "$cases"/bad/*/; do
	bad "${dir%/}"
	verdict "bad: $(basename "$dir")"
done
echo "1..$n"
