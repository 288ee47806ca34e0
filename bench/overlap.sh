#!/bin/bash
# Collectives beside products on this machine's GPUs:
#
#     overlap.sh RESULTS [PART...]
#
# Each part takes 8 minutes at most and writes RESULTS/MACHINE-COMMIT.PART.txt,
# the table of bench/overlap, and .json, the same for bench/results/overlap;
# without a PART all of them.  They are
#
#   threads-COLL  beside products, one process; allreduce, allgather,
#                 reducescatter, alltoall
#   procs-COLL    the same of a process a GPU, registered buffers too
#   fsdp, ddp     steps of training, one process; procs-fsdp, procs-ddp
#   blocks        all collectives alone, with 1 to 32 thread blocks
#
# On one GPU two ranks share it: everything is small, and its times mean
# nothing.  $GTOPO is the program (default: gtopo beside this file), OVERLAP
# bench/overlap, GTOPO_COMMIT what they were built from.  NCCL and cuBLAS are
# looked for unless GTOPO_NCCL and GTOPO_CUBLAS name them.  Status: 1 when
# something was wrong or failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT

# The first of these files that is there.
first_of() { # FILE...
	local file
	for file; do
		[ -f "$file" ] && echo "$file" && return
	done
}

# A library that the loader knows, or that lies about.
library() { # NAME...
	local name path
	for name; do
		path=$(ldconfig -p | awk -v n="$name" '$1 == n { print $NF; exit }')
		[ -n "$path" ] ||
			path=$(find /usr /opt -name "$name" 2>/dev/null | head -n 1)
		[ -z "$path" ] || break
	done
	echo "$path"
}

gtopo=${GTOPO:-$(first_of "$here/gtopo" "$here/../gtopo" \
	"$here/../build/gtopo")}
overlap=${OVERLAP:-$(first_of "$here/overlap" \
	"$(dirname "$gtopo")/bench/overlap")}
dgx=$(first_of "$here/dgx-h100.xml" \
	"${GTOPO_SRC:-$here/..}/share/xml/dgx-h100.xml")
for program in "$gtopo" "$overlap"; do
	[ -x "$program" ] && continue
	echo "overlap.sh: no gtopo or overlap beside $here: build them, or set" \
		"GTOPO and OVERLAP" >&2
	exit 2
done
if ! gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU'); then
	echo "no GPU here"
	exit 77
fi
machine=$(nvidia-smi -L | sed -n '1s/.*: NVIDIA \([^ ]*\).*/\L\1/p')
commit=${GTOPO_COMMIT:-$(git -C "$here" rev-parse --short HEAD 2>/dev/null)}
commit=${commit:-unknown}
: "${GTOPO_NCCL:=$(library libnccl.so.2)}"
: "${GTOPO_CUBLAS:=$(library libcublas.so.13 libcublas.so.12)}"
[ -z "$GTOPO_NCCL" ] || export GTOPO_NCCL
[ -z "$GTOPO_CUBLAS" ] || export GTOPO_CUBLAS

plan=$work/plan.json small=
if [ "$gpus" -gt 1 ]; then
	"$gtopo" detect -o "$work/machine.xml" &&
		"$gtopo" search --gpus "$(seq -s, 0 $((gpus - 1)))" -o "$plan" \
			"$work/machine.xml" || exit 3
else
	export CUDA_DEVICE_MAX_CONNECTIONS=32
	[ -n "$dgx" ] || { echo "overlap.sh: no dgx-h100.xml" >&2; exit 2; }
	"$gtopo" search --gpus 0,1 -o "$plan" "$dgx" || exit 3
	gpus=2
	small="-i 5 -r 3 -s 1024 -e 16M -d 256,512 -l 3 -T 512"
	machine=${machine}-shared
fi

# What the worst of each way was: of how many rows.
worst() { # TABLE
	awk '
	$5 ~ /^gtopo/ && $16 != "-" {
		way = $5
		rows[way]++
		if ($15 > 1)
			over[way]++
		if (!(way in most) || $15 > most[way])
			most[way] = $15
		if ($16 < 1)
			slower[way]++
		if (!(way in least) || $16 < least[way])
			least[way] = $16
	}
	END {
		for (way in rows)
			printf "# %s: %d rows; %d add 1 %% more than NCCL, " \
				"%.2f %% at most; %d slower, ratio %.3f at " \
				"least\n", way, rows[way], over[way],
				most[way], slower[way], least[way]
	}' "$1"
}

failed=0
part() { # NAME OPTION...
	local file=$out/${machine}x$gpus-$commit.$1 begin=$SECONDS status
	local name=$1
	shift
	# shellcheck disable=SC2086
	timeout -k 5 480 "$overlap" -t 430 -C "$commit" $small "$@" \
		-o "$file.json" "$plan" >"$file.txt" 2>"$work/said"
	status=$?
	sed 's/^/# /' "$work/said" >>"$file.txt"
	echo "# $name: status $status, $((SECONDS - begin)) s" >>"$file.txt"
	worst "$file.txt" >"$work/worst"
	cat "$work/worst" >>"$file.txt"
	tail -n 2 "$work/said"
	echo "$name: status $status, $((SECONDS - begin)) s"
	cat "$work/worst"
	[ "$status" -eq 0 ] || failed=1
}

blocks() {
	local begin=$SECONDS n
	for n in 1 2 4 8 16 32; do
		part "blocks-$n" -k alone -x "$n" -b 1M -e 256M -i 10 -r 5 \
			-m graph -p normal ${small:+-e 4M} -t 60
	done
	echo "blocks: $((SECONDS - begin)) s"
}

run() { # PART
	case $1 in
	threads-*) part "$1" -c "${1#*-}" ;;
	procs-fsdp | procs-ddp) part "$1" -k "${1#*-}" -n "$gpus" ;;
	procs-*) part "$1" -c "${1#*-}" -n "$gpus" ;;
	fsdp | ddp) part "$1" -k "$1" ;;
	blocks) blocks ;;
	*) echo "overlap.sh: no part '$1'" >&2; exit 2 ;;
	esac
}

[ $# -gt 0 ] || set -- threads-allreduce threads-allgather \
	threads-reducescatter threads-alltoall procs-allreduce procs-allgather \
	procs-reducescatter procs-alltoall fsdp ddp procs-fsdp procs-ddp blocks
for name; do
	run "$name"
done
exit $failed
