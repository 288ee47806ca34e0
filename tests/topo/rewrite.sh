#!/bin/bash
# Read, written and read again, a topology is the same: `gtopo lint --fix`
# repairs what NCCL would reject and keeps all else.  On every file at hand:
# the same devices, links and routes; every element and attribute, known or
# not; and NCCL's reader takes what it took before.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
src=$(cd "${GTOPO_SRC:-.}" && pwd)
gtopo=${GTOPO:-$PWD/gtopo}
nccl_reads=$PWD/tests/detect/nccl_reads

# A rank is no part of the graph: lint gives one to GPUs that lack it.
graph() {
	timeout 20 "$gtopo" paths -q --json - <"$1" | sed 's/, "rank": [0-9]*//'
}

# Tags and names of attributes in the order of the file, for what lint may
# add (rank, arch) or spell anew (values).
names() {
	command -v xmllint >/dev/null || return
	xmllint --nonet "$1" 2>/dev/null | sed '/<!--/,/-->/d' |
		grep -oE '<[A-Za-z_][A-Za-z0-9_:.-]*| [A-Za-z_][A-Za-z0-9_:.-]*=' |
		grep -vxE ' (rank|encoding|tclass|class)='
}

rewritten() { # FILE
	timeout 20 "$gtopo" lint -q --fix -o "$tmp/fixed.xml" "$1" \
		>/dev/null 2>&1
	[ $? -le 1 ] || echo "lint --fix does not write it"
	graph "$1" >"$tmp/before"
	graph "$tmp/fixed.xml" | diff "$tmp/before" -
	diff <(names "$1") <(names "$tmp/fixed.xml")
	if "$nccl_reads" "$1" >/dev/null; then
		"$nccl_reads" "$tmp/fixed.xml"
		cmp "$1" "$tmp/fixed.xml"
	fi
}

each() { # FILE...
	for file; do
		timeout 20 "$gtopo" paths -q "$file" >/dev/null 2>&1 || continue
		rewritten "$file" >"$tmp/diff" 2>&1
		file=${file#"$src"/}
		verdict "${file#"${GTOPO_TEST_TOPOLOGIES:-/}"/}" \
			"$(cut -c1-300 "$tmp/diff" | head -20)"
	done
}

cd "$(dirname "$nccl_reads")/../.." || exit 99
# shellcheck disable=SC2046
each $(grep -l '^<system ' "$src"/share/xml/*.xml) \
	"$src"/tests/cases/topo/good/*/input.xml
if [ -n "${GTOPO_TEST_TOPOLOGIES:-}" ]; then
	each "$GTOPO_TEST_TOPOLOGIES"/*.xml "$GTOPO_TEST_TOPOLOGIES"/quirks/*.xml
else
	n=$((n + 1))
	echo "ok $n - real topologies # skip GTOPO_TEST_TOPOLOGIES is unset"
fi
tap_end
