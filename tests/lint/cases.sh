#!/bin/bash
# Planted faults as cases: tests/cases/lint/WHAT has input.xml, what is said
# of it (expect) and, where --fix repairs it, the repaired file (fixed), which
# must be one that NCCL's reader takes.  GTOPO_UPDATE=1 writes what is said.
set -u
src=$(cd "${GTOPO_SRC:-.}" && pwd)
gtopo=${GTOPO:-$PWD/gtopo}
nccl_reads=$PWD/tests/detect/nccl_reads
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

n=0
verdict() { # NAME: good when $work/diff is empty
	n=$((n + 1))
	if [ -s "$work/diff" ]; then
		sed 's/^/# /' "$work/diff"
		echo "not ok $n - $1"
	else
		echo "ok $n - $1"
	fi
}

lint() { # WANTED OPTION...: status 1 where there is more than notes
	local want=0
	grep -q -e ': error: ' -e ': warning: ' "$1" && want=1
	shift
	timeout 20 "$gtopo" lint "$@" input.xml >"$work/out" 2>"$work/err"
	status=$?
	[ $status -eq $want ] || echo "exit status $status"
}

look() {
	[ -z "${GTOPO_UPDATE:-}" ] ||
		"$gtopo" lint input.xml >expect
	lint expect
	diff expect "$work/out"
	cat "$work/err"
}

fix() {
	timeout 20 "$gtopo" lint --fix input.xml >"$work/fixed.xml" \
		2>"$work/err" || echo "exit status $?"
	[ -z "${GTOPO_UPDATE:-}" ] || cp "$work/fixed.xml" fixed
	cmp fixed "$work/fixed.xml"
	cat "$work/err"
	"$nccl_reads" "$work/fixed.xml"
}

for dir in "$src"/tests/cases/lint/*/; do
	cd "$dir" || exit 99
	name=$(basename "$dir")
	look >"$work/diff" 2>&1
	verdict "$name"
	[ -f fixed ] || continue
	fix >"$work/diff" 2>&1
	verdict "$name, repaired"
done

for rule in $(sed -n 's/^GT_LINT([A-Z_]*, "\([a-z-]*\)".*/\1/p' \
	"$src/src/topo/lint/lint.def"); do
	grep -q "\[$rule\]$" "$src"/tests/cases/lint/*/expect ||
		echo "no case of '$rule'"
	grep -Fqx ".B ${rule//-/\\-}" "$src/man/gtopo-lint.1" ||
		echo "'$rule' is not in the man page"
done >"$work/diff"
verdict "every fault has a case and is in the man page"
echo "1..$n"
