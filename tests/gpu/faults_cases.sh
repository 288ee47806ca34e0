#!/bin/bash
# faults.sh without GPUs: ranks of the two libraries on a simulated driver, and
# the program's on CPUs.  What stands for NCCL is gtopo's library, too, or one
# that says nothing of any fault.
set -u
ulimit -c 0
src=$(cd "${GTOPO_SRC:-.}" && pwd)
. "$src/tests/tap.sh"
root=$(dirname "${GTOPO:-$PWD/gtopo}")
face=$root/libnccl.so.2 mute=$root/tests/gpu/libmute_nccl.so
export TMPDIR=$tmp GTOPO_SEARCH=0 GTOPO_COMMIT=abc FAULT_DEVICE=host \
	GTOPO_LIBCUDA=$root/tests/gpu/libsimdriver.so
mkdir "$tmp/bin"
cp "$face" "$tmp/libnccl.so.2"
PATH=$tmp/bin:$PATH

gpus() { # N: what nvidia-smi tells
	printf '#!/bin/sh\nfor i in $(seq %s); do\n' "$1" >"$tmp/bin/nvidia-smi"
	echo 'echo "GPU $i: NVIDIA H200 (UUID: GPU-$i)"; done' \
		>>"$tmp/bin/nvidia-smi"
	chmod +x "$tmp/bin/nvidia-smi"
}

# A row of the table that begins so.
row() { # NAME
	grep -F "| $1" "$tmp/r/h200x2-abc.faults.md"
}

has() { # NAME ROW WORDS
	verdict "$1" "$(row "$2" | grep -qE -- "$3" || row "$2")"
}

faults=(bash "$src/tests/gpu/faults.sh")
gpus 2
ends "what it does is told" 2 'faults.sh RESULTS' "${faults[@]}"
ends "no NCCL" 77 'there is no .*none.so' \
	env NCCL_LIBRARY="$tmp/none.so" "${faults[@]}" "$tmp/r"
gpus 1
ends "one GPU" 77 'needs 2 GPUs, here are 1' "${faults[@]}" "$tmp/r"
gpus 2
ends "a part of machine.sh" 0 '^faults: status 77,' \
	bash "$src/tests/gpu/machine.sh" "$tmp/m" faults
if nm -D "$face" | grep -qE ' __(a|t|ub)san_'; then
	skipped "tables of faults" "sanitizers are in the library"
	tap_end
	exit
fi

ends "faults that gtopo names" 0 'kill -9 of process 1 \| 1 of 1 \|' \
	env FAULTS="kill exit count" FAULT_SECONDS=60 RUNS=1 \
	NCCL_LIBRARY="$tmp/libnccl.so.2" "${faults[@]}" "$tmp/r"
both='`ncclRemoteError: [^|]*process 1 ended without a word`, .*; exit 1 after'
has "a rank that is killed" "kill -9 of rank 1" \
	"$both.*\\| $both.*\\| .process 1 ended without a word., exit 3 after"
has "a rank that ends" "rank 1 exits" "$both.*\\| $both.*interrupted., exit 3"
has "a count that differs" "rank 1 calls another count" \
	'of 524288 float.*of 262144 float.*; exit 1 after .*has options'
has "4 processes go on" "4 processes of 1" \
	'\| 1 of 1 \| [0-9]+, [0-9]+ \| [0-9]+, [0-9]+ \|'

# gtopo run needs longer for the first than it is given here, which is told.
ends "what is not named in time" 1 'not as it should be: SIGSTOP of rank 1, gt' \
	env FAULTS="stop never" FAULT_SECONDS=2 RUNS=0 \
	NCCL_LIBRARY="$mute" "${faults[@]}" "$tmp/r"
has "a rank that is stopped" "SIGSTOP" \
	'^[^|]*\|[^|]*\| nothing within 2 s \| nothing within 2 s \|'
has "a rank that calls nothing" "rank 1 calls nothing more" \
	'^[^|]*\|[^|]*\| nothing within 2 s \| nothing within 2 s \|'
abort='`ncclCommAbort: ncclSuccess`, [^|]*; exit 1 after'
has "an abort" "then rank 0 calls ncclCommAbort" \
	"\\| $abort [^|]*\\| $abort .*rank 1 hears .ncclRemoteError.*aborted"
FAULTS=count FAULT_SECONDS=20 RUNS=0 NCCL_LIBRARY=$mute \
	"${faults[@]}" "$tmp/r" >"$tmp/out" 2>&1
has "a library that says nothing of another count" "rank 1 calls another" \
	'\| `262143 of 262144 elements are wrong, and no error`, .*; goes on \|'
MUTE_ABORT=1 FAULTS=never FAULT_SECONDS=1 RUNS=0 NCCL_LIBRARY=$mute \
	"${faults[@]}" "$tmp/r" >"$tmp/out" 2>&1
has "an abort that does not return" "then rank 0 calls" \
	'\| it does not return within 10 s \|'
MUTE_COUNT=1 FAULTS=count RUNS=0 NCCL_LIBRARY=$mute \
	"${faults[@]}" "$tmp/r" >"$tmp/out" 2>&1
has "a library that crashes" "rank 1 calls another" \
	'\| `nothing`, [0-9]+ ms; exit -6 \|'
ends "a library that does not start" 1 'NCCL: did not start: .*ncclGetUniqueId' \
	env TMPDIR="$tmp/none" FAULTS=kill RUNS=0 NCCL_LIBRARY="$mute" \
	"${faults[@]}" "$tmp/r"
verdict "nothing is left" "$(pgrep -f "fault_rank.py $root|$tmp/r/faults/plan")"
tap_end
