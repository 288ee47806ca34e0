#!/bin/bash
# gtopo import: each file of tests/cases/msccl/good and mscclpp/good becomes a
# plan that verifies and runs; each bad one is refused with the words in its
# .error, those called *.verify.* only by verify.  Plans of tests/cases/plan/good
# survive export and import.  GTOPO_UPDATE=1 writes the words anew.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
trips=0
cases=$(cd "${GTOPO_SRC:-.}" && pwd)/tests/cases
gtopo=${GTOPO:-$PWD/gtopo}
update=${GTOPO_UPDATE:-}

machine() { # GPUS
	"$gtopo" synth -o "$tmp/box.xml" "$1 gpu(model=h200 nvswitch=18)"
}

gpus() { # ALGORITHM
	case $1 in
	*.json) grep -o '"input_chunks"' "$1" | wc -l ;;
	*) sed -n 's/.*ngpus="\([0-9]*\)".*/\1/p' "$1" | grep . || echo 2 ;;
	esac
}

import() { # ALGORITHM
	local n
	n=$(gpus "$1")
	machine $((n < 2 ? 2 : n))
	"$gtopo" import --topology "$tmp/box.xml" -o "$tmp/steps.json" "$1"
}

good() { # ALGORITHM
	import "$1" 2>"$tmp/said" || {
		cat "$tmp/said"
		return
	}
	grep -v "works out of place only, and so does the plan" "$tmp/said"
	"$gtopo" verify "$tmp/steps.json" 2>&1 >/dev/null
	"$gtopo" predict -b 1K -e 1M -f 1024 "$tmp/steps.json" 2>&1 >/dev/null
	"$gtopo" run --plan "$tmp/steps.json" --device host -b 40 -e 256K \
		-f 32 -n 1 -w 0 >"$tmp/out" 2>&1 || cat "$tmp/out"
}

bad() { # ALGORITHM
	local says status=0 algo=algo.${1##*.}
	cp "$1" "$tmp/$algo"
	says=$(cd "$tmp" && {
		import "$algo" &&
			case $1 in *.verify.*) "$gtopo" verify steps.json ;; esac
	} 2>&1) || status=$?
	[ -z "$update" ] || printf '%s\n' "$status $says" >"${1%.*}.error"
	diff "${1%.*}.error" - <<<"$status $says"
	[ "$status" = 1 ] || [ "$status" = 2 ] || echo "exit status $status"
}

# What the format cannot say is not to be had back.
trip() { # FORMAT FILE PLAN
	if ! "$gtopo" export --to "$1" -o "$tmp/$2" "$3" 2>"$tmp/why"; then
		grep -E "no counterpart|no '[a-z]*'|MSCCL(\+\+)? takes|multicast and add up" \
			"$tmp/why" >/dev/null || cat "$tmp/why"
		return
	fi
	trips=$((trips + 1))
	good "$tmp/$2"
}

for algo in "$cases"/msccl{,pp}/good/*.{xml,json}; do
	[ -e "$algo" ] || continue
	verdict "${algo#"$cases/"}" "$(good "$algo")"
done
for algo in "$cases"/msccl{,pp}/bad/*.{xml,json}; do
	[ -e "$algo" ] || continue
	verdict "${algo#"$cases/"}" "$(bad "$algo")"
done
for plan in "$cases"/plan/good/{ring3-scatter,ring8-two,tree5-allreduce,tree6-broadcast,mesh4-two-shot,mesh7-one-shot,tree8-star-gather}; do
	trip msccl algo.xml "$plan/plan.json" >"$tmp/found"
	verdict "${plan#"$cases/"} there and back" "$(<"$tmp/found")"
done
trips=0
for plan in "$cases"/plan/good/*/; do
	# A single GPU is no machine of GPUs that reach each other.
	[ "$(basename "$plan")" = ring1 ] && continue
	# Blocks that are not all alike are refused.
	grep -q '"demand":' "$plan/plan.json" && continue
	trip mscclpp algo.json "$plan/plan.json" >"$tmp/found"
	verdict "${plan#"$cases/"} to MSCCL++ and back" "$(<"$tmp/found")"
done
verdict "most plans can be had as MSCCL++'s" \
	"$([ "$trips" -ge 20 ] || echo "only $trips")"
tap_end
