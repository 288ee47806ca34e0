#!/bin/bash
# Everything that needs GPUs: run.sh [RESULTS]
#
# With the folder RESULTS all of it, the race with NCCL too, for
# GTOPO_GPU_SECONDS (520) at most; what does not fit is skipped.  Without, the
# short part, for `make check`.  Needs only the programs gtopo, matrix and
# vs-nccl, beside this file or in the build tree of $GTOPO, and for one check
# the file dgx-h100.xml.  The race's files are RESULTS/MACHINE-COMMIT.json,
# COMMIT from GTOPO_COMMIT.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "${GTOPO:-$here/gtopo}")
full=${1:+yes}
out=${1:-$(mktemp -d)} || exit 99
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 99
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"; [ -n "$full" ] || rm -rf "$out"' EXIT
limit=${GTOPO_GPU_SECONDS:-$([ -n "$full" ] && echo 520 || echo 240)}
log=$out/log.txt
export NCCL_NVLS_ENABLE=0

find_file() { # NAME FOLDER...
	local name=$1 folder
	shift
	for folder in "$here" "$@"; do
		[ -f "$folder/$name" ] && echo "$folder/$name" && return
	done
}

gtopo=${GTOPO:-$(find_file gtopo "$here/../..")}
matrix=$(find_file matrix "$root/tests/gpu")
race=$(find_file vs-nccl "$root/bench")
dgx=$(find_file dgx-h100.xml "${GTOPO_SRC:-$here/../..}/share/xml")
commit=${GTOPO_COMMIT:-$(git -C "$here" rev-parse --short HEAD 2>/dev/null)}
commit=${commit:-unknown}
for program in "$gtopo" "$matrix" "$race"; do
	[ -x "$program" ] || { echo "gtopo, matrix or vs-nccl not built"; exit 77; }
done
"$matrix" small 2 30 >"$work/probe" 2>&1
[ $? -ne 77 ] || { cat "$work/probe"; exit 77; }

gpus=$(nvidia-smi -L | grep -c '^GPU')
machine=$(nvidia-smi -L | sed -n '1s/.*: NVIDIA \([^ ]*\).*/\1/p' | tr A-Z a-z)
: "${GTOPO_NCCL=$(ldconfig -p | awk '/libnccl.so.2 /{print $NF; exit}')}"
if [ -z "$GTOPO_NCCL" ]; then
	GTOPO_NCCL=$(find /usr /opt -name libnccl.so.2 2>/dev/null | head -n 1)
fi
export GTOPO_NCCL

words= tests=0 passed=0 failed=0 skipped=0
say() {
	echo "$1" | tee -a "$out/checks.txt"
}
result() { # pass|fail|skip NAME [WHY]
	tests=$((tests + 1))
	case $1 in
	pass) passed=$((passed + 1)); say "ok $tests - $2" ;;
	fail) failed=$((failed + 1)); say "not ok $tests - $2" ;;
	skip) skipped=$((skipped + 1)); say "ok $tests - $2 # skip $3" ;;
	esac
}

# check SECONDS NAME STATUS COMMAND...: the status and, if $words is set, the
# words it must print.
check() {
	local seconds=$1 name=$2 want=$3 begin=$SECONDS status
	shift 3
	if [ $((SECONDS + seconds)) -gt "$limit" ]; then
		result skip "$name" "no time left"
		words=
		return
	fi
	echo "\$ $*" >>"$log"
	case $(type -t "$1") in
	function) "$@" ;; # ends by itself
	*) timeout -k 5 "$seconds" "$@" ;;
	esac >"$work/out" 2>&1
	status=$?
	{ head -c 200000 "$work/out"; echo "[$status]"; } >>"$log"
	name="$name ($((SECONDS - begin)) s)"
	if [ "$status" -eq "$want" ] &&
		{ [ -z "$words" ] || grep -qE -- "$words" "$work/out"; }; then
		result pass "$name"
	else
		tail -n 3 "$work/out" | cut -c 1-300 | sed 's/^/# /'
		result fail "$name"
	fi
	words=
}

# What NCCL says of its rings with the given topology file, or none.
rings() {
	env ${1:+"NCCL_TOPO_FILE=$1"} NCCL_DEBUG=INFO \
		NCCL_DEBUG_SUBSYS=INIT,GRAPH timeout -k 5 50 "$race" \
		-b 1024 -e 1024 -r 1 -m stream -t 40 \
		"$work/plan$gpus.json" 2>&1 |
		grep -oE 'Channel [0-9]+/[0-9]+ :( [0-9]+)+$' | sort
}

same_rings() {
	local with without
	with=$(rings "$out/machine.xml")
	without=$(rings "")
	[ -n "$with" ] && [ "$with" = "$without" ] && uniq -c <<<"$with"
}

plan_of() { # RANKS: a ring over the first GPUs
	"$gtopo" search --algo ring --gpus "$(seq -s, 0 $(($1 - 1)))" \
		"$out/machine.xml" >"$work/plan$1.json"
}

