#!/bin/bash
# Programs that exist, with NCCL and with gtopo in turns:
#
#     clients.sh RESULTS [PART...]
#
# Each PART takes 8 minutes at most and writes RESULTS/PART.txt: what differs,
# and a table of times. Without a PART all of them. They are
#
#   torch  collectives of all types, steps of DDP, FSDP2, tensor parallel
#   cupy   cupyx.distributed
#   jax    pmap: psum, all_gather, psum_scatter, all_to_all, ppermute
#   tests  NVIDIA's nccl-tests in the folder that NCCL_TESTS names, where
#          `make` has put its programs
#
# What a client computes must have the same bits with both, and what it trains
# the same loss to rounding. A part whose client is not there is skipped. On one
# GPU two ranks share it: times mean nothing then, NCCL can do it from 2.30 on,
# and JAX and nccl-tests are skipped.
#
# NCCL_LIBRARY names another libnccl.so.2 than the client's own, ROUNDS how often
# each has its turn (2). Status: 1 when gtopo failed or something differs.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
root=$(dirname "${GTOPO:-$here/gtopo}")
gtopo_nccl=$root/libnccl.so.2
[ -f "$gtopo_nccl" ] || gtopo_nccl=$root/../../libnccl.so.2
[ -f "$gtopo_nccl" ] || { echo "no libnccl.so.2 beside $root" >&2; exit 2; }
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
ranks=$((gpus > 2 ? gpus : 2))
export NCCL_MULTI_RANK_GPU_ENABLE=1
[ "$gpus" -gt 1 ] || export CUDA_DEVICE_MAX_CONNECTIONS=32

# Run something on one of the two libraries.
on() { # nccl|gtopo COMMAND...
	local library=${NCCL_LIBRARY:-}
	[ "$1" = nccl ] || library=$gtopo_nccl
	shift
	timeout -k 5 110 env ${library:+LD_PRELOAD="$library"} "$@"
}

# One program of nccl-tests, as lines that clients.py would print.
nccl_test() { # nccl|gtopo PROGRAM
	local name=${2##*/}
	on "$1" "$2" -g "$gpus" -b 0 -e 64M -f 16 -n 5 -w 2 -c 1 >"$work/test" \
		2>&1 || return
	grep -q 'Out of bounds values : 0 OK' "$work/test" || return 1
	awk -v name="${name%_perf}" '$1 ~ /^[0-9]+$/ && $1 > 0 {
		print "time", name "-" $1, $6}' "$work/test"
	echo "value $name right"
}

nccl_tests() { # nccl|gtopo
	local program status=77
	[ "$gpus" -gt 1 ] || return 77
	for program in "${NCCL_TESTS:-/nonexistent}"/*_perf; do
		[ -x "$program" ] || continue
		status=0
		nccl_test "$1" "$program" || return 1
	done
	return "$status"
}

run_part() { # PART nccl|gtopo
	case $1 in
	tests) nccl_tests "$2" ;;
	*) on "$2" python3 "$here/clients.py" "$1" "$ranks" ;;
	esac
}

# What differs between two files of a client's lines.
differences() { # NCCL GTOPO
	awk '
	$1 == "value" || $1 == "near" {
		if (FNR == NR) { kind[$2] = $1; want[$2] = $3; next }
		seen[$2] = 1
		if (!($2 in want)) print $2 ": only gtopo has it"
		else if ($1 == "value" && want[$2] != $3)
			print $2 ": NCCL has " want[$2] ", gtopo " $3
		else if ($1 == "near" && (want[$2] - $3) ^ 2 > 1e-8 * $3 ^ 2)
			print $2 ": NCCL has " want[$2] ", gtopo " $3
	}
	END { for (name in want) if (!seen[name]) print name ": gtopo has none" }
	' "$1" "$2"
}

# Each time's best of all rounds, side by side.
times() { # PART
	awk '$1 == "time" {
		file = FILENAME ~ /nccl[^\/]*$/ ? "nccl" : "gtopo"
		if (!($2 in order)) { order[$2] = ++n; names[n] = $2 }
		key = file SUBSEP $2
		if (!(key in best) || $3 < best[key]) best[key] = $3
	}
	END {
		printf "%-32s %12s %12s %8s\n", "us", "NCCL", "gtopo", "ratio"
		for (i = 1; i <= n; i++) {
			a = best["nccl" SUBSEP names[i]]
			b = best["gtopo" SUBSEP names[i]]
			printf "%-32s %12s %12s %8s\n", names[i], a ? a : "-",
				b ? b : "-", a && b ? sprintf("%.2f", a / b) : "-"
		}
	}' "$work"/"$1".*.nccl "$work"/"$1".*.gtopo
}

part() { # PART
	local round library status bad=0 lacks=""
	for ((round = 1; round <= ${ROUNDS:-2}; round++)); do
		for library in nccl gtopo; do
			run_part "$1" "$library" \
				>"$work/$1.$round.$library" 2>"$work/errors"
			status=$?
			[ "$status" -ne 77 ] || { echo "skipped"; return 0; }
			[ "$status" -ne 0 ] || continue
			echo "$library failed ($status):"
			tail -n 5 "$work/errors" | cut -c 1-300
			[ "$library" = gtopo ] && return 1
			lacks=yes
		done
		[ -z "$lacks" ] || continue
		differences "$work/$1.$round.nccl" "$work/$1.$round.gtopo" \
			>"$work/differ"
		[ ! -s "$work/differ" ] || bad=1
		cat "$work/differ"
	done
	times "$1"
	return "$bad"
}

status=0
[ $# -gt 0 ] || set -- torch cupy jax tests
for name; do
	case $name in
	torch | cupy | jax | tests) ;;
	*) echo "no part '$name'; see clients.sh alone" >&2; exit 2 ;;
	esac
	echo "== $name, $ranks ranks on $gpus GPUs"
	part "$name" >"$out/$name.txt" || { status=1; echo "not as with NCCL"; }
	cat "$out/$name.txt"
done
exit "$status"
