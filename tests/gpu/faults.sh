#!/bin/bash
# What rank 0 of two hears of a fault of rank 1, on NCCL and on gtopo, and how
# long 4 ranks on the GPUs take until a job is right again without one of its
# processes:
#
#     faults.sh RESULTS
#
# Writes RESULTS/MACHINE-COMMIT.faults.md, within 8 minutes, and, into
# RESULTS/faults, what all processes printed.  Needs two GPUs, Python and NCCL:
# PyTorch's, else the machine's, or the libnccl.so.2 that NCCL_LIBRARY names;
# and gtopo, libnccl.so.2 and dgx-h100.xml beside this file or in the trees of
# GTOPO and GTOPO_SRC.  faults.py says what else can be set.  Status: 1 when
# gtopo did not say what it should have said or NCCL did not start, 77 where
# something is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"; exit 2; }
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
[ "$gpus" -ge 2 ] || { echo "needs 2 GPUs, here are $gpus"; exit 77; }
mkdir -p "$1/faults" && out=$(cd "$1" && pwd) || exit 2
export NCCL_NVLS_ENABLE=0 PYTHONDONTWRITEBYTECODE=1
gtopo=${GTOPO:-$here/gtopo}
face=$(dirname "$gtopo")/libnccl.so.2
dgx=$here/dgx-h100.xml
[ -f "$dgx" ] || dgx=${GTOPO_SRC:-$here/../..}/share/xml/dgx-h100.xml
gpu=$(nvidia-smi -L | sed -n '1s/.*: \(.*\) (UUID.*/\1/p')
machine=$(sed 's/NVIDIA //; s/ .*//' <<<"$gpu" | tr A-Z a-z)
commit=${GTOPO_COMMIT:-$(cat "$here/commit" 2>/dev/null)}
table=$out/${machine}x$gpus-${commit:-unknown}.faults.md
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }

# The file of a Python package, of the loader's cache, or any there is.
find_nccl() {
	python3 -c '
import glob, importlib.util
for name in "nvidia.nccl", "nvidia":
    try:
        found = importlib.util.find_spec(name)
    except ImportError:
        continue
    for folder in found.submodule_search_locations if found else ():
        for path in glob.glob(folder + "/**/libnccl.so.2", recursive=True):
            print(path)
'
	ldconfig -p | awk '/libnccl.so.2 /{print $NF}'
	find /usr /opt -name libnccl.so.2 2>/dev/null
}

nccl=${NCCL_LIBRARY:-$(find_nccl | head -n 1)}
for file in "$gtopo" "$face" "$dgx" "${nccl:-libnccl.so.2 of NCCL}"; do
	[ -f "$file" ] || { echo "there is no $file"; exit 77; }
done
for n in 2 4; do
	"$gtopo" search -q --algo ring --gpus "$(seq -s, 0 $((n - 1)))" \
		-o "$out/faults/plan$n.json" "$dgx" || exit 3
done

{
	cat <<END
# When something fails on GPUs

Measured on $gpus $gpu, gtopo ${commit:-unknown}. Two processes with a GPU each
all-reduce 1 MiB of float without end, and check each result. What rank 0 hears
after rank 1's fault, how long after it, and how its process ends that calls
ncclCommAbort and exit(1) then. The libraries are called through ctypes, with no
framework and no watchdog of one: the process polls ncclCommGetAsyncError and
its stream. The last column is \`gtopo run --timeout 10s\` with two processes.
Written by \`tests/gpu/faults.sh\`.

END
	timeout -k 5 450 python3 "$here/faults.py" "$gtopo" "$nccl" "$face" \
		"$out/faults/plan2.json" "$out/faults/plan4.json" "$out/faults"
	status=$?
} >"$table" 2>"$out/faults/errors.txt"
cat "$table" "$out/faults/errors.txt"
exit "$status"