race_of() { # RANKS SECONDS
	local file=$out/${machine}x$1-$commit.json
	"$race" -b 1024 -e 1073741824 -r 11 -t "$2" -C "$commit" \
		"$work/plan$1.json" >"$file" &&
		[ "$(tail -n 1 "$file")" = "]}" ] &&
		! grep -q '"wrong": [1-9]' "$file" && grep -q '"ratio' "$file"
}

: >"$log"
: >"$out/checks.txt"
say "# $(nvidia-smi -L | head -n 1 | sed 's/ (UUID.*//'), $gpus GPUs, $commit"
check 30 "detect" 0 "$gtopo" detect -o "$out/machine.xml"
check 30 "detect --measure in 20 s" 0 \
	timeout 20 "$gtopo" detect --measure -o "$out/measured.xml"
check 30 "health, as measured" 0 \
	"$gtopo" health --measure --expect "$out/measured.xml"
words='is not measured: CUDA does not show it'
check 30 "health, a hidden GPU" 1 env CUDA_VISIBLE_DEVICES=0 \
	"$gtopo" health --measure --expect "$out/measured.xml"
for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
	check 20 "search for $n" 0 plan_of "$n"
	check 60 "all types, operators, counts on $n" 0 "$matrix" check "$n" 55
	check 60 "stopped ranks of $n are named" 0 "$matrix" fault "$n" 55
done
all=$work/plan$gpus.json
run=("$gtopo" run --device cuda --plan)
[ -n "$full" ] || largest=64M
for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
	words='Out of bounds values : 0 OK'
	check 70 "1K to ${largest:=4G} on $n" 0 "${run[@]}" \
		"$work/plan$n.json" -b 1K -e "$largest" -f 4 -n 5 -w 1
done

words='the plan is for 8 GPUs'
if [ -n "$dgx" ] && [ "$gpus" -lt 8 ]; then
	"$gtopo" search --algo ring "$dgx" >"$work/plan8.json"
	check 20 "8 ranks on $gpus GPUs" 2 "${run[@]}" "$work/plan8.json" -e 1K
fi
words='hidden by CUDA_VISIBLE_DEVICES|GPUs, here are'
check 20 "a hidden GPU" 2 env CUDA_VISIBLE_DEVICES=0 "${run[@]}" "$all" -e 1K
words='values : 0 OK'
check 20 "GPUs in another order" 0 \
	env CUDA_VISIBLE_DEVICES="$(seq -s, $((gpus - 1)) -1 0)" \
	"${run[@]}" "$all" -e 1K
words='no GPU .00ff:'
sed 's/0000:/00ff:/g' "$all" >"$work/other.json"
check 20 "a plan for other bus ids" 2 "${run[@]}" "$work/other.json" -e 1K
words='values : 0 OK'
check 30 "--strict on the plan's machine" 0 "${run[@]}" "$all" -e 1K --strict
sed 's/"digest": "sha256:..../"digest": "sha256:0000/' "$work/other.json" \
	>"$work/equal.json"
words='values : 0 OK'
check 30 "--map index on an equal machine" 0 "${run[@]}" "$work/equal.json" \
	-e 1K --map index --strict
words='is for an equal machine'
check 30 "--strict on an equal machine" 2 "${run[@]}" "$work/equal.json" \
	-e 1K --strict
sed 's/digest": "sha256:..../digest": "sha256:0000/g' "$all" >"$work/far.json"
words='is for another machine'
check 30 "a warning on another machine" 0 "${run[@]}" "$work/far.json" -e 1K
words='values : 0 OK'
check 30 "CUDA graphs" 0 "${run[@]}" "$all" -f 8 --graph
words='values : 0 OK'
check 60 "the best way, in graphs" 0 "${run[@]}" "$all" -f 8 -e "$largest" \
	-n 5 -w 1 --graph --best
words='out of memory'
check 30 "out of memory" 3 "${run[@]}" "$all" -b 400G -e 400G
words='rank 1 .* stopped'
check 30 "a stalled rank ends the run" 3 "${run[@]}" "$all" -b 1M -e 1M \
	--inject stall:1:3 --timeout 1s
words='values : 0 OK'
check 30 "CPU ranks beside GPUs" 0 "$gtopo" run --device host --plan "$all" \
	-e 64K -n 1 -w 0

if [ -n "$full" ]; then
	if [ -n "$GTOPO_NCCL" ]; then
		check 100 "NCCL's rings are the same with our file" 0 same_rings
		check 230 "race with NCCL on $gpus" 0 race_of "$gpus" 215
		[ "$gpus" -eq 2 ] ||
			check 140 "race with NCCL on 2" 0 race_of 2 125
	else
		result skip "race with NCCL" "no libnccl.so.2"
	fi
	check 90 "100000 random operations" 0 "$matrix" stress "$gpus" 85
	sanitizer=$(command -v compute-sanitizer ||
		ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
	for tool in memcheck racecheck; do
		if [ -n "$sanitizer" ]; then
			check 40 "$tool" 0 "$sanitizer" --tool "$tool" \
				--error-exitcode 9 "$matrix" small 2 35
		else
			result skip "$tool" "no compute-sanitizer"
		fi
	done
fi
say "1..$tests"
say "# $passed passed, $failed failed, $skipped skipped in $SECONDS s"
[ "$failed" -eq 0 ]
