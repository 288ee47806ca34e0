#!/bin/bash
# Planted faults as cases: tests/cases/lint/WHAT has input.xml, what is said
# of it (expect) and, where --fix repairs it, the repaired file (fixed), which
# must be one that NCCL's reader takes.  GTOPO_UPDATE=1 writes what is said.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
src=$(cd "${GTOPO_SRC:-.}" && pwd)
gtopo=${GTOPO:-$PWD/gtopo}
nccl_reads=$PWD/tests/detect/nccl_reads

lint() { # WANTED OPTION...: status 1 where there is more than notes
	local want=0
	grep -q -e ': error: ' -e ': warning: ' "$1" && want=1
	shift
	timeout 20 "$gtopo" lint "$@" input.xml >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status -eq $want ] || echo "exit status $status"
}

look() {
	[ -z "${GTOPO_UPDATE:-}" ] ||
		"$gtopo" lint input.xml >expect
	lint expect
	diff expect "$tmp/out"
	cat "$tmp/err"
}

fix() {
	timeout 20 "$gtopo" lint --fix input.xml >"$tmp/fixed.xml" \
		2>"$tmp/err" || echo "exit status $?"
	[ -z "${GTOPO_UPDATE:-}" ] || cp "$tmp/fixed.xml" fixed
	cmp fixed "$tmp/fixed.xml"
	cat "$tmp/err"
	"$nccl_reads" "$tmp/fixed.xml"
}

for dir in "$src"/tests/cases/lint/*/; do
	cd "$dir" || exit 99
	name=$(basename "$dir")
	look >"$tmp/diff" 2>&1
	verdict "$name" "$(cat "$tmp/diff")"
	[ -f fixed ] || continue
	fix >"$tmp/diff" 2>&1
	verdict "$name, repaired" "$(cat "$tmp/diff")"
done

for rule in $(sed -n 's/^GT_LINT([A-Z_]*, "\([a-z-]*\)".*/\1/p' \
	"$src/src/topo/lint/lint.def"); do
	grep -q "\[$rule\]$" "$src"/tests/cases/lint/*/expect ||
		echo "no case of '$rule'"
	grep -Fqx ".B ${rule//-/\\-}" "$src/man/gtopo-lint.1" ||
		echo "'$rule' is not in the man page"
done >"$tmp/diff"
verdict "every fault has a case and is in the man page" "$(cat "$tmp/diff")"
tap_end
