#!/bin/bash
# What `gtopo detect --measure` and `gtopo health --measure` say and take on
# a machine with GPUs: measure.sh [FOLDER]
#
# $GTOPO is the program (default: gtopo beside this file), GTOPO_COMMIT what it
# was built from, GTOPO_RACE the program vs-nccl for NCCL's own opinion of the
# file, if there is one.  One line a figure; status 1 if a check fails.  The
# measured topology is FOLDER/measured.xml.
set -u
here=$(cd "$(dirname "$0")" && pwd)
gtopo=${GTOPO:-$here/gtopo}
out=${1:-$(mktemp -d)} || exit 99
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 99
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0

check() { # NAME STATUS COMMAND...
	local name=$1 want=$2 status
	shift 2
	"$@" >"$work/out" 2>"$work/err"
	status=$?
	if [ "$status" -eq "$want" ]; then
		echo "ok - $name"
	else
		echo "not ok - $name: status $status, wanted $want"
		failed=1
	fi
	head -n 12 "$work/out" "$work/err" | grep -vE '^(==>|$)' | sed 's/^/#   /'
}

# The best of five, in ms.
best() { # NAME COMMAND...
	local name=$1 start ms least=999999
	shift
	command -v "$1" >/dev/null || { echo "# no $1"; return; }
	for _ in 1 2 3 4 5; do
		start=$(date +%s%N)
		"$@" >/dev/null 2>&1
		ms=$((($(date +%s%N) - start) / 1000000))
		[ "$ms" -ge "$least" ] || least=$ms
	done
	echo "$name: $least ms"
}

# The least, median and most of an attribute of the measured file.
spread() { # NAME ELEMENT ATTRIBUTE
	grep -oE "<$2 [^>]*" "$out/measured.xml" |
		sed -n "s/.* $3=\"\([0-9.]*\)\".*/\1/p" | sort -n |
		awk -v name="$1" '{ v[NR] = $1 }
			END { if (NR) print name ": " v[1] " .. " \
				v[int((NR + 1) / 2)] " .. " v[NR] " (" NR ")" }'
}

gpus=$(nvidia-smi -L | grep -c '^GPU')
echo "# $(nvidia-smi -L | head -n 1 | sed 's/ (UUID.*//'), $gpus GPUs," \
	"driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader |
		head -n 1), ${GTOPO_COMMIT:-unknown}, $(date -u +%F)"
start=$(date +%s%N)
check "detect --measure in 20 s" 0 \
	timeout 20 "$gtopo" detect --measure -v -o "$out/measured.xml"
echo "detect --measure: $((($(date +%s%N) - start) / 1000000)) ms"
spread "GPU to GPU alone, GB/s" gt_peer gbs
spread "both ways at once, GB/s" gt_peer both_gbs
spread "all send to the next, GB/s" gt_peer ring_gbs
spread "latency, ns" gt_peer latency_ns
spread "from the host, GB/s" gt_host to_gbs
spread "to the host, GB/s" gt_host from_gbs
spread "from the host, all at once, GB/s" gt_host all_to_gbs
spread "to the host, all at once, GB/s" gt_host all_from_gbs
spread "two that share from the host, GB/s" gt_peer host_gbs
spread "rate of NVLinks, GB/s" nvlink gt_gbs
spread "rate of PCI links, GB/s" pci gt_gbs
"$gtopo" detect -o "$work/plain.xml"
check "measuring changes nothing else" 0 \
	"$gtopo" diff "$work/plain.xml" "$out/measured.xml"
check "paths" 0 "$gtopo" paths "$out/measured.xml"
check "search" 0 "$gtopo" search "$out/measured.xml" -o "$work/plan.json"
check "verify" 0 "$gtopo" verify "$work/plan.json"
check "health as measured" 0 \
	"$gtopo" health --measure --expect "$out/measured.xml"
check "health, nothing expected" 0 "$gtopo" health --measure
check "health, one GPU hidden" 1 \
	env CUDA_VISIBLE_DEVICES="$(seq -s, 1 $((gpus - 1)))" \
	"$gtopo" health --measure -q --expect "$out/measured.xml"
sed 's/ gbs="[0-9.]*"/ gbs="999"/' "$out/measured.xml" >"$work/more.xml"
check "health, more expected" 1 \
	"$gtopo" health --measure --expect "$work/more.xml"

# NCCL starts with the file, and makes the rings that it makes without.
rings() {
	env ${1:+"NCCL_TOPO_FILE=$1"} NCCL_NVLS_ENABLE=0 NCCL_DEBUG=INFO \
		NCCL_DEBUG_SUBSYS=INIT,GRAPH timeout 60 "$GTOPO_RACE" -b 1024 \
		-e 1024 -r 1 -m stream -t 40 "$work/plan.json" 2>&1 |
		tee "$work/nccl" |
		grep -oE 'Channel [0-9]+/[0-9]+ :( [0-9]+)+$' | sort
}
same_rings() {
	local with
	with=$(rings "$out/measured.xml")
	grep -E 'WARN|rror' "$work/nccl"
	[ -n "$with" ] && [ "$with" = "$(rings "")" ]
}
if [ -n "${GTOPO_RACE:-}" ]; then
	check "NCCL takes the measured file" 0 same_rings
fi
best "detect" "$gtopo" detect
best "lstopo --of xml" lstopo --of xml
best "nvidia-smi topo -m" nvidia-smi topo -m
exit $failed
