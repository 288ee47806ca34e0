#!/bin/bash
# gtopo import: each tests/cases/msccl/good/*.xml becomes a plan that verifies
# and runs; each bad one is refused with the words in its .error, those called
# *.verify.xml only by verify.  Plans of tests/cases/plan/good survive export
# and import.  GTOPO_UPDATE=1 writes the words anew.
set -u
cases=$(cd "${GTOPO_SRC:-.}" && pwd)/tests/cases
gtopo=${GTOPO:-$PWD/gtopo}
update=${GTOPO_UPDATE:-}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

n=0
verdict() { # NAME FINDINGS
	n=$((n + 1))
	[ -z "$2" ] || printf '%s\nnot ' "$2"
	echo "ok $n - $1"
}

machine() { # GPUS
	"$gtopo" synth -o "$tmp/box.xml" "$1 gpu(model=h200 nvswitch=18)"
}

import() { # ALGORITHM
	machine "$(sed -n 's/.*ngpus="\([0-9]*\)".*/\1/p' "$1" | grep . || echo 2)"
	"$gtopo" import --topology "$tmp/box.xml" -o "$tmp/steps.json" "$1"
}

good() { # ALGORITHM
	import "$1" 2>&1 || return
	"$gtopo" verify "$tmp/steps.json" 2>&1 >/dev/null
	"$gtopo" predict -b 1K -e 1M -f 1024 "$tmp/steps.json" 2>&1 >/dev/null
	"$gtopo" run --plan "$tmp/steps.json" --device host -b 40 -e 256K \
		-f 32 -n 1 -w 0 >"$tmp/out" 2>&1 || cat "$tmp/out"
}

bad() { # ALGORITHM
	local says status=0
	cp "$1" "$tmp/algo.xml"
	says=$(cd "$tmp" && {
		import algo.xml &&
			case $1 in *.verify.xml) "$gtopo" verify steps.json ;; esac
	} 2>&1) || status=$?
	[ -z "$update" ] || printf '%s\n' "$status $says" >"${1%.xml}.error"
	diff "${1%.xml}.error" - <<<"$status $says"
	[ "$status" = 1 ] || [ "$status" = 2 ] || echo "exit status $status"
}

trip() { # PLAN
	"$gtopo" export --to msccl -o "$tmp/algo.xml" "$1" 2>/dev/null || return
	good "$tmp/algo.xml"
}

for algo in "$cases"/msccl/good/*.xml; do
	verdict "${algo#"$cases/"}" "$(good "$algo")"
done
for algo in "$cases"/msccl/bad/*.xml; do
	verdict "${algo#"$cases/"}" "$(bad "$algo")"
done
for plan in "$cases"/plan/good/{ring3-scatter,ring8-two,tree5-allreduce,tree6-broadcast,mesh4-two-shot,mesh7-one-shot,tree8-star-gather}; do
	verdict "${plan#"$cases/"} there and back" "$(trip "$plan/plan.json")"
done
echo "1..$n"
