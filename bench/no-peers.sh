#!/bin/bash
# GPUs that do not reach each other, or are made to: no-peers.sh BUILD RESULTS
#
# BUILD is the build tree, or a folder where gtopo, ceiling and vs-nccl lie. Into
# the folder RESULTS go
#
# ceiling.json    what the machine carries out to its host's memory and in
# default.json    the race with NCCL (bench/vs-nccl), NCCL_P2P_DISABLE=1
# memcpy.json     the same, with NCCL_SHM_USE_CUDA_MEMCPY=1 as well
# tuned.json      every way that the engine has, measured by gtopo tune, from
#                 which the thresholds of src/exec/cuda/tuning.c should come
# table.txt       the best NCCL of both races over gtopo, for each row
#
# GTOPO_NCCL names NCCL, SECONDS_EACH (200) is the limit of each race. Needs jq
# for the table.
set -eu
build=$1 out=$2
limit=${SECONDS_EACH:-200}
bench=$build/bench
[ -d "$bench" ] || bench=$build
mkdir -p "$out"
export GTOPO_P2P=off NCCL_P2P_DISABLE=1 NCCL_NVLS_ENABLE=0
gpus=$(nvidia-smi -L | grep -c '^GPU')

"$bench/ceiling" >"$out/ceiling.json"
"$build/gtopo" detect -o "$out/machine.xml"
"$build/gtopo" search --algo ring --gpus "$(seq -s, 0 $((gpus - 1)))" \
	"$out/machine.xml" >"$out/plan.json"
"$bench/vs-nccl" -e 256M -t "$limit" "$out/plan.json" \
	>"$out/default.json" || echo "default: status $?" >&2
NCCL_SHM_USE_CUDA_MEMCPY=1 "$bench/vs-nccl" -b 64K -e 256M -t "$limit" \
	"$out/plan.json" >"$out/memcpy.json" || echo "memcpy: status $?" >&2
timeout "$limit" "$build/gtopo" tune --coll all -e 256M -f 4 \
	-o "$out/tuned.json" "$out/plan.json" || echo "tune: status $?" >&2
command -v jq >/dev/null || exit 0

# In either race gtopo has a time; NCCL's is the best that it reached in both, but
# for symmetric kernels, which reach peers all the same.
jq -rn --slurpfile a "$out/default.json" --slurpfile b "$out/memcpy.json" '
[($a[0].rows + $b[0].rows)[] | select(.dtype == "float" and .nccl) |
	{key: [.coll, .bytes, .graph], gtopo: .gtopo.time_us,
	way: (.gtopo.algo + " " + .gtopo.protocol),
	nccl: (.nccl.variants_us | with_entries(select(.key |
		startswith("symmetric") | not)) | [.[]] | min)}] |
group_by(.key)[] |
[.[0].key[0], .[0].key[1], (if .[0].key[2] then "graph" else "stream" end),
	([.[].gtopo] | min), .[0].way, ([.[].nccl] | min),
	([.[].nccl] | min) / ([.[].gtopo] | min)] | @tsv' >"$out/table.txt"
cat "$out/table.txt"
