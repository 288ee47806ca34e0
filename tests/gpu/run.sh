#!/bin/bash
# Everything that needs GPUs: run.sh [RESULTS]
#
# With the folder RESULTS all of it, the race with NCCL too, for
# GTOPO_GPU_SECONDS (520) at most; what does not fit is skipped.  Without, the
# short part, for `make check`.  Needs only the programs gtopo, matrix, library
# and vs-nccl, beside this file or in the build tree of $GTOPO, for some checks the
# files dgx-h100.xml and dgx-1v.xml, and for RDMA libsoftverbs.so.  The race's files are
# RESULTS/MACHINE-COMMIT.json, COMMIT from GTOPO_COMMIT.  With
# GTOPO_GPU_WITHOUT, checks whose names match this regular expression are
# skipped; with GTOPO_GPU_ONLY, those whose names do not, but for those that make
# files for others: so it can be run in parts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for part in frame xid blocks demand staged shared library process processes verbs race; do
	# shellcheck disable=SC1090
	. "$here/$part.sh"
done

: >"$log"
: >"$out/checks.txt"
say "# $(nvidia-smi -L | head -n 1 | sed 's/ (UUID.*//'), $gpus GPUs, $commit"
xid_begin
[ "$gpus" -gt 1 ] || shared
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
	blocks_of "$n"
done
xid_look "engine"
part library_checks
part process_checks
part processes_checks
part demand_checks
part staged_checks
part verbs_checks
part launcher_checks
if [ -n "$full" ]; then
	[ "$gpus" -ge 4 ] || part shared_several
	part long_checks
fi
finish
